"""Queries, which can change nothing, and the views, which have the values of the frames."""

import contextlib
import json
import signal
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import boardlot as bl
import pandas
import pytest
from boardlot import frames

from ..support.clients import client_of
from ..support.interrupts import ends_at_once
from ..support.processes import python
from ..support.service import Response, StandInService, response
from . import service as archive_service
from .service import HK

HERE = Path(__file__).parent
QUERIES = json.loads((HERE / "queries.json").read_text())


def content(archive):
    with archive._database.snapshot() as snapshot:
        return [snapshot.execute(f"select * from {one}") for one in ("series", "fill_versions")]


def test_a_query_changes_neither_data_settings_transactions_nor_files(
    archive, book, client, tmp_path
):
    book.put_fills(3)
    archive.update(client, fills=[HK])
    before, out = content(archive), tmp_path / "out"
    is_sqlite = archive._database.identity == "integer primary key"
    for query in QUERIES[f"refused_in_{'sqlite' if is_sqlite else 'postgresql'}"]:
        with pytest.raises(bl.ConfigError, match="the query failed"):
            archive.sql(query.format(out=out))
    if not is_sqlite:
        for query in QUERIES["harmless_in_postgresql"]:
            archive.sql(query)
        # PostgreSQL 16 and later reject the statement.
        with contextlib.suppress(bl.ConfigError):
            archive.sql("select lo_from_bytea(0, 'x')")
    assert len(archive.sql("select * from fills")) == 3
    assert not out.exists() and content(archive) == before
    if not is_sqlite:
        shown = "select current_setting('timezone'), current_setting('search_path')"
        assert archive.sql(shown).to_dicts()[0]["current_setting"] == "UTC"
        for left in ("pg_locks where locktype = 'advisory'", "pg_largeobject_metadata"):
            assert archive._database.read(f"select 1 from {left}") == []
    assert archive.update(client, fills=[HK]).unchanged == 3


def test_a_query_in_memory_changes_nothing_either(client):
    with bl.Archive(":memory:") as archive:
        with pytest.raises(bl.ConfigError, match="not authorized") as error:
            archive.sql("delete from series")
        assert error.value.hint == "A query can read, but nothing else."
        assert archive.update(client, fills=[HK]).errors == {}


@pytest.mark.parametrize("hours", [-11, 0, 8])
def test_a_time_of_any_time_zone_is_the_same_instant(hours, archive, book, client):
    book.put_fills(5)
    archive.update(client, fills=[HK])
    times = sorted(fill["create_time"] for fill in archive.fills(*HK).all())
    mark = "?" if archive._database.identity == "integer primary key" else "%s"
    query = f"select count(*) as n from fills where create_time < {mark}"
    zone = timezone(timedelta(hours=hours))
    for before, time in enumerate(times):
        when = datetime.fromtimestamp(0, zone) + timedelta(microseconds=time)
        for given in (when, pandas.Timestamp(when)):
            assert archive.sql(query, [given]).to_dicts() == [{"n": before}]
    with pytest.raises(bl.ConfigError, match="without a time zone"):
        archive.sql(query, [datetime(2026, 11, 1)])


def test_a_text_that_sqlite_does_not_compare_as_a_time_has_a_warning(file, client):
    with bl.Archive(file) as archive:
        archive.update(client, fills=[HK])
        query = "select * from fills where create_time >= ?"
        with pytest.warns(UserWarning, match=r"parameter 1 .*: pass a datetime"):
            archive.sql(query, ["2026-11-24T00:00:00Z"])
        archive.sql(query, ["2026-11-24"])
        for condition in (
            "create_time >= '2026-11-24T00:00:00Z'",
            "create_time between 1764000000000000 and 1765000000000000",
            "updated_time>1764000000",
            "create_time > '27/11/2026'",
        ):
            with pytest.warns(UserWarning, match="pass a datetime"):
                archive.sql(f"select * from fills where {condition}")
        for condition in ("create_time > '2026-11-24 09:30:00'", "deal_id > 7400001000000000000"):
            archive.sql(f"select * from fills where {condition}")


