"""What works between this machine and the service, what does not, and what to do about it.

```python
import boardlot as bl
from boardlot import doctor

with bl.Sandbox(seed=7) as sandbox:
    for finding in doctor.examine(sandbox.base_url, auth=sandbox.api_key()):
        print(finding.state, finding.step, finding.fact, finding.advice)
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from boardlot import _core
from boardlot.doctor import identity
from boardlot.doctor.findings import Finding
from boardlot.doctor.network import Network, clock_offset
from boardlot.errors import ConfigError

if TYPE_CHECKING:
    from boardlot import ApiKey, BearerToken, OAuth

    Auth = ApiKey | BearerToken | OAuth

__all__ = ["Finding", "clock_offset", "examine"]


def examine(
    base_url: str | None = None,
    *,
    auth: Auth | Callable[[], Auth] | None = None,
    profile: str | None = None,
    proxy: str | None = None,
    ca_file: str | PathLike[str] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
) -> Iterator[Finding]:
    """Go the way of a request step by step, and tell of each step whether it works.

    First comes the way there: settings, proxy, name, connection, TLS, service, clock. Then who you
    are: credentials; with a key also key and signature; with a login also login, token, scopes,
    quotes and accounts; with a bearer token also token. What an earlier step made impossible is
    skipped and says so. A few requests are sent that change nothing: for the service's time, and
    with credentials for the trading days of today. Nothing secret is in what is found.

    Args:
        base_url: The service's address; without it that of the profile.
        auth: Who you are, or a function without arguments that makes it: a key that cannot be read
            is then a finding, too.
        profile: A name in `config.toml`, as `boardlot.Client` takes it.
        proxy: A proxy URL; the environment's proxies are not used.
        ca_file: A PEM bundle that is trusted besides the system's.
        headers: Sent with every request.
        timeout: Seconds that one step may wait for an answer.

    Returns:
        An iterator of `Finding`; each step is taken when it is asked for.

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
    named = {} if profile is None else _core._profile(profile)
    address = base_url or named.get("base_url")
    if address is None:
        raise ConfigError(
            "base_url is missing; give it or a profile",
            hint="Give the address of the service, such as https://api.example.com.",
        )
    options: dict[str, Any] = {"proxy": proxy, "ca_file": ca_file, "headers": headers}
    network = Network(address, options, timeout)
    return _findings(network, identity.opener(auth, named))


def _findings(network: Network, opener: Callable[[], Any] | None) -> Iterator[Finding]:
    yield from network.findings()
    yield from identity.findings(opener, network)
