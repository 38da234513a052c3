"""Archives in PostgreSQL that several tests use, one after another.

To create one takes a third of a second of a processor, and to empty it a quarter of that.
"""

import boardlot as bl
import psycopg

# Everything but the rows: a test may have changed it, such as by a view, a grant or a setting.
DEFINITIONS = """\
select jsonb_build_array(
(select jsonb_agg(array[nspname, nspowner::text, nspacl::text] order by nspname)
 from pg_namespace where nspname !~ '^pg_'),
(select jsonb_agg(array[oid::text, relname, relowner::text, relacl::text, reloptions::text,
 relrowsecurity::text] order by oid)
 from pg_class where oid >= 16384 and relkind <> 't' and relnamespace <> 99),
(select jsonb_agg(array[attrelid::text, attname, attnum::text, atttypid::text, attacl::text,
 attnotnull::text, atthasdef::text] order by attrelid, attnum)
 from pg_attribute where attrelid >= 16384 and attnum > 0),
(select jsonb_agg(array[oid, xmin::text::oid] order by oid)
 from pg_rewrite where oid >= 16384),
(select jsonb_agg(array[oid::text, tgenabled::text] order by oid)
 from pg_trigger where oid >= 16384),
(select jsonb_agg(oid order by oid) from pg_constraint where oid >= 16384),
(select jsonb_agg(oid order by oid) from pg_proc where oid >= 16384),
(select jsonb_agg(array[objoid::text, objsubid::text, description] order by objoid, objsubid)
 from pg_description where objoid >= 16384),
(select jsonb_agg(array[setrole::text, setconfig::text] order by setrole)
 from pg_db_role_setting s join pg_database d on d.oid = setdatabase
 where datname = current_database()),
(select array[datdba::text, datacl::text] from pg_database where datname = current_database())
)::text"""
TERMINATE = """\
select pg_terminate_backend(pid, 10000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()"""
TABLES = """\
select relname from pg_class where relnamespace = 'boardlot_archive'::regnamespace
and relkind = 'r' and pg_relation_size(oid) > 0 order by relname"""
SEQUENCES = """\
select setval(oid, 1, false) from pg_class
where relnamespace = 'boardlot_archive'::regnamespace and relkind = 'S'"""


class Emptied:
    """Archives without data; `address` makes one if none is left."""

    def __init__(self, postgres):
        self._postgres, self._spare, self._new = postgres, [], {}

    def address(self):
        if self._spare:
            return self._spare.pop()
        address = self._postgres.address()
        with bl.Archive(address) as archive, archive._database.lock("any").held(0.0):
            # The first lock creates the table of locks.
            pass
        with _connected(address) as connection:
            self._new[address] = definitions(connection), _rows(connection, _tables(connection))
        return address

    def spare(self, address):
        """Lets another test have this archive, or its database if more than data changed."""
        before, rows = self._new[address]
        with _connected(address) as connection:
            connection.execute(TERMINATE)
            is_same = definitions(connection) == before
            if is_same:
                _empty(connection, rows)
        if is_same:
            self._spare.append(address)
        else:
            del self._new[address]
            self._postgres.spare(address)


def _connected(address):
    # A test may have set another path for the database.
    path = "-c search_path=pg_catalog,boardlot_archive"
    return psycopg.connect(address, autocommit=True, options=path)


def definitions(connection):
    return connection.execute(DEFINITIONS).fetchone()


def _tables(connection):
    return [name for (name,) in connection.execute(TABLES)]


def _rows(connection, tables):
    query = "select * from {}"
    return {name: connection.execute(query.format(name)).fetchall() for name in tables}


def _empty(connection, new):
    """Removes all rows but those of a new archive."""
    now = _rows(connection, new)
    changed = [name for name in new if now[name] != new[name]]
    changed += [name for name in _tables(connection) if name not in new]
    with connection.transaction():
        if changed:
            connection.execute(f"truncate {', '.join(changed)}")
        connection.execute(SEQUENCES)
        for name in changed:
            if rows := new.get(name):
                marks = ", ".join(["%s"] * len(rows[0]))
                line = f"insert into {name} overriding system value values ({marks})"
                connection.cursor().executemany(line, rows)
