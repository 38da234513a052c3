"""The connection of an archive to its database."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Generic, TypeVar

from boardlot.archive.database import Database
from boardlot.errors import ConfigError, StoreError
from boardlot.per_process import PerProcess

__all__ = ["DatabaseConnection", "Slot"]

C = TypeVar("C")


class Slot(Generic[C]):
    """A connection, which one thread at a time uses, and how many there have been."""

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = threading.RLock()
        self.connection: C | None = None
        self.number = 0


class DatabaseConnection(Database, Generic[C]):
    """A database with one connection in each process, and one more for queries of users."""

    # What all errors of the driver are.
    driver_error: tuple[type[Exception], ...]

    def __init__(self, name: str) -> None:
        self.name = name
        self._closed = False
        self._own: PerProcess[Slot[C]] = PerProcess(Slot)
        self._for_queries: PerProcess[Slot[C]] = PerProcess(Slot)
        # An error now is better than at the first update.
        with self._using():
            pass

    @abstractmethod
    def _connect(self) -> C:
        """A new connection, with the tables in their current format."""

    @abstractmethod
    def _is_lost(self, connection: C) -> bool:
        """Whether a connection can no longer be used."""

    @abstractmethod
    def _error(self, error: Any) -> StoreError:
        """The archive's error for one of the driver."""

    @property
    def connection_number(self) -> int:
        """Which connection of this process this is: one that was lost has taken its locks along."""
        return self._own.value.number

    @contextmanager
    def _using(
        self, of: PerProcess[Slot[C]] | None = None, connect: Callable[[], C] | None = None
    ) -> Iterator[C]:
        """The connection, for one thread at a time; its errors become errors of the archive."""
        slot = (of or self._own).value
        with slot.lock:
            if self._closed:
                raise ConfigError(f"the archive {self.name} is closed; open it again")
            try:
                if slot.connection is None or self._is_lost(slot.connection):
                    slot.connection = None
                    slot.connection = (connect or self._connect)()
                    slot.number += 1
                yield slot.connection
            except self.driver_error as error:
                raise self._error(error) from error

    def close(self) -> None:
        self._closed = True
        # The last connection to a SQLite file removes its log, if it may write.
        for slots in (self._for_queries, self._own):
            slot = slots.value
            with slot.lock:
                connection: Any = slot.connection
                slot.connection = None
                if connection is not None:
                    with suppress(*self.driver_error):
                        connection.close()
