"""The views of an archive: its lists with a typed column for each declared field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from boardlot.archive import samples
from boardlot.archive.database import Database, Row, Transaction, digest
from boardlot.archive.fills import CURRENT, EVENTS
from boardlot.archive.lists import LISTS, Series, columns_of
from boardlot.errors import ConfigError

# Fields with other names are in `record` alone.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# A field's name, kind and unit.
Column = tuple[str, str, str]


def are_current(database: Database, transaction: Transaction) -> bool:
    """True if the views are those that this version makes."""
    _, made_of = _wanted(database, transaction)
    return transaction.execute("select digest from archive_views") == [(made_of,)]


def define_views(database: Database, transaction: Transaction) -> None:
    """Create all views as this version has them."""
    statements, made_of = _wanted(database, transaction)
    for name, query in statements.items():
        # Its columns may have other types, which `create or replace` does not allow.
        view = f"{database.schema_name}.{name}"
        transaction.execute(f"drop view if exists {view}")
        transaction.execute(f"create view {view} as {query}")
    transaction.execute("delete from archive_views")
    transaction.execute("insert into archive_views (digest) values (?)", (made_of,))


def _wanted(database: Database, transaction: Transaction) -> tuple[dict[str, str], str]:
    """The query of each view, and a digest of them all."""
    custom = transaction.execute("select name, fields from endpoints order by name")
    statements = _statements(database, custom)
    return statements, digest(json.dumps(statements))


def check_name(rows: Callable[[str, Sequence[Any]], list[Row]], name: str) -> None:
    """Refuse the name of a custom endpoint that another one has but for upper and lower case.

    Raises:
        ConfigError: The archive has it.
    """
    query = "select name from endpoints where lower(name) = ? and name <> ?"
    for (other,) in rows(query, (name.lower(), name)):
        raise ConfigError(
            f"the endpoint's name is {name!r}, but the archive has one with the name {other!r}; "
            "expected a name that differs by more than upper and lower case"
        )


def define_custom(
    database: Database, transaction: Transaction, name: str, fields: list[Column]
) -> None:
    """Create the views of a custom endpoint, if its fields are new."""
    check_name(transaction.execute, name)
    text = json.dumps(fields)
    if transaction.execute("select fields from endpoints where name = ?", (name,)) == [(text,)]:
        return
    transaction.execute("delete from endpoints where name = ?", (name,))
    transaction.execute("insert into endpoints (name, fields) values (?, ?)", (name, text))
    define_views(database, transaction)


def _statements(database: Database, custom: Iterable[Row]) -> dict[str, str]:
    """The query of each view.

    `fills`, each list's latest contents, and, as `..._history`, all of their changes; and the spans
    of time of which fills were read. Their
    columns are the declared fields, as in a frame; null for a value of another type. `record` is
    the service's own text.
    """
    fields = columns_of(Series("0", "-").rows([]))
    statements = {
        "fills": f"select s.account as account, s.market as market"
        f"{_columns(database, fields, {'account', 'market'})}, record "
        f"from fill_versions f join series s on s.id = f.series where {CURRENT}",
        "fills_history": "select s.account as account, s.market as market"
        f"{_columns(database, fields, {'account', 'market', 'seen_at', 'change'})}, "
        f"{database.timestamp_sql('r.seen_at')} as seen_at, e.change as change, record "
        f"from ({EVENTS}) e join series s on s.id = e.series left join series_runs r "
        "on r.series = e.series and r.run = e.run where e.run <= s.published",
        "coverage_of_fills": "select s.account as account, s.market as market, "
        f"{database.timestamp_sql('c.start_at')} as covered_from, "
        f"{database.timestamp_sql('c.end_at')} as covered_until "
        "from coverage c join series s on s.id = c.series",
    }
    for spec in LISTS.values():
        schemas = [columns_of(rows) for rows in spec.samples()]
        by_name = {field[0]: field for schema in reversed(schemas) for field in schema}
        statements |= _of_list(database, spec.name, spec.column, list(by_name.values()))
    for name, text in custom:
        statements |= _of_list(database, name, "key", [tuple(field) for field in json.loads(text)])
    return statements


def samples_of_views(custom: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """A value of the type of each column of each view in SQLite, by their names in lower case."""
    keys = {"account": "", "market": "", "record": ""}
    of_fills = _samples(columns_of(Series("0", "-").rows([]))) | keys
    found = {
        "fills": of_fills,
        "fills_history": of_fills | {"seen_at": samples.TIME, "change": ""},
        "coverage_of_fills": {
            "account": "",
            "market": "",
            "covered_from": samples.TIME,
            "covered_until": samples.TIME,
        },
    }
    lists = {
        spec.name: (spec.column, [one for rows in spec.samples() for one in columns_of(rows)])
        for spec in LISTS.values()
    }
    lists |= {name: ("key", [tuple(field) for field in json.loads(text)]) for name, text in custom}
    for name, (key, fields) in lists.items():
        columns = _samples(fields) | {key: "", "seen_at": samples.TIME, "record": ""}
        found[name.lower()] = columns
        found[f"{name.lower()}_history"] = columns | {"change": ""}
    return found


def _samples(fields: list[Column]) -> dict[str, Any]:
    return {name.lower(): samples.of_kind(kind) for name, kind, _ in fields}


def _of_list(database: Database, name: str, key: str, fields: list[Column]) -> dict[str, str]:
    chosen = (
        f'select l.key as "{key}"{_columns(database, fields, {key, "seen_at", "change"})}, '
        f"{database.timestamp_sql('v.seen_at')} as seen_at"
    )
    one = f"where l.list = '{name}'"
    return {
        f'"{name}"': f"{chosen}, record from lists l join snapshot_records r on r.list = l.id "
        "and r.snapshot = l.snapshot join versions v on v.list = r.list and v.id = r.version "
        f"{one}",
        f'"{name}_history"': f"{chosen}, v.change as change, record from lists l "
        f"join versions v on v.list = l.id {one}",
    }


def _columns(database: Database, fields: list[Column], taken: set[str]) -> str:
    taken, columns = {*taken, "record"}, []
    for name, kind, unit in fields:
        if NAME.fullmatch(name) and name.lower() not in taken:
            taken.add(name.lower())
            columns.append(f', {database.typed(name, kind, unit)} as "{name}"')
    return "".join(columns)
