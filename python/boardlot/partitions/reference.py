"""What a worker makes its client from, without secrets; and its share of the rate limit."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from boardlot import AsyncClient, Client, RateLimit
from boardlot.errors import ConfigError
from boardlot.per_process import PerProcess

__all__ = ["Reference", "refer"]


@dataclass(frozen=True)
class Reference:
    """What a worker makes its client from: the client's own pickle, which contains no secret."""

    base_url: str
    # Long and unreadable.
    pickled: bytes = field(repr=False)
    # Requests per second of all workers together. A `RateLimit` has a name, by which they share it.
    rate_limit: float | RateLimit | None = None

    def open(self) -> Client:
        """A client with the whole rate limit, for the process that makes the plan."""
        return _open(self.pickled, self.rate_limit)

    def client(self, processes: int = 1, process: str | None = None) -> Client:
        """The client of a process, made once, with its share of the rate limit.

        Args:
            processes: How many processes fetch at the same time.
            process: What distinguishes workers that share this process.
        """
        share = self.rate_limit
        if isinstance(share, (int, float)):
            share /= max(1, processes)
        with _CREATING.value:
            return _client(self.pickled, share, process)


def refer(
    client_or_profile: Client | AsyncClient | str, rate_limit: float | RateLimit | None = None
) -> Reference:
    """The reference to a client or a profile.

    Raises:
        ConfigError: The client has credentials without a reference, such as a key made from
            text or a bearer token, or headers that may be secrets; or there is no such profile;
            or the rate limit is not valid.
    """
    if isinstance(client_or_profile, str):
        client: Client | AsyncClient = Client(profile=client_or_profile)
    elif isinstance(client_or_profile, (Client, AsyncClient)):
        client = client_or_profile
    else:
        kind = type(client_or_profile).__name__
        raise ConfigError(f"expected a client or the name of a profile, got {kind}")
    try:
        pickled = pickle.dumps(client)
    except ConfigError:
        raise
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ConfigError(
            f"the client cannot be sent to workers: {error}; a function that asks for a "
            "passphrase must be at the top level of a module that the workers have too"
        ) from error
    if rate_limit is None:
        rate_limit = _arguments(client).get("rate_limit")
    if isinstance(rate_limit, RateLimit) and rate_limit.name is None:
        raise ConfigError(
            "rate_limit has no name, by which the workers could share it: pass "
            "RateLimit(..., name=...), and with several machines a database"
        )
    # Made once here, so that settings that no worker could use are rejected at once.
    with _open(pickled, rate_limit) as local:
        return Reference(local.base_url, pickled, rate_limit)


def _arguments(client: Client | AsyncClient) -> dict[str, Any]:
    """The arguments that the client was made with, from its pickle."""
    reduced: Any = client.__reduce__()
    return dict(reduced[1][1])


def _open(pickled: bytes, rate_limit: float | RateLimit | None) -> Client:
    return Client(**_arguments(pickle.loads(pickled)) | {"rate_limit": rate_limit})


_CREATING = PerProcess(threading.Lock)


# More than one only if a process works for several frames, or its share has changed.
@lru_cache(maxsize=8)
def _client(pickled: bytes, rate_limit: float | RateLimit | None, _process: str | None) -> Client:
    return _open(pickled, rate_limit)
