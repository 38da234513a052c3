"""Keys, tokens and their stores."""

from datetime import datetime
from os import PathLike
from typing import Any, Protocol, final

from typing_extensions import Self

from ._types import _Algorithm

@final
class ApiKey:
    """An API key: its id, and the private key that signs the requests.

    `key_id` is the id that the service assigned to the key. `private_key` is a path, PEM text or bytes,
    in PKCS#8 (encrypted, if `password` is given) or PKCS#1. The algorithm is read from the key. Raises
    `ConfigError` for a key that cannot be used; the error contains nothing of it.

    >>> auth = bl.ApiKey("my-app-key", bl.generate_key().private_pem)
    >>> auth.algorithm, len(auth.sign(b"any bytes"))
    ('Ed25519', 88)
    >>> auth.public_key_pem().splitlines()[0]
    '-----BEGIN PUBLIC KEY-----'
    """

    def __new__(
        cls,
        key_id: str,
        private_key: str | bytes | PathLike[str],
        *,
        password: str | bytes | None = None,
    ) -> Self: ...
    @property
    def key_id(self) -> str:
        """The id that the service assigned to the key: the value of `X-Api-Key`."""
    @property
    def algorithm(self) -> _Algorithm:
        """`"Ed25519"` or `"RSA-SHA256"`."""
    def public_key_pem(self) -> str:
        """The public key as PEM, to be uploaded to the dashboard."""
    def sign(self, payload: bytes) -> str:
        """Signs the bytes of `payload` and returns the signature in Base64."""
    def __getnewargs__(self) -> tuple[str, Any]: ...

@final
class BearerToken:
    """A bearer token: `token` is sent unchanged, and never refreshed.

    >>> client = bl.Client(sandbox.base_url, auth=bl.BearerToken("a-token"))
    """

    def __new__(cls, token: str) -> Self: ...
    def __getnewargs__(self) -> None: ...

@final
class GeneratedKey:
    """A new key pair."""

    @property
    def private_pem(self) -> str:
        """The private key as PEM (PKCS#8). Store it where nobody else can read it."""
    @property
    def public_pem(self) -> str:
        """The public key as PEM, to be uploaded to the dashboard."""
    def _encrypted_pem(self, password: str) -> str: ...

def generate_key(algorithm: _Algorithm = "Ed25519", *, bits: int = 3072) -> GeneratedKey:
    """Generates a key pair. `algorithm` is `"Ed25519"` or `"RSA-SHA256"`; `bits` is the size of an RSA
    key: 2048, 3072, 4096 or 8192. Raises `ConfigError` for others.

    >>> bl.generate_key().private_pem.splitlines()[0]
    '-----BEGIN PRIVATE KEY-----'
    """

def signature_payload(
    timestamp_ms: int, method: str, path: str, query: str = "", body: bytes = b""
) -> bytes:
    """The canonical request (five lines) that is signed.

    `timestamp_ms` is the value of `X-Timestamp`, in milliseconds since 1970. `method`, `path`, `query` (without
    the question mark) and `body` are those of the request, exactly as they are sent.

    >>> payload = bl.signature_payload(1767571200000, "GET", "/api/v1.0/server-time")
    >>> payload.decode().splitlines()[:3]
    ['1767571200000', 'GET', '/api/v1.0/server-time']
    """

class _Store(Protocol):
    """A token store: a built-in one, or an object of your own."""

    def load(self, key: str, /) -> bytes | None: ...
    def save(self, key: str, data: bytes, /) -> None: ...
    def delete(self, key: str, /) -> None: ...

@final
class OAuth:
    """The tokens of a login. They are saved in a store and refreshed automatically, before they expire and
    when the service rejects them: once for all threads, tasks and processes that share the store.

    The constructor uses the tokens that an earlier `boardlot.login` saved in `store`; with `user`, those
    that `OAuthApp.fetch_token` saved for this user. `client_id` and `client_secret` are those of the
    registration. The tokens belong to one service: `base_url`, or that of the first client that uses them.
    Users share no tokens, refreshes or logouts.

    `scopes`, `expires_at` and every call of a client raise `LoginRequired` if there are no tokens or the
    service no longer accepts them, and `StoreError` if the store cannot be read or written.

    >>> store = bl.MemoryStore()
    >>> flow = bl.begin_login(sandbox.base_url, store=store)
    >>> client_id = flow.finish(sandbox.authorize_demo_user(flow.url)).client_id
    >>> auth = bl.OAuth(client_id, store=store, base_url=sandbox.base_url)
    >>> sorted(auth.scopes)[:2]
    ['accid:*', 'quote:read']
    >>> auth.logout()
    """

    def __new__(
        cls,
        client_id: str,
        *,
        store: _Store,
        client_secret: str | None = None,
        base_url: str | None = None,
        user: str | None = None,
    ) -> Self: ...
    @property
    def client_id(self) -> str:
        """The id that the service assigned to this client when it was registered."""
    @property
    def user(self) -> str | None:
        """The application's user that the tokens belong to; None for a personal login."""
    @property
    def base_url(self) -> str | None:
        """The service that the tokens belong to; None until a client has used them."""
    def __getnewargs_ex__(self) -> Any: ...
    def _set_profile(self, name: str) -> None: ...
    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that the user granted, such as `frozenset({"quote:read", "accid:*"})`."""
    @property
    def expires_at(self) -> datetime | None:
        """When the access token expires, as an aware UTC datetime. It is refreshed before that. None if the
        service did not say: then it is used until the service rejects it, and refreshed.
        """
    def logout(self) -> None:
        """Deletes the tokens from the store, and the client's registration unless there is a `user`. If there
        are none, it writes nothing. Raises `StoreError` if the store cannot be read or written.
        """
