"""The base class of `Client` and `AsyncClient`: a compiled core and public attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._built import Self
from ._calls import explained
from ._core import _CLIENT_OPTIONS, _ClientCore


@explained
class ClientBase:
    """A client whose calls are those of its core.

    The names of its attributes begin with `_boardlot_`, so that a subclass may use any other name.
    """

    _boardlot_core: _ClientCore
    # The sandbox that made the client, which lives as long.
    _boardlot_sandbox: object

    @property
    def base_url(self) -> str:
        """The base URL of the service."""
        return self._boardlot_core.base_url

    @property
    def ws_quote_url(self) -> str | None:
        """The address of the quote WebSocket, if it was passed."""
        return self._boardlot_core.ws_quote_url

    @property
    def ws_trade_url(self) -> str | None:
        """The address of the trade WebSocket, if it was passed."""
        return self._boardlot_core.ws_trade_url

    @property
    def clock_offset(self) -> float:
        """The seconds by which the service's clock is ahead of this machine's. The timestamps of
        signed requests are corrected by this offset, which is 0.0 until the service rejects a
        timestamp.
        """
        return self._boardlot_core.clock_offset

    def with_options(
        self,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """The same client with other options, for calls that may take longer, must not be tried
        again or need a header.

        It shares credentials, connections, limits, clock and hooks with this one, costs
        microseconds, closes nothing and ends with this one. `timeout` is in seconds; `headers`
        are added to those of this client; None leaves an option as it is. Raises `ConfigError`
        if a value is invalid, or this client is closed.

        >>> patient = client.with_options(timeout=120, max_retries=0)
        >>> patient.base_url == client.base_url
        True
        """
        made = object.__new__(type(self))
        # The attributes of a subclass, and the sandbox that made the client.
        vars(made).update(vars(self))
        core = self._boardlot_core.with_options(timeout, max_retries, headers)
        vars(made)["_boardlot_core"] = core
        return made

    def __repr__(self) -> str:
        # A debugger may show an object before its constructor has ended.
        core = vars(self).get("_boardlot_core")
        name = type(self).__name__
        return f"<{name} that is not initialized>" if core is None else f"{name}({core.base_url!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """The arguments and the attributes of a subclass, without those that belong to this
        process.
        """
        from ._support.clients import rebuild

        made = (rebuild, (type(self), self._boardlot_core.given()))
        own = {name: it for name, it in vars(self).items() if not name.startswith("_boardlot_")}
        return (*made, own) if own else made

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            from ._support.clients import missing_attribute, not_documented

            raise missing_attribute(self, name, not_documented(name))

        def __setattr__(self, name, value):
            if name in _CLIENT_OPTIONS:
                from ._support.clients import unchangeable

                raise unchangeable(self, name)
            super().__setattr__(name, value)
