"""The tables of an archive, and its format.

Only data that the service cannot change have columns: a record is stored as the text that the
service sent, so a new field of the service needs no migration.
"""

from __future__ import annotations

from collections.abc import Iterable

from boardlot.archive.database import RESTORE, Database, Transaction, format_of, store_error
from boardlot.archive.typed_columns import adopt, built_in
from boardlot.archive.views import are_current, define_views

# The formats that this version reads; it writes the last one.
FORMATS = range(1, 3)
FORMAT = FORMATS[-1]
# The first format in which the order of a snapshot is one value.
ORDERS = 2

# Times are microseconds since 1970.
#
# A fill has a row for each of its versions. A version belongs to a run, which is one complete read;
# `published` is the last complete run, and readers ignore versions of later ones. So each page is
# stored in a transaction of its own, and yet a reader sees complete reads only. A fill is gone if
# its version was `replaced` by a run that has no version of it; if a later run has one, the fill is
# back.
#
# `service` is the service that a list comes from. `fetched_at` is the service's time before the
# last complete read of the list, and was `ahead` of a clock of the machine that read it.
#
# These are the tables of format 1. A new archive has these tables, and all changes since.
TABLES = (
    """create table {schema}.series (
        id {identity},
        account text not null,
        market text not null,
        published bigint not null default 0,
        position text,
        run_start bigint,
        run_end bigint,
        read_at bigint,
        overlap_read_at bigint,
        service text,
        fetched_at bigint,
        ahead bigint,
        clock text,
        unique (account, market))""",
    """create table {schema}.fill_versions (
        id {identity},
        series bigint not null,
        identity text not null,
        run bigint not null,
        replaced bigint,
        updated bigint not null,
        code text,
        record text not null,
        unique (series, identity, run))""",
    # The order in which fills are read; rows of the same run are in the order of their ids.
    "create index fill_versions_by_time on fill_versions (series, updated desc, run desc)",
    """create table {schema}.coverage (
        series bigint not null,
        start_at bigint not null,
        end_at bigint not null,
        primary key (series, start_at))""",
    """create table {schema}.followers (
        series bigint not null,
        name text not null,
        run bigint not null,
        updated bigint not null,
        version bigint not null,
        holder text,
        primary key (series, name))""",
    # `snapshot` is the last complete read of a list. Each snapshot that differs from the one
    # before, if only in its order, has its own list of versions.
    """create table {schema}.lists (
        id {identity},
        list text not null,
        key text not null,
        read_at bigint,
        snapshot bigint,
        service text,
        fetched_at bigint,
        ahead bigint,
        clock text,
        unique (list, key))""",
    """create table {schema}.versions (
        list bigint not null,
        id bigint not null,
        seen_at bigint not null,
        change text not null,
        identity text not null,
        digest text not null,
        record text not null,
        primary key (list, id))""",
    """create table {schema}.snapshots (
        list bigint not null,
        id bigint not null,
        seen_at bigint not null,
        primary key (list, id))""",
    """create table {schema}.snapshot_records (
        list bigint not null,
        snapshot bigint not null,
        position bigint not null,
        version bigint not null,
        primary key (list, snapshot, position))""",
    # The fields of custom endpoints, as JSON, and which views were created.
    "create table {schema}.endpoints (name text primary key, fields text not null)",
    "create table {schema}.archive_views (digest text not null)",
    "create table {schema}.archive_format (version bigint not null)",
)


# The tables that a change creates.
NEW_TABLES = {2: ("archive_views", "series_runs", "followers_received", "archive_columns")}

# Statements that change an archive of the previous format into one of this format. They take no
# longer for a large archive: the orders that a list has stored as rows become values when the list
# is next stored, and the typed columns are made before; see `migration`.
CHANGES = {
    2: (
        # The order of a snapshot: the ids of its versions, separated by commas.
        "alter table {schema}.snapshots add column versions text",
        # The digest of each view; a view whose digest differs is replaced.
        "drop table {schema}.archive_views",
        "create table {schema}.archive_views (name text primary key, digest text not null)",
        # The time at which a run that stored something was published. Versions of format 1 have no
        # time.
        """create table {schema}.series_runs (
            series bigint not null,
            run bigint not null,
            seen_at bigint not null,
            primary key (series, run))""",
        # The followers that had received a version when it was gone, or need not receive it since
        # it is back as they had received it.
        """create table {schema}.followers_received (
            version bigint not null,
            follower text not null,
            primary key (version, follower))""",
        # The table of each list's typed columns; see `typed_columns`.
        """create table {schema}.archive_columns (
            list text primary key,
            columns_table text not null)""",
        # An older version that is still connected inserts rows without a format, and is refused.
        *(
            statement.replace("TABLE", table)
            for table in ("series", "lists")
            for statement in (
                "alter table {schema}.TABLE add column format bigint not null default 1",
                "update {schema}.TABLE set format = 2",
                "{fences[TABLE]}",
            )
        ),
    ),
}


def is_ready(database: Database, transaction: Transaction, tables: set[str]) -> bool:
    """True if a database with these tables is an archive that can be read as it is.

    Raises:
        StoreError: It is not an archive, or one of another format.
    """
    if not tables:
        return False
    check_format(database.name, database.schema_name, transaction, tables)
    # An older archive keeps its views until an update or a follower migrates it.
    is_older = format_of(transaction) < FORMAT
    return is_older or are_current(database, transaction)


def check_format(name: str, schema: str, transaction: Transaction, tables: set[str]) -> None:
    """Refuse a database with these tables that is not an archive of a known format.

    Raises:
        StoreError: It is not an archive, or one of another format.
    """
    if "archive_format" not in tables:
        hint = "Choose another one; this one is unchanged."
        raise store_error(name, "is a database, but not an archive", hint=hint)
    # The table is named with its schema: without a right to the schema, the error says so.
    rows = transaction.execute(f"select version from {schema}.archive_format")
    found = rows[0][0] if len(rows) == 1 else None
    if not isinstance(found, int):
        raise store_error(name, "has no valid format: it was damaged", hint=RESTORE)
    if found not in FORMATS:
        raise store_error(
            name,
            f"has format {found}; this version of boardlot supports formats up to {FORMAT}",
            hint="Update boardlot; the archive is unchanged.",
        )


def prepare(database: Database, transaction: Transaction, tables: set[str]) -> None:
    """Create the tables and the views, as far as needed, in the transaction of the caller.

    Raises:
        StoreError: As `is_ready`.
    """
    if is_ready(database, transaction, tables):
        return
    if not tables:
        _run(database, transaction, TABLES)
        transaction.execute("insert into archive_format (version) values (1)")
        change_tables(database, transaction)
        for typed in built_in().values():
            typed.create(database, transaction)
            adopt(transaction, typed)
    define_views(database, transaction)


def change_tables(database: Database, transaction: Transaction) -> None:
    """Change the tables of an older format into those of this format."""
    for version in range(format_of(transaction) + 1, FORMAT + 1):
        _run(database, transaction, CHANGES[version])
        database.share(transaction, NEW_TABLES[version])
        transaction.execute("update archive_format set version = ?", (version,))


def _run(database: Database, transaction: Transaction, statements: Iterable[str]) -> None:
    for statement in statements:
        transaction.execute(
            statement.format(
                schema=database.schema_name, identity=database.identity, fences=database.fences
            )
        )
