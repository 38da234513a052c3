"""Who you are to the service: the key or the login, and whether it is accepted."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boardlot.doctor.findings import Failed, Finding, Skipped, taken
from boardlot.errors import AuthenticationError, ClockSkewError, ConfigError, PermissionDenied

if TYPE_CHECKING:
    from boardlot import ApiKey, Client, OAuth
    from boardlot.doctor.network import Network

__all__ = ["findings", "opener"]

QUOTES = "trading days, futures, IPOs, dividends and plates"
ACCOUNTS = "crypto orders, simulated orders and positions, and fills"
ALL_ACCOUNTS = "accid:*"
UNKNOWN_KEY = (
    "Compare the key id with the developer page, and whether the public key was uploaded to this "
    "service."
)
OTHER_KEY = (
    "Sign with the private key whose public half was uploaded under this key id, or upload the "
    "public half of this one."
)
BEARER = "The token is unknown here, has ended or was revoked: get a new one for this base URL."
LOGIN = "The token was refused and could not be renewed: run `boardlot login` for this base URL."
WIDER = "Log in again and allow it on the consent page, if you need it."


def opener(auth: Any, named: Mapping[str, Any]) -> Callable[[], Any] | None:
    """What makes the credentials: those given, else those of the profile; `None` for none."""
    if auth is not None:
        return auth if callable(auth) else lambda: auth
    kind = named.get("kind")
    if kind == "api_key":
        return lambda: _key(named["key_id"], named["private_key"])
    if kind == "oauth":
        return lambda: _login(named["client_id"], named["store"])
    return None


def findings(opener: Callable[[], Any] | None, network: Network) -> Iterator[Finding]:
    """The steps of the credentials."""
    import boardlot

    if opener is None:
        yield Finding(
            "credentials",
            "skipped",
            "none were given",
            "Give a profile, a key or a login, if the service shall know you.",
        )
        return
    opened = _Opened(opener, network)
    yield (finding := taken("credentials", opened.open))
    if finding.state == "failed":
        return
    if isinstance(opened.auth, boardlot.ApiKey):
        yield taken("key", lambda: _of_key(opened.auth, opened.warning))
        yield taken("signature", lambda: _accepted(opened, "the key"))
    elif isinstance(opened.auth, boardlot.OAuth):
        yield from _of_login(opened)
    else:
        yield taken("token", lambda: _accepted(opened, "the token"))


class _Opened:
    """Credentials, and the client that uses them."""

    def __init__(self, opener: Callable[[], Any], network: Network) -> None:
        self._opener = opener
        self._network = network
        self.auth: Any = None
        self.client: Client | None = None
        self.warning = ""

    @property
    def broken(self) -> str:
        """The step that ended the way to the service, if one did."""
        return self._network.broken

    def open(self) -> str:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                self.auth = self._opener()
            except OSError as error:
                raise Failed(str(error), "Check the file and who may read it.") from None
        self.warning = str(told[0].message) if told else ""
        if self._network.broken != "settings":
            self.client = self._network.client(self.auth)
        return _named(self.auth)


def _named(auth: Any) -> str:
    import boardlot

    if isinstance(auth, boardlot.ApiKey):
        return f"the key {auth.key_id}"
    if isinstance(auth, boardlot.OAuth):
        return f"the login of {auth.client_id}"
    return "a bearer token"


def _of_key(key: ApiKey, warning: str) -> str:
    kind: str = key.algorithm
    if kind != "Ed25519":
        # A signature of RSA is as long as the key.
        kind += f" with {8 * len(base64.b64decode(key.sign(b''))):,} bits"
    try:
        place = f"its file is {_file_of(key)}"
    except ConfigError:
        place = "its file is not known here (it is encrypted, or was given as text)"
    warning = warning or _warning_of(key)
    if warning:
        fact, _, advice = warning.partition("; ")
        raise Failed(f"{kind}; {fact}", f"{advice[:1].upper()}{advice[1:]}")
    return f"{kind}; {place}"


def _file_of(key: ApiKey) -> Path:
    """The path that a pickle of the key would carry; refused where there is none."""
    return Path(key.__getnewargs__()[1])


def _warning_of(key: ApiKey) -> str:
    """What reading the key's file anew warns about."""
    import boardlot

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            boardlot.ApiKey(key.key_id, _file_of(key))
        except ConfigError:
            return ""
    return str(told[0].message) if told else ""


