"""A database that is somebody else's: boardlot reads, makes and drops nothing outside its schemas.

Two schemas on the path of every session have everything under the names that boardlot uses: those
of a new archive and of a limit, read from the catalogue, and those of PostgreSQL's own tables,
types, functions and operators, which the path finds last.
"""

import re
import subprocess
from contextlib import closing
from pathlib import Path

import boardlot as bl
import pytest
from boardlot._support import limit_database as of_limit
from boardlot.archive import archive as of_archive

from .test_older_archives import statements

OWN = ("boardlot_archive", "boardlot_rate_limits")
OTHERS = ("warehouse", "public")
PAID = bl.Endpoint(
    "paid",
    "GET",
    "/api/v1.0/quote/{symbol}/corporate-actions/dividends",
    rows="data.dividend_list",
    record={"ex_date": "date", "dividend_per_share": "decimal"},
)
# The owner of all objects that are not boardlot's, and the roles that use boardlot.
STRANGER = "stranger"
ROLES = ("boardlot", "keeper", "loader")

# The names of everything in boardlot's schemas, and of PostgreSQL's tables in boardlot's
# statements.
NAMES = """\
with own as (select oid from pg_namespace where nspname = any(%(own)s))
select relname from pg_class where relnamespace in (table own)
union select proname from pg_proc where pronamespace in (table own)
union select typname from pg_type where typnamespace in (table own)
union select relname from pg_class where relnamespace = 'pg_catalog'::regnamespace
    and relname = any(%(words)s)
order by 1"""
# The kinds of objects, of which each name gets one, in turn.
KINDS = (
    'create view {0}."{1}" as select warehouse.read() as mine',
    'create table {0}."{1}" (mine text); insert into {0}."{1}" values (1)',
    'create materialized view {0}."{1}" as select 1 as mine',
    'create sequence {0}."{1}"',
    'create table {0}."{1}_table" (mine text); create index "{1}" on {0}."{1}_table" (mine)',
    'create type {0}."{1}" as (mine text)',
)
BODY = "language plpgsql as 'begin raise exception ''not yours''; end'"
# Statements that create types, functions and operators with the names of PostgreSQL's own, whose
# arguments and results a PL/pgSQL function can have.
TYPES = """\
select format('create domain %%s.%%I as int4', %(schema)s, typname) from pg_type
where typnamespace = 'pg_catalog'::regnamespace and typtype = 'b' and typname = any(%(words)s)"""
FUNCTIONS = f"""\
select distinct on (proname, proargtypes) format(
    $$create function %%s.%%I(%%s) returns %%s {BODY}$$,
    %(schema)s, proname, oidvectortypes(proargtypes), format_type(prorettype, null))
from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname = any(%(words)s)
and not exists (select from pg_type where typtype = 'p' and oid = any(prorettype || proargtypes))"""
OPERATORS = f"""\
select format(
    $$create function %%1$s.%%2$s(%%3$s, %%4$s) returns %%5$s {BODY};
    create operator %%1$s.%%6$s (leftarg = %%3$s, rightarg = %%4$s, function = %%1$s.%%2$s)$$,
    %(schema)s, 'operator_' || oid, format_type(oprleft, null), format_type(oprright, null),
    format_type(oprresult, null), oprname)
from pg_operator where oprnamespace = 'pg_catalog'::regnamespace
and oprleft = any('{{text,int8,int4,name,numeric,json,timestamptz}}'::regtype[])
and oprright = any('{{text,int8,int4,name,numeric,json,timestamptz,interval}}'::regtype[])"""


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7, fills=60) as running:
        yield running


