"""The columns of an archive's views, compared with what the core makes of each row's record."""

import json
from datetime import date, datetime

from boardlot import _core
from boardlot.archive.lists import LISTS
from boardlot.archive.typed_columns import built_in, custom


def check_columns(archive):
    """Each row of each view has the values of its record, and `check` finds nothing missing."""
    is_sqlite = archive._database.times_are_texts
    endpoints = archive._database.read("select name, fields from endpoints")
    rows = 0
    for typed in [*built_in().values(), *custom(archive._database, endpoints)]:
        key = {spec.name: spec.column for spec in LISTS.values()}.get(typed.name, "key")
        own = {"account", "market"} if typed.name == "fills" else {key}
        fields = [one for one in typed.fields if one[0] not in own | {"seen_at", "change"}]
        for view in (typed.name, f"{typed.name}_history"):
            found = archive.sql(f'select * from "{view}"').to_dicts()
            texts = ",".join(row["record"] for row in found).encode()
            expected = _core._typed_records(texts, fields) if texts else []
            assert len(expected) == len(found)
            for row, (_, *values) in zip(found, expected, strict=True):
                shown = [plain(row[name]) for name, *_ in fields]
                assert shown == (values if is_sqlite else [*map(without_nul, values)]), view
                rows += 1
    assert [one for one in archive.check() if one.kind == "columns"] == []
    return rows


def plain(value):
    """Returns a value as SQLite has it."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    return value.isoformat() if isinstance(value, date) else value


def without_nul(value):
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def same_object(one, other):
    """True if two objects are equal, as JSON or as a frame has them, where a member may be null."""
    one, other = (json.loads(x) if isinstance(x, str) else x for x in (one, other))
    if one is None or other is None:
        return one is other
    return all(one.get(name) == other.get(name) for name in {*one, *other})
