"""Every token store passes the suite that users run on theirs, and a broken one does not."""

import contextlib
import inspect
import sqlite3
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.testing import TokenStoreSuite

from ..support.keyring import missing, session
from ..support.system import need_postgres, not_installed

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SECRET = bytes(range(32))


class TestMemoryStore(TokenStoreSuite):
    @pytest.fixture
    def open_store(self):
        store = bl.MemoryStore()  # Of one process: its threads share it.
        return lambda: store


class TestEncryptedFileStore(TokenStoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda: bl.EncryptedFileStore(tmp_path / "tokens", "a passphrase")


class TestSqliteStoreOfTheDocs(TokenStoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(str(EXAMPLES))
        from web_app.token_store import SqliteStore

        return lambda: SqliteStore(tmp_path / "tokens.db", SECRET)


@pytest.fixture(scope="module")
def address():
    """A database in PostgreSQL."""
    need_postgres()
    from ..support.postgres import Postgres

    with Postgres() as server:
        yield server.address()


class TestPostgresStoreOfTheDocs(TokenStoreSuite):
    @pytest.fixture
    def open_store(self, address, monkeypatch):
        monkeypatch.syspath_prepend(str(EXAMPLES))
        from web_app.postgres_store import PostgresStore

        return lambda: PostgresStore(address, SECRET)


class Table:
    """A store as a user would write it in a minute, without a lock."""

    def __init__(self, path):
        self.path = path
        with self.database() as database:
            database.execute("create table if not exists tokens (key primary key, value)")

    @contextlib.contextmanager
    def database(self):
        with contextlib.closing(sqlite3.connect(self.path, timeout=60)) as database, database:
            yield database

    def load(self, key):
        with self.database() as database:
            found = database.execute("select value from tokens where key = ?", [key]).fetchone()
        return found and found[0]

    def save(self, key, value):
        with self.database() as database:
            database.execute("insert or replace into tokens values (?, ?)", [key, value])

    def delete(self, key):
        with self.database() as database:
            database.execute("delete from tokens where key = ?", [key])


class TestStoreOfAUser(TokenStoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda: Table(tmp_path / "tokens.db")


@pytest.mark.parametrize("updates", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_the_keychain_passes(tmp_path, updates):
    """In a process of its own: it remembers the first session bus that it has seen."""
    if missing():
        pytest.skip(not_installed(" and ".join(missing())))
    with session(tmp_path) as bus:
        bus.environment["BOARDLOT_TEST_UPDATES"] = str(updates)
        options = ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "-rs"]
        suite = str(Path(__file__).with_name("keychain_suite.py"))
        running = bus.start(sys.executable, "-m", "pytest", *options, suite, cwd=ROOT, text=True)
        out, _ = running.communicate()
    assert running.returncode == 0, out
    assert "10 passed, 2 skipped" in out, out


# The suite itself: each test fails for a store that breaks what it says.


@dataclass
class Correct:
    kept: dict = field(default_factory=dict, repr=False)

    def load(self, key):
        return self.kept.get(key)

    def save(self, key, value):
        self.kept[key] = value

    def delete(self, key):
        self.kept.pop(key, None)


class Awaited(Correct):
    async def load(self, key):
        return self.kept.get(key)


class Empty(Correct):
    def load(self, key):
        return self.kept.get(key, b"")


class Text(Correct):
    def load(self, key):
        value = super().load(key)
        return value and value.decode("latin-1")


class Appending(Correct):
    def save(self, key, value):
        self.kept[key] = self.kept.get(key, b"") + value


class Undeletable(Correct):
    def delete(self, key):
        pass


class Strict(Correct):
    def delete(self, key):
        if key not in self.kept:
            raise OSError("no such file")
        del self.kept[key]


class InAnyCase(Correct):
    def load(self, key):
        return super().load(key.lower())

    def save(self, key, value):
        super().save(key.lower(), value)


class OneValue(Correct):
    def save(self, key, value):
        self.kept = defaultdict(lambda: value)

    def load(self, key):
        return self.kept[key] if self.kept else None


@dataclass
class Shown(Correct):
    kept: dict = field(default_factory=dict)


class Unlocked(Correct):
    """Whose lock lets all threads load a value before one of them saves another."""

    def __init__(self):
        super().__init__()
        self.all_loaded, self.seen = threading.Barrier(4), set()

    def load(self, key):
        value, thread = super().load(key), threading.current_thread()
        if thread is not threading.main_thread() and thread not in self.seen:
            self.seen.add(thread)
            self.all_loaded.wait()
        return value

    @contextlib.contextmanager
    def lock(self, key):
        yield


class Swallowing(Correct):
    @contextlib.contextmanager
    def lock(self, key):
        with contextlib.suppress(Exception):
            yield


BROKEN = [
    ("test_its_methods_are_not_coroutines", Awaited),
    ("test_a_key_that_was_never_saved_has_no_value", Empty),
    ("test_a_value_is_loaded_as_the_bytes_that_were_saved", Text),
    ("test_a_later_value_replaces_the_earlier_one", Appending),
    ("test_a_value_that_is_not_there_can_be_deleted", Undeletable),
    ("test_a_value_that_is_not_there_can_be_deleted", Strict),
    ("test_keys_are_compared_exactly", InAnyCase),
    ("test_threads_can_save_at_the_same_time", OneValue),
    ("test_it_shows_no_value", Shown),
    ("test_a_lock_excludes_other_workers", Unlocked),
    ("test_a_lock_ends_with_an_exception_which_it_passes_on", Swallowing),
]


@pytest.mark.parametrize(("test", "broken"), BROKEN)
def test_a_broken_store_fails(test, broken):
    statement, store = getattr(TokenStoreSuite(), test), broken()
    # Some need a key of their own.
    key = {"key": "a key"} if "key" in inspect.signature(statement).parameters else {}
    with pytest.raises((AssertionError, OSError, pytest.fail.Exception)):
        statement(lambda: store, **key)


def test_a_store_that_each_worker_has_for_itself_fails():
    with pytest.raises(AssertionError):
        TokenStoreSuite().test_another_worker_sees_what_was_saved_and_deleted(Correct, "a key")
