"""The connection of an archive to its database."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from boardlot.archive.database import Database
from boardlot.errors import ConfigError, StoreError

__all__ = ["DatabaseConnection"]

C = TypeVar("C")


class DatabaseConnection(Database, Generic[C]):
    """A database with one connection in each process, which one thread at a time uses."""

    # What all errors of the driver are.
    driver_error: type[Exception]

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.RLock()
        self._connection: C | None = None
        self._process = 0
        self._has_views = False
        self._closed = False
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

    @contextmanager
    def _using(self) -> Iterator[C]:
        """The connection, for one thread at a time; its errors become errors of the archive."""
        with self._lock:
            if self._closed:
                raise ConfigError(f"the archive {self.name} is closed; open it again")
            try:
                connection = self._of_this_process()
                if connection is None or self._is_lost(connection):
                    self._connection = None
                    connection = self._connect()
                    self._connection, self._process = connection, os.getpid()
                    self._has_views = False
                yield connection
            except self.driver_error as error:
                raise self._error(error) from error

    def _of_this_process(self) -> C | None:
        if self._connection is not None and self._process != os.getpid():
            # A forked child must not close what belongs to its parent.
            _OF_PARENTS.append(self._connection)
            self._connection = None
        return self._connection

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connection: Any = self._of_this_process()
            self._connection = None
            if connection is not None:
                with suppress(self.driver_error):
                    connection.close()


# Connections of a process of which this one was forked.
_OF_PARENTS: list[Any] = []
