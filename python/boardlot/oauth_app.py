"""`OAuthApp` and `AsyncOAuthApp`: the logins of the users of a web application."""

from __future__ import annotations

from os import PathLike
from typing import Any

from . import _core
from ._built import Built, arguments_for_pickle, loads_old_pickles
from ._calls import explained
from ._core import AuthorizationRequest, OAuth
from ._support.clients import CertificateFiles
from .token_store import TokenStore


class App(Built):
    """The base class of both applications."""

    _boardlot_core: _core._OAuthApp

    @property
    def client_id(self) -> str:
        """The id from the registration."""
        return self._boardlot_core.client_id

    @property
    def redirect_uri(self) -> str:
        """The address to which users return, as it is registered."""
        return self._boardlot_core.redirect_uri

    @property
    def base_url(self) -> str:
        """The address of the service."""
        return self._boardlot_core.base_url

    def _boardlot_shown(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, {self.client_id!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """The arguments that the application was created from, and no secret."""
        return arguments_for_pickle(self, *self._boardlot_core.arguments())


@loads_old_pickles
@explained
class OAuthApp(App):
    """A web application with its own users: it sends them to the service's page, receives the
    callback at its own address, and calls the service for each of them.

    `client_id` and `client_secret` come from `register_client`, or from wherever the application
    was registered; `redirect_uri` is the address to which users return, exactly as it is
    registered. `store` (None: the keychain) holds the tokens of all users, in every process.
    `base_url` is the address of the service. `timeout`, `connect_timeout`, `max_connections`,
    `proxy`, `ca_file` and `client_cert` are as for `Client`. Opens no port and no browser; can
    be shared by threads.

    >>> callback = "https://app.example.com/callback"
    >>> client_id = bl.register_client(sandbox.base_url, redirect_uris=[callback]).client_id
    >>> store = bl.MemoryStore()
    >>> app = bl.OAuthApp(sandbox.base_url, client_id, redirect_uri=callback, store=store)
    >>> request = app.authorization_url()
    >>> returned = sandbox.authorize_demo_user(request.url)  # what the user does in a browser
    >>> session = {"state": request.state, "code_verifier": request.code_verifier}
    >>> auth = app.fetch_token(returned, **session, user="alice")
    >>> app.auth(user="alice").user
    'alice'
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: TokenStore | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_connections: int = 64,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
        client_cert: CertificateFiles | None = None,
    ) -> None:
        connection = (connect_timeout, max_connections, proxy, ca_file, client_cert)
        self._boardlot_core = _core._OAuthApp(
            "sync", base_url, client_id, redirect_uri, store, client_secret, timeout, connection
        )

    def authorization_url(self) -> AuthorizationRequest:
        """Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and
        keep `.state` and `.code_verifier` in the user's session on the server. Sends nothing and
        raises nothing.
        """
        return self._boardlot_core.authorization_url()

    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> OAuth:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of
        `user`, and returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends
        the callback; None if the session holds none. They are valid for one exchange. Raises
        `OAuthError` and sends nothing if the state differs, a parameter occurs twice, or the
        service reports an error; `OAuthError` if the code has expired or was used;
        `LoginRequired` if the code was sent and the tokens were lost. After any of these errors,
        start a new login. If the call is cancelled after the code was sent, the tokens are saved
        anyway.
        """
        login: OAuth = self._boardlot_core.fetch_token(callback_url, state, code_verifier, user)
        return login

    def auth(self, *, user: str) -> OAuth:
        """The credentials of `user`, who has logged in, in any process that has the store. Reads
        the store, so that a logout or a new login in another process takes effect. Raises
        `LoginRequired` if the store has no tokens of this user, and `StoreError` if it cannot be
        read.
        """
        login: OAuth = self._boardlot_core.auth(user)
        return login


@loads_old_pickles
@explained
class AsyncOAuthApp(App):
    """Like `OAuthApp`, with `fetch_token` and `auth` awaited; for the arguments, see `OAuthApp`.

    >>> callback = "https://app.example.com/callback"
    >>> client_id = bl.register_client(sandbox.base_url, redirect_uris=[callback]).client_id
    >>> store = bl.MemoryStore()
    >>> app = bl.AsyncOAuthApp(sandbox.base_url, client_id, redirect_uri=callback, store=store)
    >>> request = app.authorization_url()
    >>> returned = sandbox.authorize_demo_user(request.url)  # what the user does in a browser
    >>> session = {"state": request.state, "code_verifier": request.code_verifier}
    >>> auth = await app.fetch_token(returned, **session, user="alice")
    >>> (await app.auth(user="alice")).user
    'alice'
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: TokenStore | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_connections: int = 64,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
        client_cert: CertificateFiles | None = None,
    ) -> None:
        connection = (connect_timeout, max_connections, proxy, ca_file, client_cert)
        self._boardlot_core = _core._OAuthApp(
            "async", base_url, client_id, redirect_uri, store, client_secret, timeout, connection
        )

    def authorization_url(self) -> AuthorizationRequest:
        """Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and
        keep `.state` and `.code_verifier` in the user's session on the server. Sends nothing and
        raises nothing.
        """
        return self._boardlot_core.authorization_url()

    async def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> OAuth:
        """Completes a login, and returns the user's `OAuth`; for the arguments, see
        `OAuthApp.fetch_token`. If the call is cancelled after the code was sent, the tokens are
        saved anyway.

        Raises `OAuthError`, `LoginRequired` or `StoreError`.
        """
        try:
            call = self._boardlot_core.fetch_token(callback_url, state, code_verifier, user)
        finally:
            # Crash reporters show the variables of frames.
            del callback_url, state, code_verifier
        login: OAuth = await call
        return login

    async def auth(self, *, user: str) -> OAuth:
        """The credentials of `user`, who has logged in, in any process that has the store; see
        `OAuthApp.auth`. Raises `LoginRequired` if the store has no tokens of this user, and
        `StoreError` if it cannot be read.
        """
        login: OAuth = await self._boardlot_core.auth(user)
        return login
