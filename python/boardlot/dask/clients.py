"""The client of a dask worker, with its share of the rate limit."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass

from boardlot import Client
from boardlot.errors import ConfigError
from boardlot.partitions import Reference

__all__ = ["WorkerClients"]


@dataclass(frozen=True)
class WorkerClients:
    """Clients of workers: one in each process."""

    reference: Reference
    # How many processes fetch, if the caller says so.
    workers: int | None

    def __post_init__(self) -> None:
        if self.workers is not None and (type(self.workers) is not int or self.workers < 1):
            raise ConfigError(f"workers is {self.workers!r}; expected a positive integer")

    def client(self, partitions: int) -> Client:
        """This process's client.

        Args:
            partitions: The number of partitions of the frame: no more fetch at once.
        """
        if not isinstance(self.reference.rate_limit, (int, float)):
            return self.reference.client()
        worker, workers = _worker() if self.workers is None else (None, self.workers)
        return self.reference.client(min(workers, partitions), worker)


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