def _accepted(opened: _Opened, what: str) -> str:
    """One request that needs to know who you are and changes nothing."""
    client = opened.client
    if client is None or opened.broken:
        raise Skipped(f"no service: see {opened.broken}")
    today = date.today()
    try:
        client.trading_days("HK", today, today)
    except ClockSkewError:
        raise
    except AuthenticationError as refused:
        raise Failed(str(refused), _advice(opened.auth, refused.message)) from None
    offset = client.clock_offset
    corrected = f", once the client had corrected the time by {offset:+.3f} s" if offset else ""
    return f"the service accepts {what}{corrected}"


def _advice(auth: Any, message: str) -> str:
    """What to do where the service did not accept who you are, as far as its words tell why."""
    import boardlot

    if isinstance(auth, boardlot.BearerToken):
        return BEARER
    if isinstance(auth, boardlot.OAuth):
        return LOGIN
    words = message.lower()
    if "signature" in words:
        return OTHER_KEY
    return UNKNOWN_KEY if "key" in words else f"{UNKNOWN_KEY} {OTHER_KEY}"


def _of_login(opened: _Opened) -> Iterator[Finding]:
    login: OAuth = opened.auth
    if opened.client is None:
        yield Finding("login", "skipped", "not tried: settings failed")
        return
    yield (finding := taken("login", lambda: _stored(login)))
    if finding.state == "failed":
        return
    yield (finding := taken("token", lambda: _token(opened, login)))
    if finding.state == "failed":
        yield Finding("scopes", "skipped", "not tried: token failed")
        return
    scopes = login.scopes
    yield taken("scopes", lambda: _scopes(scopes))
    yield taken("quotes", lambda: _quotes(scopes))
    yield taken("accounts", lambda: _accounts(scopes))


def _stored(login: OAuth) -> str:
    store = login.__getnewargs_ex__()[1]["store"]
    ends = login.expires_at.isoformat(timespec="seconds")
    return f"its tokens lie in {store}; the access token ends {ends}"


def _token(opened: _Opened, login: OAuth) -> str:
    before = login.expires_at
    try:
        fact = _accepted(opened, "the token")
    except PermissionDenied as refused:
        # Who was refused for the scope was known.
        fact = f"the service knows the token, and {refused}"
    if login.expires_at == before:
        return fact
    ends = login.expires_at.isoformat(timespec="seconds")
    return f"{fact}; it was refreshed and ends {ends}"


def _scopes(scopes: frozenset[str]) -> str:
    granted = " ".join(sorted(scopes)) or "none"
    if not ("quote:read" in scopes or "trade:read" in scopes):
        raise Failed(f"granted: {granted}; nothing can be read with that", WIDER)
    return (
        f"granted: {granted}. Which endpoint needs which is not shown by the service document: "
        "what follows goes by their names, as the sandbox does"
    )


def _quotes(scopes: frozenset[str]) -> str:
    if "quote:read" not in scopes:
        raise Skipped(f"quote:read was not granted: no {QUOTES}", WIDER)
    return f"quote:read opens {QUOTES}"


def _accounts(scopes: frozenset[str]) -> str:
    prefix = "accid:"
    accounts = sorted(scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix))
    if "trade:read" not in scopes or not accounts:
        missing = "trade:read" if "trade:read" not in scopes else "an account (accid:...)"
        raise Skipped(f"{missing} was not granted: no {ACCOUNTS}", WIDER)
    which = "all accounts" if ALL_ACCOUNTS in scopes else f"account {', '.join(accounts)}"
    return f"trade:read opens {ACCOUNTS} of {which}"


def _key(key_id: str, file: Path) -> ApiKey:
    import boardlot

    return boardlot.ApiKey(key_id, file)


def _login(client_id: str, store: Path | None) -> object:
    from boardlot.clients.profile_login import profile_login

    return profile_login(client_id, store)
