"""Logging in, for oneself and for the users of a web application."""

from collections.abc import Awaitable, Generator, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, final

from typing_extensions import Self, disjoint_base

from ._credentials import OAuth, _Store

@final
class Registration:
    """A registered client: the record that the service returned, field by field. Its `repr` shows no secret."""

    @property
    def client_id(self) -> str:
        """The id of the client."""
    @property
    def client_secret(self) -> str | None:
        """The secret of a confidential client; None if the service issued none."""
    @property
    def client_name(self) -> str | None:
        """The name that the consent page shows. As each of the following, it is None if the response does not
        contain it.
        """
    @property
    def redirect_uris(self) -> list[str]:
        """The redirect URIs, as the service registered them; those that were asked for if the response does not
        contain them.
        """
    @property
    def grant_types(self) -> list[str] | None:
        """The grant types, such as authorization_code."""
    @property
    def token_endpoint_auth_method(self) -> str | None:
        """`none` for a public client, `client_secret_post` for a confidential one."""
    @property
    def response_types(self) -> list[str] | None:
        """The response types, such as code."""
    @property
    def registration_access_token(self) -> str | None:
        """A secret; the service document does not show its use."""
    @property
    def registration_client_uri(self) -> str | None:
        """A URL of the client; the service document does not show its use."""
    @property
    def scope(self) -> str | None:
        """The scopes that users can grant, separated by spaces."""
    @property
    def pkce_required(self) -> bool | None:
        """True if a login needs PKCE, which those of boardlot always use."""
    @property
    def client_id_issued_at(self) -> int | None:
        """When the client was registered, in Unix seconds."""
    @property
    def issued_at(self) -> datetime | None:
        """`client_id_issued_at` as an aware UTC datetime."""
    def __reduce__(self) -> Any: ...

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
) -> Registration:
    """Registers a web application, once, and returns its `Registration`. Store the client id and the secret:
    the service does not show them again.

    `base_url` is the address of the service. `redirect_uris` are the callback URLs of the application: https,
    or http to a loopback address such as `http://127.0.0.1:8000/callback`. The service matches them exactly.
    `client_name` is what the consent page shows. `confidential=True` registers a client with a secret
    (`client_secret_post`); a response without one is not an error. `timeout`, `connect_timeout`,
    `max_connections`, `proxy` and `ca_file` are as for `Client`. Raises `OAuthError` if the service rejects the
    registration.

    >>> callback = "https://app.example.com/callback"
    >>> bl.register_client(sandbox.base_url, redirect_uris=[callback]).redirect_uris
    ['https://app.example.com/callback']
    """

@final
class AuthorizationRequest:
    """The start of a login: `url` is the page to send the user to; `state` and `code_verifier` are two strings
    to keep in the user's session until the callback.
    """

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    @property
    def state(self) -> str:
        """The value that the callback must repeat; 43 random characters."""
    @property
    def code_verifier(self) -> str:
        """The proof, sent with the code, that this application began the login; 43 random characters. A secret."""
    def __reduce__(self) -> Any: ...

@disjoint_base
class OAuthAppBase:
    """The base class of `OAuthApp` and `AsyncOAuthApp`."""

    @property
    def client_id(self) -> str:
        """The id from the registration."""
    @property
    def redirect_uri(self) -> str:
        """Where users return to, as it is registered."""
    @property
    def base_url(self) -> str:
        """The address of the service."""
    def authorization_url(self) -> AuthorizationRequest:
        """Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and keep
        `.state` and `.code_verifier` in the user's session on the server. Sends nothing and raises nothing.
        """
    def __getnewargs_ex__(self) -> Any: ...

class OAuthApp(OAuthAppBase):
    """A web application with its own users: it sends them to the service's page, receives the callback at
    its own address, and calls the service for each of them.

    `client_id` and `client_secret` come from `register_client`, or from wherever the application was
    registered; `redirect_uri` is where users return to, exactly as it is registered. `store` (None: the
    keychain) holds the tokens of all users, in every process. `base_url` is the address of the service.
    `timeout`, `connect_timeout`, `max_connections`, `proxy` and `ca_file` are as for `Client`. Opens no port and
    no browser; can be shared by threads.

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

    def __new__(
        cls,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: _Store | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_connections: int = 64,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
    ) -> Self: ...
    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> OAuth:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
        returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends
        the callback; None if it holds none. They are valid for one exchange. Raises `OAuthError`
        and sends nothing if the state differs, a parameter occurs twice, or the service reports
        an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the code
        was sent and the tokens were lost. After each of them, start a new login. If it is cancelled
        once the code is sent, the tokens are saved all the same.
        """
    def auth(self, *, user: str) -> OAuth:
        """The credentials of `user`, who has logged in, in any process that has the store. Reads the
        store, so that a logout or a new login in another process takes effect. Raises
        `LoginRequired` if the store has no tokens of this user, and `StoreError` if it cannot be
        read.
        """

