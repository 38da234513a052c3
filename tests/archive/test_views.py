"""The views: in the database itself, and with the values of the frames."""

import json
import math
from decimal import Decimal

import boardlot as bl
import pytest

from ..support.service import Response, StandInService, response
from .service import HK

KINDS = {
    **{"t": "text", "i": "integer", "n": "number", "f": "flag", "d": "decimal", "p": "percent"},
    **{"s": "seconds", "ms": "millis", "us": "micros", "day": "date", "o": "object"},
}
# Each is the value of every field: JSON, as the service would send it; None: it does not.
VALUES = [
    None, "null", "true", "false", '""', "0", "-0", "1", "-1", '"1"', '"+1"', '"-1"', '"01"', '"0"',
    '" 1"', '"1 "', '"1\\u0000"', '"\\u0661"', '"1_000"', '"0x10"', '"--1"', '"+-1"', '"+"', '"-"',
    '"."', '".5"', '"-.5"', '"5."', '"5.e3"', '"1..2"', '"1.5"', "1.5", "1.0", '"1.0"', "1.50",
    "1e2", '"1e2"', '"1E+2"', '"1e"', '"e5"', '"1e5e5"', '"1e-400"', '"1e400"', '"-1e400"', "1e400",
    '"1e00002"', '"1e0002"', '"1e-00002"', '"0e99999"', '"1e99999"', '"1e-99999"', "0.1",
    "123456789.123456789", "9007199254740993", '"9007199254740993"',
    "9223372036854775807", '"9223372036854775807"', "9223372036854775808", '"9223372036854775808"',
    "-9223372036854775808", '"-9223372036854775808"', '"-9223372036854775809"',
    '"00000000000000000000000000000001"', "18446744073709551616", '"1.7976931348623157e308"',
    '"inf"', '"nan"', '"NaN"', '"Infinity"', '"--"', '"x"',
    "1790000000", '"1790000000"', "1790000000123", "1790000000123456", '"1790000000123456"',
    "-62135596800", "-62135596801", "253402300799", "253402300800", "253402300799999",
    "253402300799999999", "253402300800000000", "-62135596800000000", "-62135596800000001",
    "-123456",
    "[]", "{}", "[1]", '{"a":1}', '"[1]"', '"{\\"a\\": 1}"', '"\\ud83d\\ude00"', "\"'; drop\"",
    '"2026-05-15"', '"2026/05/15"', '"2026/05-15"', '"2026-05-15x"', '"2026-05-15 "', '"2026-5-15"',
    '"2026-02-29"', '"2024-02-29"', '"2026-13-01"', '"2026-00-01"', '"2026-04-31"', '"0000-01-01"',
    '"0001-01-01"', '"9999-12-31"', '"2026-05-15T10:00"', '"2026-05-15 10:00:59"', '"2026-05-15t1"',
    '"2026-05-15T10:00:60"', '"2026-05-15T10:00:61"', '"2026-05-15T24:00"', '"2026-05-15T23:60"',
    '"2026-05-15T10:00:00.5"', '"2026-05-15T10:00:00."', '"2026-05-15T10:00:00,123456789"',
    '"2026-05-15T10:00:00Z"', '"2026-05-15T10:00Z"', '"2026-05-15T10:00 z"', '"2026-05-15T10:00:"',
    '"2026-05-15T10:00+08:00"', '"2026-05-15T10:00:00.25-0830"', '"2026-05-15T10:00 +08"',
    '"2026-05-15T10:00+8"', '"2026-05-15T10:00+24:00"', '"2026-05-15T10:00+08:60"', "20260515",
    '"2026-05-15T10:00Zx"', '"2026-05-15\\u0000"', '"20260515"', '"+026-05-15"',
]  # fmt: skip
VECTORS = bl.Endpoint(
    "vectors", "GET", "/api/v1.0/vectors", rows="data.list", record={"place": "integer", **KINDS}
)


