"""How a request to the authorization server goes wrong on demand."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote


@dataclass(frozen=True)
class Fault:
    """How one request to an endpoint goes wrong.

    It comes after `delay` and once `until` is set. `drop` closes before anything is done, `lost`
    does the work and closes without an answer; `error` is an OAuth error, `status` alone is an
    answer without any JSON; `body` is sent as it is; `change` is put over the fields of the right
    answer, where None takes a field away; `echo` refuses with everything that was sent as the
    description, in the spelling of `spell`; `raw` makes the bytes that are sent in place of an
    answer, from the request.
    """

    delay: float = 0.0
    until: threading.Event | None = None
    drop: bool = False
    lost: bool = False
    error: str | None = None
    description: str = ""
    status: int | None = None
    body: bytes | None = None
    change: dict = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    echo: bool = False
    spell: Callable = unquote
    raw: Callable | None = None


def kind_of(received):
    """The endpoint of a request, by the names that `AuthorizationServer.faults` takes."""
    if received.path == "/oauth2/token" and received.method == "POST":
        grants = dict(parse_qsl(received.body.decode("latin-1")))
        return grants.get("grant_type", "token without grant")
    known = {
        ("POST", "/oauth2/register"): "register",
        ("GET", "/oauth2/authorize/confirm"): "authorize",
        ("GET", "/api/v1.0/server-time"): "clock",
    }
    other = "api" if received.path.startswith("/api/") else "elsewhere"
    return known.get((received.method, received.path), other)


def told_back(received, spell=unquote):
    """What came in, as a careless service would put it into its message."""
    return spell(received.everything.decode("latin-1"))