def use_archive(address, sandbox, folder):
    """Does everything that an archive can do."""
    key = sandbox.accounts["trade"][0], "HK"
    with sandbox.client() as client, bl.Archive(address) as archive:
        lists = {"sim_orders": ["5001"], "ipos": ["hk"], "dividends": ["HK.00700"]}
        lists["lists"] = [(PAID, {"symbol": "HK.00700"})]
        assert archive.update(client, fills=[key], **lists).new
        assert archive.update(client, fills=[key], **lists).unchanged
        with closing(archive.follow(client, fills=key, every=0.01)) as followed:
            assert [next(followed), next(followed)]
        for view in ("fills", "dividends", "ipos_history", "paid"):
            assert len(archive.sql(f"select *, lower(record), length(record) from {view}"))
        assert archive.sql("select count(*) as n from fills where code = %s", ["none"]).to_dicts()
        assert archive.status() and len(archive.changes("ipos", "hk"))
        assert archive.check() is not None and archive.gaps(*key) is not None
        assert archive.export("ipos", folder / "ipos.parquet", history=True)


def use_limit(address, sandbox):
    limit = bl.RateLimit(1000, name="others", database=address)
    with sandbox.client(rate_limit=limit) as client:
        for _ in range(3):
            client.server_time()
    assert limit.used is not None


@pytest.fixture(scope="module")
def server(postgres):
    import psycopg

    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        for role in (f"{STRANGER} nologin", *(f"{role} login" for role in ROLES[1:])):
            connection.execute(f"create role {role}")
        yield postgres
        for role in (STRANGER, *ROLES[1:]):
            connection.execute(f"drop role {role}")


@pytest.fixture(scope="module")
def names(server, sandbox, tmp_path_factory):
    """The names of boardlot's schemas, and the words of its statements."""
    import psycopg

    address = server.address()
    use_archive(address, sandbox, tmp_path_factory.mktemp("names"))
    use_limit(address, sandbox)
    files = [*Path(of_archive.__file__).parent.rglob("*.py"), Path(of_limit.__file__)]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    with psycopg.connect(address) as connection:
        found = connection.execute(NAMES, {"own": list(OWN), "words": list(words)})
        return [name for (name,) in found], list(words)


class Crowd:
    """The database, and a role that uses it."""

    def __init__(self, address, role):
        self._admin, self.role = address, role
        self.address = address.replace("//boardlot@", f"//{role}@")

    def connect(self, **more):
        import psycopg

        more |= {"options": "-c search_path=pg_catalog", "cursor_factory": psycopg.ClientCursor}
        return psycopg.connect(self._admin, autocommit=True, **more)

    def fill(self, names, words, turn):
        """Makes the objects of others; after three turns, each name has been each of the
        `KINDS`."""
        with self.connect() as connection:
            database = connection.info.dbname
            connection.execute(f"alter database {database} owner to {ROLES[1]}")
            connection.execute(f"create schema warehouse authorization {STRANGER}")
            connection.execute(f"grant create on schema public to {STRANGER}")
            connection.execute(f"set role {STRANGER}")
            connection.execute(f"create function warehouse.read() returns text {BODY}")
            for schema in OTHERS:
                made = [
                    found
                    for query in (TYPES, FUNCTIONS, OPERATORS)
                    for (found,) in connection.execute(query, {"schema": schema, "words": words})
                ]
                shift = len(OTHERS) * turn + OTHERS.index(schema)
                for number, name in enumerate(names):
                    kind = KINDS[(number + shift) % len(KINDS)]
                    made.append(kind.format(schema, name))
                    made.append(f'create function {schema}."{name}"() returns text {BODY}')
                made.append(f"grant all on schema {schema} to public")
                made.append(f"grant all on all tables in schema {schema} to public")
                connection.execute("; ".join(made))
            connection.execute("reset role")
            # The path is for sessions that begin later.
            path = f"{', '.join(OTHERS)}, pg_catalog"
            connection.execute(f"alter database {database} set search_path = {path}")
            connection.execute("create table public.notes as select 'mine' as text")
            connection.execute("grant select on public.notes to public")

    def empty(self):
        """Removes boardlot's schemas, and makes those of a role that may not make any."""
        with self.connect() as connection:
            for schema in OWN:
                connection.execute(f"drop schema if exists {schema} cascade")
                if self.role == ROLES[2]:
                    connection.execute(f"create schema {schema} authorization {self.role}")

    def remove(self):
        with self.connect() as connection:
            database = connection.info.dbname
        with self.connect(dbname="postgres") as connection:
            connection.execute(f"drop database {database} with (force)")

    def dump(self):
        """Dumps everything that is not boardlot's."""
        from ..support.postgres import folder_of_programs

        program = folder_of_programs() / "pg_dump"
        without = [f"--exclude-schema={schema}" for schema in OWN]
        done = subprocess.run([program, "--create", *without, self._admin], capture_output=True)
        assert done.returncode == 0, done.stderr
        # The dump has a key that is new each time.
        return re.sub(rb"(?m)^\\(un)?restrict .*\n", b"", done.stdout)


