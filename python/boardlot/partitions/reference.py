"""The clients of workers: one per process, from a reference, with a share of the rate limit."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from boardlot import AsyncClient, Client
from boardlot.errors import ConfigError

__all__ = ["Reference", "refer"]


@dataclass(frozen=True)
class Reference:
    """What a worker makes its client from: the client's own pickle, which contains no secret."""

    base_url: str
    # Long and unreadable.
    pickled: bytes = field(repr=False)
    rate_limit: float | None
    workers: int | None

    def open(self) -> Client:
        """A client with the whole rate limit, for the process that makes the frame."""
        return _open(self.pickled, self.rate_limit)

    def client(self, partitions: int) -> Client:
        """This process's client, with its share of the rate limit.

        Args:
            partitions: The number of partitions of the frame: no more fetch at once.
        """
        share = worker = None
        if self.rate_limit is not None:
            worker, workers = _worker() if self.workers is None else (None, self.workers)
            share = self.rate_limit / max(1, min(workers, partitions))
        with _CREATING:
            return _client(self.pickled, share, worker)


def refer(
    client_or_profile: Client | AsyncClient | str, rate_limit: float | None, workers: int | None
) -> Reference:
    """The reference to a client or a profile.

    Raises:
        ConfigError: The client has credentials without a reference, such as a key made from
            text or a bearer token, or headers that may be secrets; or there is no such profile;
            or the rate limit is not valid.
    """
    if workers is not None and (type(workers) is not int or workers < 1):
        raise ConfigError(f"workers is {workers!r}; expected a positive integer")
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
    # Made once here, so that settings that no worker could use are rejected at once.
    with _open(pickled, rate_limit) as local:
        return Reference(local.base_url, pickled, rate_limit, workers)


def _arguments(client: Client | AsyncClient) -> dict[str, Any]:
    """The arguments that the client was made with, from its pickle."""
    reduced: Any = client.__reduce__()
    return dict(reduced[1][1])


def _open(pickled: bytes, rate_limit: float | None) -> Client:
    return Client(**_arguments(pickle.loads(pickled)) | {"rate_limit": rate_limit})


_CREATING = threading.Lock()


# More than one only if a process works for several frames, or its share has changed.
@lru_cache(maxsize=8)
def _client(pickled: bytes, rate_limit: float | None, _worker: str | None) -> Client:
    return _open(pickled, rate_limit)


def _worker() -> tuple[str | None, int]:
    """The address of the worker that this runs in, and the number of workers in its cluster."""
    address = _worker_address()
    if address is not None:
        from distributed import get_client

        return address, len(get_client().nthreads())
    # The local scheduler: its threads share this process and its client.
    if multiprocessing.parent_process() is not None:
        raise ConfigError(
            "the rate limit cannot be divided in a pool of processes of unknown size: pass "
            "workers=..., or use a dask.distributed cluster"
        )
    return None, 1


def _worker_address() -> str | None:
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return None
