"""`Recorder` and `Replay`: the `cassette` of a client."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Any

from . import _core
from ._built import Built, Self, arguments_for_pickle, loads_old_pickles, refuse_copy
from ._calls import explained


@explained
class Recorder(Built):
    """Records the traffic of clients in a new file at `path`, for tests and bug reports.

    Pass it as `Client(..., cassette=Recorder(path))`. Any number of clients of one service can
    share it. The file has one JSON object per line, written when each request ends, and only its
    owner can read it. It contains no key, signature, token or client secret of its clients, and no
    request's headers. Responses are recorded as received, without `Set-Cookie` and `Authorization`:
    they contain account ids, symbols and data. `secrets` are names of headers, parameters and
    members whose values are masked, besides those that the service document calls secret. Use it in
    a `with` block, or call `close()`. Raises `ConfigError` if the file exists or cannot be written.

    >>> recorder = bl.Recorder(folder / "traffic.jsonl")
    >>> with sandbox.client(cassette=recorder) as client:
    ...     len(client.dividends("HK.00700"))
    21
    >>> recorder.close()
    >>> with bl.Client(cassette=bl.Replay(folder / "traffic.jsonl")) as client:
    ...     len(client.dividends("HK.00700"))
    21
    """

    _boardlot_core: _core._Recorder

    def __init__(self, path: str | PathLike[str], *, secrets: Sequence[str] = ()) -> None:
        self._boardlot_core = _core._Recorder(path, secrets)

    def close(self) -> None:
        """Ends the recording. Clients that still use it raise `ConfigError`. Raises
        `ConfigError` if the file cannot be stored, such as on a full disk.
        """
        self._boardlot_core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None:
        self.close()

    def _boardlot_shown(self) -> str:
        return f"{type(self).__name__}({self._boardlot_core.path!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        refuse_copy("a Recorder", "create one for each process")


@loads_old_pickles
@explained
class Replay(Built):
    """Replays recorded traffic from the file at `path`, without a network or credentials. For an
    example, see `Recorder`.

    Pass it as `Client(cassette=Replay(path))`. A request gets the response that was recorded for
    the same method, path, query and body. If there are several, they are returned in order, and
    then the last one repeatedly. Retries do not wait. Any other request raises `ConfigError`,
    and so does a file that is not a recording. An empty file is a recording without requests.
    """

    _boardlot_core: _core._Replay

    def __init__(self, path: str | PathLike[str]) -> None:
        self._boardlot_core = _core._Replay(path)

    @property
    def base_url(self) -> str | None:
        """The base URL of the recorded service; `None` if nothing was recorded."""
        return self._boardlot_core.base_url

    def _boardlot_shown(self) -> str:
        return f"{type(self).__name__}({self._boardlot_core.path!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """The path, as text. When a pickle is loaded, the replay starts from the beginning."""
        return arguments_for_pickle(self, (self._boardlot_core.absolute_path,), {})