class AsyncOAuthApp(OAuthAppBase):
    """Like `OAuthApp`, with `fetch_token` and `auth` awaited: the base class of `boardlot.AsyncOAuthApp`."""

    def __new__(
        cls,
        base_url: str,
        client_id: str,
        *,
        redirect_uri: str,
        store: _Store | None = None,
        client_secret: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 5.0,
        max_connections: int = 64,
        proxy: str | None = None,
        ca_file: str | PathLike[str] | None = None,
    ) -> Self: ...
    def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> Awaitable[OAuth]:
        """Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
        returns the user's `OAuth`.

        `callback_url` is the URL that the browser requested, or its path and query. `state` and
        `code_verifier` are those of `authorization_url`, from the session of the user who sends
        the callback; None if it holds none. They are valid for one exchange. Raises `OAuthError`
        and sends nothing if the state differs, a parameter occurs twice, or the service reports
        an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the code
        was sent and the tokens were lost. After each of them, start a new login. If it is cancelled
        once the code is sent, the tokens are saved all the same.
        """
    def auth(self, *, user: str) -> Awaitable[OAuth]:
        """The credentials of `user`, who has logged in, in any process that has the store. Reads the
        store, so that a logout or a new login in another process takes effect. Raises
        `LoginRequired` if the store has no tokens of this user, and `StoreError` if it cannot be
        read.
        """

@final
class LoginFlow:
    """A login in progress: the user opens `url`, and a port of this machine listens for the callback.

    `finish` and `wait` raise `OAuthError` if the user or the service refuses the login or its time is
    over, and `StoreError` if the tokens cannot be saved.

    >>> from urllib.request import urlopen
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> callback_url = sandbox.authorize_demo_user(flow.url)  # what the user does in a browser
    >>> auth = flow.finish(callback_url)  # of a browser on another machine
    >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    >>> page = urlopen(sandbox.authorize_demo_user(flow.url))  # of a browser on this machine
    >>> auth = flow.wait()
    >>> bl.begin_login(sandbox.base_url, store=bl.MemoryStore()).cancel()
    """

    @property
    def url(self) -> str:
        """The page where the user logs in and grants access."""
    def finish(self, callback_url: str) -> OAuth:
        """Completes the login with `callback_url`, the URL to which the browser was redirected, copied from
        its address bar, and returns the `OAuth`. The URL of another login raises `OAuthError`; this login
        can still be completed afterwards.
        """
    def wait(self) -> OAuth:
        """Waits for the browser's callback and returns the `OAuth`. Ctrl-C cancels the login."""
    def cancel(self) -> None:
        """Cancels the login and closes its port. If the code is already sent, the tokens are saved all the same."""
    def __await__(self) -> Generator[Any, None, OAuth]: ...

def login(
    base_url: str,
    *,
    store: _Store | None = None,
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
) -> OAuth:
    """Logs in with the browser and returns the credentials for a client.

    Registers a client if the store has none, opens the browser, waits for its callback, and saves the
    tokens in `store` (None: the keychain). Without a browser, or with `open_browser=False`, the URL is
    printed to stderr, with the ways to complete the login from another machine.

    For the other arguments and the errors, see `begin_login`. Raises `OAuthError` also if the login is
    refused, or not completed within `timeout`.
    """

def begin_login(
    base_url: str,
    *,
    store: _Store | None = None,
    client_id: str | None = None,
    client_name: str = "boardlot",
    redirect_port: int = 0,
    timeout: float = 300.0,
    confidential: bool = False,
    connect_timeout: float = 5.0,
    max_connections: int = 64,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
) -> LoginFlow:
    """Begins a login and returns a `LoginFlow` at once. It prints nothing and opens no browser.

    Send the user to `flow.url`. Then `flow.wait()` (or `await flow`) waits for the callback of a browser
    on this machine, and `flow.finish(callback_url)` takes the callback URL of a browser elsewhere; see
    `LoginFlow` for an example.

    - `base_url`: the address of the service.
    - `store`: where the tokens and the registration are kept; None is the keychain.
    - `client_id`: of an earlier registration; without it, the one in the store, or a new one.
    - `client_name`: the name that the consent page shows.
    - `redirect_port`: the port of this machine that listens for the callback; 0 is any free one.
    - `timeout`: for how many seconds the login can be completed.
    - `confidential`: whether a new registration asks for a client secret.
    - `connect_timeout`, `max_connections`, `proxy`, `ca_file`: as for `Client`.

    Raises `OAuthError` if the service refuses the registration, `StoreError` if the store cannot be used,
    and `TransportError` if the service cannot be reached.
    """
