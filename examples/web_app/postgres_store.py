"""The same store in PostgreSQL, for workers on several machines."""

import contextlib
import threading
from collections.abc import Generator
from typing import Any

import psycopg

from .token_store import Cipher

SCHEMA = (
    'create table if not exists tokens (key text collate "C" primary key, value bytea not null)'
)
LOCK = "select pg_advisory_xact_lock(hashtextextended(%s, 0))"
SAVE = "insert into tokens values (%s, %s) on conflict (key) do update set value = excluded.value"


class PostgresStore:
    """Tokens in the database at `address`, encrypted under the 32 bytes of `key`."""

    def __init__(self, address: str, key: bytes) -> None:
        self._address = address
        self._cipher = Cipher(key)
        self._thread = threading.local()
        with self._database() as database:
            database.execute(SCHEMA)

    @contextlib.contextmanager
    def _database(self) -> Generator[psycopg.Connection[Any], None, None]:
        """The connection that holds this thread's lock, or a new one."""
        locked = getattr(self._thread, "locked", None)
        if locked is not None:
            yield locked
        else:
            with psycopg.connect(self._address) as database:
                yield database

    def load(self, key: str) -> bytes | None:
        with self._database() as database:
            found = database.execute("select value from tokens where key = %s", (key,)).fetchone()
        return self._cipher.decrypt(key, found[0]) if found else None

    def save(self, key: str, data: bytes) -> None:
        with self._database() as database:
            database.execute(SAVE, (key, self._cipher.encrypt(key, data)))

    def delete(self, key: str) -> None:
        with self._database() as database:
            database.execute("delete from tokens where key = %s", (key,))

    @contextlib.contextmanager
    def lock(self, key: str) -> Generator[None, None, None]:
        """A transaction, which commits what is saved in it; rolled back if this worker dies."""
        with psycopg.connect(self._address) as database:
            database.execute(LOCK, (key,))
            self._thread.locked = database
            try:
                yield
            finally:
                self._thread.locked = None