@pytest.fixture(scope="module", params=ROLES, ids=["superuser", "owner", "ordinary"])
def filled(request, server, names):
    """The database; after the tests of a role, its dump is as it was before them."""
    crowd = Crowd(server.address(), request.param)
    crowd.fill(*names, ROLES.index(request.param))
    before = crowd.dump()
    assert b"CREATE VIEW" in before
    try:
        yield crowd
        assert crowd.dump() == before
    finally:
        crowd.remove()


@pytest.fixture
def crowd(filled):
    filled.empty()
    return filled


def test_security_61_an_archive_touches_nothing_of_others(crowd, sandbox, tmp_path):
    use_archive(crowd.address, sandbox, tmp_path)


def test_security_61_an_older_archive_touches_nothing_of_others(crowd, sandbox, tmp_path):
    with crowd.connect() as connection:
        connection.execute("drop schema if exists boardlot_archive")
        connection.execute(f"create schema boardlot_archive authorization {crowd.role}")
        connection.execute(f"set role {crowd.role}")
        written = statements("postgres", sandbox).replace("CREATE SCHEMA boardlot_archive;", "")
        connection.execute(written)
    use_archive(crowd.address, sandbox, tmp_path)


def test_security_61_a_shared_limit_touches_nothing_of_others(crowd, sandbox):
    use_limit(crowd.address, sandbox)
    # The limit exists by now.
    use_limit(crowd.address, sandbox)


def test_security_61_a_query_sees_the_archive_by_plain_names(crowd, sandbox, tmp_path):
    """A query has to name tables of others with their schema."""
    with bl.Archive(crowd.address) as archive, pytest.warns(UserWarning, match="has no update"):
        assert archive.sql("select * from fills").to_dicts() == []
        assert archive.sql("select * from public.notes").to_dicts() == [{"text": "mine"}]
        with pytest.raises(bl.ConfigError, match='"notes" does not exist') as error:
            archive.sql("select * from notes")
        assert "with its schema, such as public.notes" in error.value.hint


def test_security_61_a_hint_of_the_server_is_no_advice(connection, address, client):
    """The hint is for the author of the statement, who would drop somebody else's object."""
    archive = bl.Archive(address)
    connection.execute("drop view boardlot_archive.fills; create table boardlot_archive.fills ()")
    connection.execute("delete from boardlot_archive.archive_views")
    with pytest.raises(bl.StoreError, match='"fills" is not a view') as not_opened:
        bl.Archive(address)
    with (
        archive,
        pytest.raises(bl.ConfigError, match=r"lower\(integer\) does not exist") as refused,
    ):
        archive.sql("select lower(1)")
    connection.execute("create schema boardlot_rate_limits")
    connection.execute("create view boardlot_rate_limits.limits as select '' as name, '' as state")
    limit = bl.RateLimit(1, name="x", database=address)
    limited = bl.Client(client.base_url, rate_limit=limit)
    with limited, pytest.raises(bl.TransportError, match="cannot insert into view") as not_sent:
        limited.server_time()
    for caught in (not_opened, refused, not_sent):
        error = caught.value
        # The error of psycopg has a hint.
        assert error is not refused.value or error.__cause__.diag.message_hint
        shown = f"{error} {error.hint}"
        assert not re.search("HINT|DROP TABLE|explicit type casts|INSTEAD OF", shown), shown
