"""`LoginFlow`, `begin_login` and `login`: logins on this machine; `register_client`."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

from . import _core
from ._built import Built, refuse_copy
from ._calls import explained
from ._core import OAuth, Registration
from ._support.clients import CertificateFiles
from .token_store import TokenStore


@explained
class LoginFlow(Built):
    """A login in progress: the user opens `url`, and a port of this machine listens for the
    callback.

    `finish` and `wait` raise `OAuthError` if the user or the service refuses the login or it
    times out, and `StoreError` if the tokens cannot be saved.

    >>> from urllib.request import urlopen
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> callback_url = sandbox.authorize_demo_user(flow.url)  # what the user does in a browser
    >>> auth = flow.finish(callback_url)  # of a browser on another machine
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> page = urlopen(sandbox.authorize_demo_user(flow.url))  # of a browser on this machine
    >>> auth = flow.wait()
    >>> bl.begin_login(sandbox.base_url, store=bl.MemoryStore()).cancel()
    """

    _boardlot_core: _core._LoginFlow

    if not TYPE_CHECKING:

        def __init__(self, *_arguments: object, **_named: object) -> NoReturn:
            raise TypeError("a LoginFlow is what begin_login(...) returns")

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
        return self._boardlot_core.url

    def finish(self, callback_url: str) -> OAuth:
        """Completes the login with `callback_url`, the URL to which the browser was redirected,
        copied from its address bar, and returns the `OAuth`. The URL of another login raises
        `OAuthError`; this login can still be completed afterwards.
        """
        return self._boardlot_core.finish(callback_url)

    def wait(self) -> OAuth:
        """Waits for the browser's callback and returns the `OAuth`. Ctrl-C cancels the login."""
        return self._boardlot_core.wait(None)

    def __await__(self) -> Generator[Any, Any, OAuth]:
        """Like `wait`, in async code: `oauth = await flow`."""
        return self._boardlot_core.awaited()

    def cancel(self) -> None:
        """Cancels the login and closes its port. If the code has already been sent, the tokens are
        saved anyway.
        """
        self._boardlot_core.cancel()

    def _boardlot_shown(self) -> str:
        return f"<{type(self).__name__}, port {self._boardlot_core.port}>"

    def __reduce__(self) -> tuple[Any, ...]:
        refuse_copy("a LoginFlow", "complete it where it was begun")


@explained
def begin_login(
    base_url: str,
    *,
    store: TokenStore | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    timeout: float = 300.0,
    confidential: bool = False,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
    client_cert: CertificateFiles | None = None,
) -> LoginFlow:
    """Begins a login and returns a `LoginFlow` at once. It prints nothing and opens no browser.

    Send the user to `flow.url`. Then `flow.wait()` (or `await flow`) waits for the callback of a
    browser on this machine, and `flow.finish(callback_url)` takes the callback URL of a browser
    elsewhere; see `LoginFlow` for an example.

    - `base_url`: the address of the service.
    - `store`: where the tokens and the registration are kept; None is the keychain.
    - `client_id`: the id of an earlier registration; by default the one in the store, or else a new
      one.
    - `client_name`: the name that the consent page shows.
    - `redirect_port`: the port of this machine that listens for the callback; 0 is any free one.
    - `timeout`: the seconds within which the login must be completed.
    - `confidential`: True if a new registration asks for a client secret.
    - `connect_timeout`, `max_connections`, `proxy`, `ca_file`, `client_cert`: as for `Client`.

    Raises `OAuthError` if the service refuses the registration, `StoreError` if the store cannot be
    used, and `TransportError` if the service cannot be reached.
    """
    connection = (connect_timeout, max_connections, proxy, ca_file, client_cert)
    flow = LoginFlow.__new__(LoginFlow)
    flow._boardlot_core = _core._LoginFlow(
        base_url,
        store,
        client_id,
        client_name,
        redirect_port,
        False,
        timeout,
        confidential,
        connection,
    )
    return flow


