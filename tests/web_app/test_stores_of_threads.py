"""Stores that keep a connection or a transaction for their thread, from `lock` to its end."""

import contextlib
import threading

import boardlot as bl
import pytest

from ..support.applications import application, log_in
from ..support.clients import client_of
from ..support.logins import quotes


def test_a_row_that_is_locked_for_update_is_saved_by_the_same_transaction(server, postgres_address):
    """On another connection, `save` would wait for the lock forever."""
    import psycopg

    local, backends = threading.local(), []

    class Rows:
        def database(self):
            found = getattr(local, "database", None)
            return contextlib.nullcontext(found) if found else psycopg.connect(postgres_address)

        def load(self, key):
            with self.database() as database:
                backends.append(("load", database.info.backend_pid))
                query = "select value from tokens where key = %s"
                found = database.execute(query, (key,)).fetchone()
            return found and found[0]

        def save(self, key, value):
            with self.database() as database:
                backends.append(("save", database.info.backend_pid))
                database.execute(
                    "insert into tokens values (%s, %s) on conflict (key)"
                    " do update set value = excluded.value",
                    (key, value),
                )

        def delete(self, key):
            with self.database() as database:
                database.execute("delete from tokens where key = %s", (key,))

        @contextlib.contextmanager
        def lock(self, key):
            with psycopg.connect(postgres_address) as database:
                local.database = database
                backends.append(("lock", database.info.backend_pid))
                database.execute("select 1 from tokens where key = %s for update", (key,))
                try:
                    yield
                finally:
                    local.database = None

    with psycopg.connect(postgres_address) as database:
        database.execute("create table tokens (key text primary key, value bytea)")
    app = application(server, Rows())
    auth = log_in(server, app)
    client = client_of(server, auth, timeout=20.0)
    for _ in range(2):
        server.expire()
        backends.clear()
        assert list(quotes(client)) == []
        locked = backends[[name for name, _ in backends].index("lock") :]
        assert {"lock", "load", "save"} == {name for name, _ in locked}
        assert len({backend for _, backend in locked}) == 1
    assert server.counts["refresh_token"] == 2
    auth.logout()
    with pytest.raises(bl.LoginRequired):
        app.auth(user="alice")
