"""A token store for several worker processes: SQLite, encrypted, with a lock for each user."""

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Generator
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
LOCK_SECONDS = 30.0
"""When the lock of a worker that died ends. One that is alive renews it, however long it takes."""
WAIT_SECONDS = 300.0
"""Longer than a refresh takes with all its retries."""
SCHEMA = """
pragma journal_mode = wal;
create table if not exists tokens (key text primary key, value blob not null);
create table if not exists locks (key text primary key, owner text not null, until real not null);
"""


class Cipher:
    """AES-256-GCM. The name of a row is authenticated too: nobody can move it to another user."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def encrypt(self, row: str, data: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, row.encode())

    def decrypt(self, row: str, value: bytes) -> bytes:
        try:
            return self._cipher.decrypt(value[:NONCE_BYTES], value[NONCE_BYTES:], row.encode())
        except InvalidTag:
            raise ValueError("the row was changed, or encrypted with another key") from None


class SqliteStore:
    """Tokens in `path`, encrypted under the 32 bytes of `key`."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._cipher = Cipher(key)
        path.touch(mode=0o600)
        with self._database() as database:
            database.executescript(SCHEMA)

    @contextlib.contextmanager
    def _database(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection for one call: boardlot calls a store on any of its threads."""
        database = sqlite3.connect(self._path, timeout=30.0)
        try:
            with database:
                yield database
        finally:
            database.close()

    def load(self, key: str) -> bytes | None:
        with self._database() as database:
            found = database.execute("select value from tokens where key = ?", (key,)).fetchone()
        return self._cipher.decrypt(key, found[0]) if found else None

    def save(self, key: str, data: bytes) -> None:
        row = (key, self._cipher.encrypt(key, data))
        with self._database() as database:
            database.execute("insert or replace into tokens values (?, ?)", row)

    def delete(self, key: str) -> None:
        with self._database() as database:
            database.execute("delete from tokens where key = ?", (key,))

    @contextlib.contextmanager
    def lock(self, key: str) -> Generator[None, None, None]:
        """Held by one thread of one process at a time; other keys are free."""
        owner = secrets.token_hex(16)
        give_up = time.monotonic() + WAIT_SECONDS
        while not self._take(key, owner):
            if time.monotonic() > give_up:
                raise TimeoutError("another worker has not finished its refresh")
            time.sleep(0.02)
        done = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(key, owner, done), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()
            with self._database() as database:
                database.execute("delete from locks where key = ? and owner = ?", (key, owner))

    def _renew(self, key: str, owner: str, done: threading.Event) -> None:
        """Keeps the lock until it is released."""
        while not done.wait(LOCK_SECONDS / 3):
            # A busy database is tried again.
            with contextlib.suppress(sqlite3.OperationalError), self._database() as database:
                row = (time.time() + LOCK_SECONDS, key, owner)
                database.execute("update locks set until = ? where key = ? and owner = ?", row)

    def _take(self, key: str, owner: str) -> bool:
        now = time.time()
        with self._database() as database:
            taken = database.execute(
                "insert into locks values (?, ?, ?) on conflict (key) do update"
                " set owner = excluded.owner, until = excluded.until where until < ?",
                (key, owner, now + LOCK_SECONDS, now),
            )
            return taken.rowcount == 1