def page_of(rows):
    body = f'{{"ret_code":0,"data":{{"list":[{",".join(rows)}]}}}}'
    return Response(body=body.encode())


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        # SQLite before 3.43 may round the last place of a long decimal in another way.
        return math.isclose(one, other, rel_tol=4e-16)
    if isinstance(one, str) and "\0" in one:
        # The text of a database cannot contain it.
        return other in (one, one.replace("\0", "\ufffd"))
    if isinstance(one, dict) and isinstance(other, dict):
        # An Arrow struct has every member, a dict those that were sent.
        return all(one.get(name) == other.get(name) for name in {*one, *other})
    # SQLite has no booleans.
    return one == other and (type(one) is type(other) or isinstance(one, bool))


def vectors():
    """A record of each value."""
    for place, value in enumerate(VALUES):
        fields = [] if value is None else [f'"{name}":{value}' for name in KINDS]
        yield "{" + ",".join([f'"place":{place}', *fields]) + "}"


def typed(records, place, name):
    """A field of a typed dict, as a frame has it; null if it is not of its kind."""
    try:
        (row,) = records[place : place + 1].select(name).to_dicts(typed=True)
    except bl.ProtocolError:
        return None
    value = row.get(name)
    return float(value) if isinstance(value, Decimal) else value


def test_a_value_becomes_the_same_in_dicts_frames_and_views(archive, book, client):
    pytest.importorskip("pyarrow")
    book.failures[VECTORS.path] = [page_of(vectors()) for _ in range(2)]
    sent = client.call(VECTORS)
    report = archive.update(client, lists=[(VECTORS, {})])
    assert (report.new, report.errors) == (len(VALUES), {})
    frame = sent.to_arrow(invalid="null").to_pylist()
    stored = archive.seen(VECTORS, {}).to_arrow(invalid="null").to_pylist()
    view = archive.sql("select * from vectors order by place").to_arrow().to_pylist()
    assert stored == frame
    assert len(frame) == len(view) == len(VALUES)
    for row in view:
        row["o"] = row["o"] and json.loads(row["o"])
    wrong = [
        (value, KINDS[name], one, other)
        for place, value in enumerate(VALUES)
        for name in KINDS
        for one in [typed(sent, place, name)]
        for other in (frame[place][name], view[place][name])
        if not same(one, other)
    ]
    assert wrong == []
    kept = {name: sum(row[name] is not None for row in frame) for name in KINDS}
    assert min(kept.values()) >= 2, kept


def test_views_of_another_version_are_made_again(target, book, client):
    book.put_fills(3)
    with bl.Archive(target) as archive:
        archive.update(client, fills=[HK])
        with archive._database.transaction() as transaction:
            transaction.execute("drop view fills")
            transaction.execute("create view fills as select 1 as one")
            transaction.execute("update archive_views set digest = 'older'")
    with bl.Archive(target) as archive:
        assert len(archive.sql("select deal_id, price from fills")) == 3


def test_a_trigger_time_of_0_is_null_in_the_views_as_in_frames(target):
    """2.5: 0 when none; of other times it says nothing."""
    times = [0, "0", 0.0, 5, "5", None]
    rows = [{"order_id": str(n), "trigger_time": at, "version": at} for n, at in enumerate(times)]
    data = {"orders": rows, "page_flag": "", "completed": True}
    page = response({"code": 0, "msg": "", "data": data})
    with (
        StandInService(lambda _: page, clock=0) as server,
        bl.Client(server.base_url) as client,
        bl.Archive(target) as archive,
    ):
        archive.update(client, crypto_orders=[1])
        query = "select trigger_time, version from crypto_orders order by order_id"
        for view in ("crypto_orders", "crypto_orders_history"):
            table = archive.sql(query.replace("crypto_orders ", f"{view} ")).to_arrow()
            assert table["trigger_time"].to_pylist() == [None] * 3 + [5, 5, None]
            assert table["version"].to_pylist() == [0] * 3 + [5, 5, None]
        assert [row["trigger_time"] for row in archive.seen("crypto_orders", 1)] == times