def test_a_whole_second_and_a_day_are_what_the_views_show(archive, book, client):
    mark = "?" if archive._database.identity == "integer primary key" else "%s"
    second = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(minutes=1)
    book.fills[HK] = [archive_service.fill(1, int(second.timestamp()) * 10**6)]
    book.lists[archive_service.path_of("dividends", "HK.00700")] = [{"ex_date": "2026/11/27"}]
    archive.update(client, fills=[HK], dividends=["HK.00700"])
    for query, value in (
        ("select * from fills where create_time = {}", second),
        ("select * from fills where create_time <= {}", second),
        ("select * from dividends where ex_date = {}", date(2026, 11, 27)),
    ):
        assert len(archive.sql(query.format(mark), [value])) == 1


def test_what_reads_is_a_query(archive, client):
    with pytest.warns(UserWarning, match="has no update"):
        assert archive.sql("select * from fills").to_dicts() == []
    archive.update(client, fills=[HK])
    for query in (
        "with recursive n(i) as (values (1) union select i + 1 from n where i < 5) select * from n",
        "values (1), (2)",
        "select count(*) filter (where qty > 1) over () from fills",
        "select 1 -- a comment",
    ):
        archive.sql(query)


@pytest.mark.parametrize(
    ("query", "parameters", "named"),
    [
        (5, (), "query is of type int"),
        ("select 1", "x", "parameters is of type str"),
        ("select 1", None, "parameters is of type NoneType"),
        ("select '\ud800'", (), "the query failed"),
        ("select {mark}", ["\ud800"], "the query failed"),
        ("select {mark}", [object()], "the query failed"),
        ("select {mark}", [], "the query failed"),
    ],
)
def test_arguments_of_a_query_that_are_not_valid_are_named(query, parameters, named, archive):
    mark = "?" if archive._database.identity == "integer primary key" else "%s"
    if isinstance(query, str):
        query = query.replace("{mark}", mark)
    with pytest.raises(bl.ConfigError, match=named):
        archive.sql(query, parameters)


ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"


COMMAND = """
    import sys
    from boardlot.archive import sqlite
    from boardlot.cli import main
    run_query = sqlite.run_query
    def started(*arguments):
        sqlite.run_query = run_query
        print("started", flush=True)
        return run_query(*arguments)
    sqlite.run_query = started
    sys.exit(main(["archive", "sql", sys.argv[1], sys.argv[2]]))
"""


def test_a_result_is_shown_as_a_table(kept):
    result = kept.sql("select 1 as one, 'a' as letter union all select 2, 'b'")
    heading, _, first, second, _ = (line.split() for line in repr(result).splitlines())
    assert (heading, first, second) == (["one", "letter"], ["1", "a"], ["2", "b"])
    assert "<table" in result._repr_html_()
    assert repr(kept.sql("select 1 as one where 1 = 0")).startswith("one\n")


