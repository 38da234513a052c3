"""Sessions on the server: the browser holds a random id, and nothing else."""

import contextlib
import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

LIFETIME_SECONDS = 8 * 3600.0
SCHEMA = """
pragma journal_mode = wal;
create table if not exists sessions (id text primary key, data text not null, until real not null);
"""


class Sessions:
    """The sessions of all workers. Its file has only hashes of their ids."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch(mode=0o600)
        with self._database() as database:
            database.executescript(SCHEMA)

    @contextlib.contextmanager
    def _database(self) -> Generator[sqlite3.Connection, None, None]:
        database = sqlite3.connect(self._path, timeout=30.0)
        try:
            with database:
                yield database
        finally:
            database.close()

    def create(self, data: dict[str, Any]) -> str:
        """A new session with this content; returns its id, for the cookie."""
        session_id = secrets.token_urlsafe(32)
        row = (_hash(session_id), json.dumps(data), time.time() + LIFETIME_SECONDS)
        with self._database() as database:
            database.execute("insert into sessions values (?, ?, ?)", row)
        return session_id

    def read(self, session_id: str | None) -> dict[str, Any]:
        """The content of a session; empty if there is none."""
        question = "select data from sessions where id = ? and until >= ?"
        with self._database() as database:
            found = database.execute(question, (_hash(session_id or ""), time.time())).fetchone()
        return json.loads(found[0]) if found else {}

    def end(self, session_id: str | None) -> dict[str, Any]:
        """Deletes a session and returns its content, to one caller only."""
        question = "delete from sessions where id = ? and until >= ? returning data"
        with self._database() as database:
            found = database.execute(question, (_hash(session_id or ""), time.time())).fetchall()
        return json.loads(found[0][0]) if found else {}

    def expired(self) -> list[tuple[str, dict[str, Any]]]:
        """The sessions that have ended by themselves, with their content: see `forget`."""
        question = "select id, data from sessions where until < ?"
        with self._database() as database:
            found = database.execute(question, (time.time(),)).fetchall()
        return [(row_id, json.loads(data)) for row_id, data in found]

    def forget(self, row_id: str) -> None:
        """Deletes an expired session, once the tokens of its user are deleted."""
        with self._database() as database:
            database.execute("delete from sessions where id = ?", (row_id,))


def _hash(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()