@explained
def login(
    base_url: str,
    *,
    store: TokenStore | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    open_browser: bool = True,
    timeout: float = 300.0,
    confidential: bool = False,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
    client_cert: CertificateFiles | None = None,
) -> OAuth:
    """Logs in with the browser and returns the credentials for a client.

    Registers a client if the store has none, opens the browser, waits for its callback, and
    saves the tokens in `store` (None: the keychain). Without a browser, or with
    `open_browser=False`, the URL is printed to stderr, with the ways to complete the login from
    another machine.

    For the other arguments and the errors, see `begin_login`. Raises `OAuthError` also if the
    login is refused, or not completed within `timeout`.
    """
    connection = (connect_timeout, max_connections, proxy, ca_file, client_cert)
    core = _core._LoginFlow(
        base_url, store, client_id, client_name, redirect_port, open_browser, timeout, confidential,
        connection,
    )  # fmt: skip
    if core.has_opened_browser:
        return core.wait(None)
    return core.wait(Prompt(core).poll)


class Prompt:
    """The text that `login` prints to stderr if no browser opens on this machine. If stdin is a
    terminal, the callback URL can be pasted there.
    """

    def __init__(self, core: _core._LoginFlow) -> None:
        self.core = core
        self.stdin: Any = _terminal()
        port = core.port
        address = "the address that the browser then cannot open (it begins with "
        address += f"http://127.0.0.1:{port}/callback?)"
        if self.stdin is not None:
            otherwise = f"log in, copy {address}, paste it here and press Enter"
        else:
            otherwise = (
                f"start again in a terminal, where {address} can be pasted, or in Python with "
            )
            otherwise += (
                "flow = boardlot.begin_login(...), whose flow.finish(callback_url) takes it"
            )
        _print(
            f"Open this address in a browser to log in:\n\n    {core.url}\n\n"
            "If that browser runs on another machine, do one of these:\n"
            "- forward the port first, from that machine to this one:\n\n"
            f"    ssh -N -L {port}:127.0.0.1:{port} HOST\n\n"
            f"- or {otherwise}.\n"
        )

    def poll(self) -> None:
        """Called regularly during the login."""
        if (refused := self.core.refused()) is not None:
            _print(f"{refused}\n")
        if self.stdin is None:
            return
        from select import select

        ready, _, _ = select([self.stdin], (), (), 0)
        if ready and (line := self.stdin.readline()).strip():
            self.core.offer(line)


def _terminal() -> Any:
    """`sys.stdin`, if it is a terminal that `select` supports."""
    stdin: Any = sys.stdin
    if stdin is None or sys.platform == "win32":
        return None
    try:
        stdin.fileno()
        return stdin if stdin.isatty() else None
    except Exception:  # A stream that raises one, such as a closed one, is no terminal.
        return None


def _print(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


@explained
def register_client(
    base_url: str,
    *,
    redirect_uris: Sequence[str],
    client_name: str = "boardlot",
    confidential: bool = False,
    timeout: float = 30.0,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
    client_cert: CertificateFiles | None = None,
) -> Registration:
    """Registers a web application, once, and returns its `Registration`. Store the client id and
    the secret: the service does not show them again.

    `base_url` is the address of the service. `redirect_uris` are the callback URLs of the
    application, such as `https://app.example.com/callback` or `http://localhost:8000/callback`,
    sent as they are. The service matches them exactly. `client_name` is the name that the consent
    page shows. `confidential=True` registers a client with a secret (`client_secret_post`); a
    response without a secret is not an error. `timeout`, `connect_timeout`, `max_connections`,
    `proxy`, `ca_file` and `client_cert` are as for `Client`. Raises `OAuthError` if the service
    rejects the registration.

    >>> callback = "https://app.example.com/callback"
    >>> bl.register_client(sandbox.base_url, redirect_uris=[callback]).redirect_uris
    ['https://app.example.com/callback']
    """
    connection = (connect_timeout, max_connections, proxy, ca_file, client_cert)
    return _core._register_client(
        base_url, redirect_uris, client_name, confidential, timeout, connection
    )
