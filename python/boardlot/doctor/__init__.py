"""Checks each stage of a request: what works, what fails, and what to do about it.

```python
import boardlot as bl
from boardlot import doctor

with bl.Sandbox(seed=7) as sandbox:
    for finding in doctor.examine(sandbox.base_url, auth=sandbox.api_key()):
        print(finding.state, finding.step, finding.detail, finding.hint)
```
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any

from boardlot import ApiKey, BearerToken, OAuth, RateLimit, _core
from boardlot._calls import explained
from boardlot._support.clients import CertificateFiles
from boardlot._support.hidden import Hidden
from boardlot._support.messages import hints
from boardlot.doctor import identity
from boardlot.doctor.findings import Finding, run_step
from boardlot.doctor.network import Network, clock_offset
from boardlot.errors import ConfigError

__all__ = ["Finding", "clock_offset", "examine"]

Auth = ApiKey | BearerToken | OAuth


@explained
def examine(
    base_url: str | None = None,
    *,
    auth: Auth | Callable[[], Auth] | None = None,
    profile: str | None = None,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
    client_cert: CertificateFiles | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
    rate_limit: float | RateLimit | None = None,
) -> Iterator[Finding]:
    """Check each stage of a request, and report for each whether it works.

    The first steps are about the connection: settings, proxy, name, connection, TLS, service,
    clock. Then come the credentials; with a key also key and signature; with a login also login,
    token and scopes; with a bearer token also token. A step that depends on a failed one is
    skipped, with a reason. A few requests are sent that change nothing: for the
    service's time, and with credentials for today's trading days. Findings contain no secrets.

    Args:
        base_url: The service's address; the default is that of the profile.
        auth: The credentials, or a function without arguments that makes them: a key that cannot
            be read then becomes a finding too.
        profile: A name in `config.toml`, as for `boardlot.Client`.
        proxy: A proxy URL, or `"environment"` for the one in `HTTPS_PROXY`; the default is that of
            the profile.
        ca_file: A PEM bundle that is trusted in addition to the system's; the default is that of
            the profile.
        client_cert: The certificate by which the client identifies itself, as for
            `boardlot.Client`; the default is that of the profile.
        headers: Sent with every request.
        rate_limit: The limit that is reported, as for `boardlot.Client`; the default is that of the
            profile. Nothing is reported without one.
        timeout: Seconds that one step may wait for a response.

    Returns:
        An iterator of `Finding`; each step runs when the iterator reaches it.

    Raises:
        ConfigError: Neither a base URL nor a profile was given, or there is no such profile.

    Examples:
        >>> from boardlot import doctor
        >>> for finding in doctor.examine(sandbox.base_url):
        ...     print(finding.state, finding.step)
        ok settings
        skipped proxy
        ok name
        ok connection
        skipped TLS
        ok service
        ok clock
        skipped credentials
    """
    # The address of a proxy and headers may have a password.
    certificates = {"ca_file": ca_file, "client_cert": client_cert}
    given = Hidden({"proxy": proxy, **certificates, "headers": headers})
    del proxy, headers
    named = {} if profile is None else _core._profile(profile)
    address = base_url or named.get("base_url")
    if address is None:
        raise ConfigError(
            "base_url is missing; expected a base URL or a profile", hint=hints.MISSING_BASE_URL
        )
    kept = {name: named.get(name) for name in ("proxy", "ca_file", "client_cert")}
    options = {name: value or kept.get(name) for name, value in given.reveal().items()}
    network = Network(address, options, timeout)
    make = identity.credentials_factory(auth, named)
    steps = [network.findings(), identity.findings(make, network, named if auth is None else {})]
    if rate_limit or named.get("rate_limit"):
        steps.append(_limit(address, {**options, "profile": profile, "rate_limit": rate_limit}))
    return itertools.chain.from_iterable(steps)


def _limit(base_url: str, options: dict[str, Any]) -> Iterator[Finding]:
    yield run_step("rate limit", lambda: identity.shown_limit(base_url, options))