def test_ctrl_c_ends_a_query(file):
    with bl.Archive(file) as archive:
        ends_at_once(lambda: archive.sql(ENDLESS))
        assert archive.sql("select 1 as one").to_dicts() == [{"one": 1}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_query_of_the_command(number, file):
    bl.Archive(file).close()
    with python(COMMAND, file, ENDLESS, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == "started\n"
        child.send_signal(number)
        out, errors = child.communicate(timeout=60)
    assert (child.returncode, out) == (128 + number, ""), errors
    assert "Traceback" not in errors


KINDS = {
    **{"t": "text", "i": "integer", "n": "number", "f": "flag", "d": "decimal", "p": "percent"},
    **{"s": "seconds", "ms": "millis", "us": "micros", "day": "date", "o": "object"},
}
# Each value is sent for every field: as JSON, as the service would send it; with None, the field is
# not sent.
VALUES = [None, *(HERE / "values.jsonl").read_text().splitlines()]
VECTORS = bl.Endpoint(
    "vectors", "GET", "/api/v1.0/vectors", rows="data.list", record={"place": "integer", **KINDS}
)


def page_of(rows):
    body = f'{{"ret_code":0,"data":{{"list":[{",".join(rows)}]}}}}'
    return Response(body=body.encode())


def same(one, other):
    if isinstance(one, str) and "\0" in one:
        # A text in a database cannot contain U+0000.
        return other in (one, one.replace("\0", "\ufffd"))
    if isinstance(one, dict) and isinstance(other, dict):
        # An Arrow struct has every member, a dict only the members that were sent.
        return all(one.get(name) == other.get(name) for name in {*one, *other})
    # SQLite has no booleans.
    return one == other and (type(one) is type(other) or isinstance(one, bool))


def vectors():
    """A record of each value."""
    for place, value in enumerate(VALUES):
        fields = [] if value is None else [f'"{name}":{value}' for name in KINDS]
        yield "{" + ",".join([f'"place":{place}', *fields]) + "}"


def typed(rows, place, name):
    """Returns a field of a typed dict as a frame has it; null if the value is not of the field's
    kind."""
    try:
        (row,) = rows.slice(place, place + 1).select(name).typed_dicts()
    except bl.ProtocolError:
        return None
    value = row.get(name)
    return float(value) if isinstance(value, Decimal) else value


def test_a_value_becomes_the_same_in_dicts_frames_and_views(archive, book, client):
    pytest.importorskip("pyarrow")
    book.failures[VECTORS.path] = [page_of(vectors()) for _ in range(3)]
    # In a list, a number in a text field is as Python shows it, so the view is compared with a
    # list.
    listed = client.call(VECTORS)
    sent = client._boardlot_core.call(VECTORS, [])
    report = archive.update(client, lists=[(VECTORS, {})])
    assert (report.new, report.errors) == (len(VALUES), {})
    frame = frames.to_arrow(sent, invalid="null").to_pylist()
    stored = archive.seen(VECTORS, {}).to_arrow(invalid="null").to_pylist()
    view = archive.sql("select * from vectors order by place").to_arrow().to_pylist()
    assert stored == listed.to_arrow(invalid="null").to_pylist()
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


def test_a_comparison_has_the_type_of_the_column_in_sqlite(client, book, tmp_path):
    """PostgreSQL compares by the column's type by itself, or refuses to compare the two."""
    prices = ["9.5", "10.0", "100.0", "not a number"]
    book.fills[HK] = [
        archive_service.fill(n, book.now() - n, price=price) for n, price in enumerate(prices)
    ]
    with bl.Archive(tmp_path / "fills.db") as archive:
        archive.update(client, fills=[HK])
        for query, ids in {
            "price > '10'": ["2"],
            "price > 10": ["2"],
            "price = '10'": ["1"],
            "deal_id = 2": ["2"],
            "counter_broker_id = '6998'": ["0", "1", "2", "3"],
            "account = 281756": ["0", "1", "2", "3"],
        }.items():
            found = archive.sql(f"select deal_id from fills where {query} order by 1")
            assert [one for (one,) in found] == ids, query


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the setting is new in Python 3.12")
def test_a_misspelt_name_in_double_quotes_is_an_error(archive):
    with pytest.raises(bl.ConfigError, match="prise") as error:
        archive.sql('select "prise" from fills')
    if archive._database.identity == "integer primary key":
        assert "a text is written in single quotes" in error.value.hint


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
    with StandInService(lambda _: page, clock=0) as server, bl.Archive(target) as archive:
        archive.update(client_of(server), crypto_orders=[1])
        query = "select trigger_time, version from crypto_orders order by order_id"
        for view in ("crypto_orders", "crypto_orders_history"):
            table = archive.sql(query.replace("crypto_orders ", f"{view} ")).to_arrow()
            assert table["trigger_time"].to_pylist() == [None] * 3 + [5, 5, None]
            assert table["version"].to_pylist() == [0] * 3 + [5, 5, None]
        assert [row["trigger_time"] for row in archive.seen("crypto_orders", 1)] == times


def test_integers_that_a_float_would_round_keep_their_digits_beside_floats(tmp_path):
    query = "select 1 as x union all select 1.5 union all select 9007199254740993"
    with bl.Archive(tmp_path / "a.db") as archive:
        result = archive.sql(query)
    expected = ["1", "1.5", "9007199254740993"]
    assert result.to_polars()["x"].to_list() == expected
    assert result.to_arrow()["x"].to_pylist() == expected
