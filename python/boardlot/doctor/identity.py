"""The steps about the credentials and the rate limit: the key or the login, and whether the service
accepts it."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

import boardlot as bl
from boardlot._support.coroutines import is_async
from boardlot._support.credentials.profiles import check_address, profile_auth
from boardlot._support.messages import hints
from boardlot.doctor.findings import Failed, Finding, Skipped, run_step
from boardlot.doctor.network import Network
from boardlot.errors import AuthenticationError, ClockSkewError, ConfigError, PermissionDenied


def credentials_factory(auth: Any, profile: Mapping[str, Any]) -> Callable[[], Any] | None:
    """A factory of the given credentials, otherwise of the profile's; `None` for none."""
    if auth is not None and not callable(auth):
        return lambda: auth
    if auth is not None:
        if is_async(auth):
            raise ConfigError(
                "auth is an async function, which would not be awaited; expected credentials or a "
                "plain function that makes them"
            )
        make: Callable[[], Any] = auth
        return make
    if profile.get("kind") in (None, "none"):
        return None
    return lambda: profile_auth(profile)


def findings(
    make: Callable[[], Any] | None, network: Network, profile: Mapping[str, Any]
) -> Iterator[Finding]:
    """The steps about the credentials that this function makes: those of the profile, unless it is
    empty, which are sent to its own address only."""
    if make is None:
        yield Finding("credentials", "skipped", "none were given", hints.NO_CREDENTIALS_TO_CHECK)
        return
    identity = _Identity(make, network, profile)
    yield (finding := run_step("credentials", identity.load))
    if finding.state == "failed":
        return
    if isinstance(identity.auth, bl.ApiKey):
        yield run_step("key", lambda: _check_key(identity.auth, identity.warning))
        yield run_step("signature", lambda: _check_accepted(identity, "the key"))
    elif isinstance(identity.auth, bl.OAuth):
        yield from _login_findings(identity)
    else:
        yield run_step("token", lambda: _check_accepted(identity, "the token"))


class _Identity:
    """Credentials, and the client that uses them."""

    def __init__(
        self, make: Callable[[], Any], network: Network, profile: Mapping[str, Any]
    ) -> None:
        self._make, self._profile = make, profile
        self.network = network
        self.refusal: ConfigError | None = None
        self.auth: Any = None
        self.client: bl.Client | None = None
        self.warning = ""

    def load(self) -> str:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.auth = self._make()
            except OSError as error:
                raise Failed(str(error), hints.CREDENTIALS_FILE) from None
        self.warning = str(caught[0].message) if caught else ""
        try:
            check_address(self._profile, self.network.base_url)
        except ConfigError as refusal:
            # A key can still be checked without the service.
            self.refusal = refusal
        if self.network.failed_step != "settings" and self.refusal is None:
            self.client = self.network.client(self.auth)
        return _describe(self.auth)


def _describe(auth: Any) -> str:
    if isinstance(auth, bl.ApiKey):
        return f"the key {auth.key_id}"
    if isinstance(auth, bl.OAuth):
        return f"the login of {auth.client_id}"
    return "a bearer token"


def _check_key(key: bl.ApiKey, warning: str) -> str:
    kind: str = key.algorithm
    if kind != "Ed25519":
        # An RSA signature is as long as the key.
        kind += f" with {8 * len(base64.b64decode(key.sign(b''))):,} bits"
    try:
        # The location that a pickle of the key would carry.
        location = f"its file is {key.__getnewargs__()[1]}"
    except ConfigError:
        location = "its file is unknown (it is encrypted, or was given as text)"
    if warning:
        detail, _, hint = warning.partition("; ")
        raise Failed(f"{kind}; {detail}", f"{hint[:1].upper()}{hint[1:]}")
    return f"{kind}; {location}"


def _check_accepted(identity: _Identity, what: str) -> str:
    """One request that needs credentials and changes nothing."""
    client = identity.client
    if identity.refusal is not None and not identity.network.failed_step:
        raise identity.refusal
    if client is None or identity.network.failed_step:
        raise Skipped(f"not tried: {identity.network.failed_step} failed")
    today = date.today()
    try:
        client.trading_days("HK", today, today)
    except ClockSkewError:
        raise
    except AuthenticationError as rejection:
        raise Failed(str(rejection), _hint_for(identity.auth, rejection)) from None
    offset = client.clock_offset
    corrected = f", after the client corrected the time by {offset:+.3f} s" if offset else ""
    return f"the service accepts {what}{corrected}"


def _hint_for(auth: Any, rejection: AuthenticationError) -> str:
    """Advice on rejected credentials, as far as the service's message says why."""
    if isinstance(auth, bl.BearerToken):
        return hints.BEARER_REJECTED
    if isinstance(auth, bl.OAuth):
        return rejection.hint
    message = rejection.message.lower()
    if "signature" in message:
        return hints.OTHER_KEY
    return hints.UNKNOWN_KEY if "key" in message else f"{hints.UNKNOWN_KEY} {hints.OTHER_KEY}"


def _login_findings(identity: _Identity) -> Iterator[Finding]:
    login: bl.OAuth = identity.auth
    if identity.client is None:
        yield run_step("login", lambda: _check_accepted(identity, "the login"))
        return
    yield (finding := run_step("login", lambda: _check_stored(login)))
    if finding.state == "failed":
        return
    yield (finding := run_step("token", lambda: _check_token(identity, login)))
    if finding.state == "failed":
        yield Finding("scopes", "skipped", "not tried: token failed")
        return
    yield run_step("scopes", lambda: _check_scopes(login.scopes))


def _check_stored(login: bl.OAuth) -> str:
    store = login.__getnewargs_ex__()[1]["store"]
    return f"its tokens are stored in {store}; the access token {_expiry(login)}"


def _check_token(identity: _Identity, login: bl.OAuth) -> str:
    before = login.expires_at
    try:
        detail = _check_accepted(identity, "the token")
    except PermissionDenied as rejection:
        # A token that only lacks the scope is a valid token.
        detail = f"the service accepts the token, but not for this request: {rejection}"
    if login.expires_at == before:
        return detail
    return f"{detail}; it was refreshed and {_expiry(login)}"


def _expiry(login: bl.OAuth) -> str:
    expires = login.expires_at
    return f"expires {expires.isoformat(timespec='seconds')}" if expires else "has no known expiry"


def _check_scopes(scopes: frozenset[str]) -> str:
    granted = " ".join(sorted(scopes)) or "none"
    if not ("quote:read" in scopes or "trade:read" in scopes):
        raise Failed(f"granted: {granted}; none of these allows reading", hints.MORE_SCOPES)
    return f"granted: {granted}"


def shown_limit(base_url: str, options: dict[str, Any]) -> str:
    """Describes the limit of a client with these options."""
    # Not with the profile's credentials, whose passphrase may have to be typed.
    unused = bl.BearerToken("unused")
    with bl.Client(base_url, auth=unused, **options) as client:
        return client.explain("GET", "/api/v1.0/server-time").rate_limit or "none"
