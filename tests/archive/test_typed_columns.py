"""The columns of the views are those of frames, value by value and type by type.

`BOARDLOT_TEST_VALUES` is the number of records.
"""

import csv
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
from datetime import date
from functools import partial

import boardlot as bl
import pytest
from boardlot.archive.database import digest
from boardlot.archive.fills import FillStore
from boardlot.archive.lists import Series
from boardlot.archive.schema import FORMAT
from boardlot.archive.typed_columns import built_in

from ..support.service import Response
from .columns import check_columns, same_object
from .service import HK, fill, fills_path, unavailable

COUNT = int(os.environ.get("BOARDLOT_TEST_VALUES", "600"))
KINDS = {
    "t": "text",
    "i": "integer",
    "n": "number",
    "d": "decimal",
    "p": "percent",
    "f": "flag",
    "s": "seconds",
    "ms": "millis",
    "us": "micros",
    "day": "date",
    "o": "object",
    "empty": "object",
}
TIMES = {"s": 1, "ms": 1_000, "us": 1_000_000}
VALUES = bl.Endpoint(
    "random_values",
    "GET",
    "/api/v1.0/random-values",
    rows="data.list",
    record={"place": "integer", **KINDS},
)
# For each kind of field, values that are not of that kind.
INVALID = {
    "i": ["1,000", 1.5, "x", True, 2**63, "-9223372036854775809", []],
    "n": ["1,000", "1e400", "nan", False, {}],
    "d": ["1,000", "1e400", "0x10", "--1", " 1", "1e99999"],
    "p": ["5%", "inf", [1]],
    "f": [0, 1, "true", "x"],
    "s": ["soon", 253402300800, 1.5],
    "ms": ["2026-11-29", -62135596800001],
    "us": [2**63, "-"],
    "day": ["2026-02-30", 20260515, "tomorrow", "0000-01-01", "2026-1-1"],
    "o": [[], "{}", 5],
    "empty": ["{", 0],
}


def decimal(chosen):
    places = chosen.randrange(19)
    digits = str(chosen.randrange(10 ** chosen.randrange(1, 20)))
    if places:
        digits = digits.zfill(places + 1)
        digits = f"{digits[:-places]}.{digits[-places:]}"
    return chosen.choice(["", "", "-"]) + digits


def number(chosen):
    text = decimal(chosen)
    return Raw(text) if chosen.random() < 0.3 and text[0] != "-" else text


def time(chosen, per_second):
    seconds = chosen.choice([chosen.randrange(-62135596800, 253402300800), 1790000000, -1])
    counted = (seconds * per_second + chosen.randrange(per_second)) or 1
    return chosen.choice([counted, str(counted)])


def day(chosen):
    text = date.fromordinal(chosen.randrange(1, date.max.toordinal())).isoformat()
    return chosen.choice([text, text.replace("-", "/"), f"{text}T23:59:59+08:00"])


TEXTS = ["", "腾讯", "a\0b", "2026-11-29", "'; drop", 5, "\\u0000", "x\ty\n\\N"]
INTEGERS = [2**63 - 1, -(2**63), 2**53 + 1, "9007199254740993", 0, "-0", "5.0", 1e3]
VALID = {
    "t": lambda chosen: chosen.choice(TEXTS),
    "i": lambda chosen: chosen.choice([*INTEGERS, chosen.getrandbits(63)]),
    **dict.fromkeys("ndp", number),
    "f": lambda chosen: chosen.random() < 0.5,
    **{name: partial(time, per_second=count) for name, count in TIMES.items()},
    "day": day,
    "o": lambda chosen: {"a": chosen.randrange(9)} if chosen.random() < 0.7 else {},
    "empty": lambda _: {},
}


class Raw(str):
    """A number as JSON has it, with all its digits."""


def written(record):
    def text(value):
        return str(value) if isinstance(value, Raw) else json.dumps(value, ensure_ascii=False)

    return "{" + ",".join(f'"{name}":{text(value)}' for name, value in record.items()) + "}"


def records(seed, count):
    """Returns `count` records, and the number of values in them that are not of their field's
    kind."""
    chosen, made, wrong = random.Random(seed), [], 0
    for place in range(count):
        record = {"place": place}
        for name in KINDS:
            kind = chosen.random()
            if kind < 0.03 and name in INVALID:
                record[name] = chosen.choice(INVALID[name])
                wrong += 1
            elif kind < 0.10:
                record[name] = None
            elif kind < 0.95:
                record[name] = VALID[name](chosen)
        made.append(written(record))
    return made, wrong


@pytest.fixture(scope="module")
def made():
    return records(73, COUNT)


@pytest.fixture
def stored(archive, book, client, made):
    """Returns an archive that has these records."""
    rows, wrong = made
    body = f'{{"ret_code":0,"data":{{"list":[{",".join(rows)}]}}}}'
    book.failures[VALUES.path] = [Response(body=body.encode())]
    report = archive.update(client, lists=[(VALUES, {})])
    assert (report.new, report.unconverted) == (COUNT, wrong)
    assert str(wrong) in str(report)
    return archive


SELECTED = "place, " + ", ".join(KINDS)
QUERY = f"select {SELECTED} from random_values order by place"


def without_nul(archive, value):
    has_nul = archive._database.times_are_texts or not isinstance(value, str)
    return value if has_nul else value.replace("\0", "\ufffd")


def test_sql_has_the_values_and_types_of_the_frame(stored, tmp_path):
    pa = pytest.importorskip("pyarrow")
    frame = stored.seen(VALUES, {}).to_arrow(invalid="null")
    view = stored.sql(QUERY).to_arrow()
    assert view.column_names == frame.column_names
    for name in frame.column_names:
        one, other = frame[name], view[name]
        if name in ("o", "empty"):
            assert other.type == pa.string()
            assert all(map(same_object, one.to_pylist(), other.to_pylist()))
            continue
        if name in TIMES:
            one = one.cast(pa.timestamp("us", "UTC"))
        assert other.type == one.type, name
        expected = [without_nul(stored, value) for value in one.to_pylist()]
        assert other.to_pylist() == expected, name
    pandas, polars = stored.sql(QUERY).to_pandas(), stored.sql(QUERY).to_polars()
    wire = stored.seen(VALUES, {}).to_pandas(invalid="null")
    for name in set(KINDS) - {"o", "empty", *TIMES}:
        assert pandas[name].dtype == wire[name].dtype, name
    assert polars.to_arrow().cast(view.schema).equals(view)
    for name in TIMES:
        assert str(pandas[name].dtype) == "datetime64[us, UTC]"
        assert polars[name].to_list() == view[name].to_pylist()


def test_duckdb_reads_the_result_of_sql(stored):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    view = stored.sql(QUERY).to_arrow()
    with duckdb.connect() as connection:
        connection.register("found", view)
        query = "select place, i, d, t, f, epoch_us(us), day from found order by place"
        rows = connection.execute(query).fetchall()
    plain = view.select(["place", "i", "d", "t", "f", "us", "day"])
    micros = plain["us"].cast("int64")
    plain = plain.set_column(5, "us", micros)
    assert rows == [*zip(*(column.to_pylist() for column in plain.columns), strict=True)]


def test_the_shell_of_the_database_has_the_values_of_the_frame(stored, target):
    pytest.importorskip("pyarrow")
    if target.startswith("postgres"):
        query = "copy (select place, i, n, d, p from random_values order by place) to stdout csv"
        setting = "set search_path to boardlot_archive"
        command = ["psql", "-q", target, "-c", setting, "-c", query]
    else:
        columns = "place, i, " + ", ".join(f"printf('%!.17g', {name})" for name in "ndp")
        given = ", ".join(f"case when {name} is null then null else 1 end" for name in "ndp")
        query = f"select {columns}, {given} from random_values order by place"
        command = ["sqlite3", "-csv", target, query]
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = [[value or None for value in row] for row in csv.reader(io.StringIO(out))]
    if not target.startswith("postgres"):
        # printf shows a null as 0.
        found = [
            [*row[:2], *(v if x else None for v, x in zip(row[2:5], row[5:], strict=True))]
            for row in found
        ]
    frame = stored.seen(VALUES, {}).to_arrow(invalid="null")
    expected = [*zip(*(frame[name].to_pylist() for name in "indp"), strict=True)]
    assert [
        (row[1] and int(row[1]), *(value and float(value) for value in row[2:])) for row in found
    ] == expected


def test_an_export_has_them_and_objects_without_members(stored, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "values.parquet"
    assert stored.export(VALUES, path, {}) == COUNT
    found, frame = parquet.read_table(path), stored.seen(VALUES, {}).to_arrow(invalid="null")
    for name in KINDS:
        if name == "empty":
            assert all(map(same_object, found[name].to_pylist(), frame[name].to_pylist()))
        elif name == "s":
            # Parquet has no seconds.
            assert found[name].cast(frame[name].type).equals(frame[name])
        else:
            assert found[name].equals(frame[name]), name


def test_an_export_without_rows_has_a_type_for_an_object(archive, client, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    archive.update(client, lists=[(VALUES, {})])
    assert archive.export(VALUES, tmp_path / "none.parquet") == 0
    assert str(parquet.read_schema(tmp_path / "none.parquet").field("empty").type) == "string"


def test_check_finds_what_could_not_be_converted(stored, made):
    found = [one for one in stored.check() if one.kind == "unconverted"]
    counted = {one.text.split()[5]: int(one.text.split()[0]) for one in found}
    assert sum(counted.values()) == made[1] and set(counted) <= set(INVALID)
    assert {one.list for one in found} == {"random_values"}
    assert check_columns(stored) == 2 * COUNT


def test_records_without_columns_are_found_and_their_rows_stay(archive, book, client):
    book.put_fills(3)
    archive.update(client, fills=[HK])
    ((table,),) = archive._database.read(
        "select columns_table from archive_columns where list = 'fills'"
    )
    with archive._database.transaction() as transaction:
        transaction.execute(f'delete from "{table}" where "@version" = 2')
    (found,) = archive.check()
    assert (found.kind, found.key) == ("columns", "281756 HK") and "1 record has" in found.text
    prices = archive.sql("select price from fills order by price").to_dicts()
    assert sorted(str(row["price"]) for row in prices) == ["388.2", "388.2", "None"]
    # The instruction as it is written, and as after a move to another database.
    with archive._database.transaction() as transaction:
        transaction.execute("delete from archive_columns")
    archive.update(client, ipos=["hk"])
    assert archive.check() == []
    check_columns(archive)


def test_a_fill_that_is_stored_again_before_its_read_ends_has_its_last_columns(
    archive, book, client
):
    """The first read fails after a page; the fills are read again, with other prices."""
    book.put_fills(4)
    book.page = 2

    def fail(number):
        if number == 0:
            book.failures[fills_path()] = [unavailable()]

    book.before_page = fail
    assert not archive.update(client, fills=[HK], on_error="collect")
    book.before_page = None
    assert archive._database.read("select count(*) from fill_versions") == [(2,)]
    for place, one in enumerate(served := book.fills[HK]):
        served[place] = {**one, "price": "1.5", "updated_time": one["updated_time"] + 1}
    archive.update(client, fills=[HK])
    archive.update(client, fills=[HK])
    rows = archive.sql("select price, record from fills").to_dicts()
    assert {row["price"] for row in rows} == {1.5} and len(rows) == 4
    check_columns(archive)


def test_a_value_of_a_fill_that_is_stored_again_in_its_read_is_counted_once(archive):
    """The fill has two values that are not prices, one after the other."""
    store = FillStore(archive._database, Series(*HK))
    store.begin(1, 9)

    def counted(updated, **values):
        one = fill(1, updated, **values)
        return store.store({"1": ("1", updated, "HK.1", json.dumps(one))}, "page").unconverted

    assert [counted(5, price="x"), counted(6, price="y"), counted(7, price="z", qty="z")] == [
        1,
        0,
        1,
    ]


def test_fills_that_a_first_read_meets_twice_are_stored_once(archive):
    """Pages that shift: a database that is handed many rows at once refuses all for one of them."""
    store = FillStore(archive._database, Series(*HK))
    store.begin(1, 200)

    def stored(numbers):
        rows = {str(n): (str(n), n, "HK.1", json.dumps(fill(n, n))) for n in numbers}
        return store.store(rows, f"page {numbers}")

    assert stored(range(1, 61)).new == 60
    assert stored(range(31, 101)).new == 40
    store.publish(1, 200, 200, whole_overlap=True)
    rows = archive.fills(*HK).all()
    assert [one["deal_id"] for one in rows] == [str(n) for n in range(100, 0, -1)]
    assert check_columns(archive) == 200


def test_a_damaged_record_has_no_columns_and_those_beside_it_do():
    typed = built_in()["fills"]
    rows = typed._converted(['{"qty":"5"}', "{damaged", '{"qty":"6"},{"qty":"7"}'])
    quantity = [name for name, *_ in typed.fields].index("qty") + 1
    assert [(row[0], row[quantity]) for row in rows] == [
        (None, 5.0),
        ("record", None),
        ("record", None),
    ]


def test_any_number_of_values_of_a_record_may_not_be_of_their_kind(archive, book, client):
    """The names of the fields together are longer than a value in an index may be."""
    names = [f"field_{hashlib.sha256(bytes([n])).hexdigest()}"[:60] for n in range(150)]
    wide = bl.Endpoint(
        "wide", "GET", "/api/v1.0/wide", rows="data.list", record=dict.fromkeys(names, "integer")
    )
    book.lists[wide.path] = [dict.fromkeys(names, "x")]
    assert archive.update(client, lists=[(wide, {})]).unconverted == 150


def test_another_set_of_built_in_columns_is_another_format():
    """Two versions of one format have the same columns, so neither takes the archive back. If this
    fails, raise the format, and record the digest of its columns here."""
    found = digest(json.dumps([typed.table for typed in built_in().values()]))
    assert {FORMAT: found} == {2: "b1d13c06ec2438bf"}


def endpoint(**record):
    path = "/api/v1.0/quote/{symbol}/history-kline"
    return bl.Endpoint("kline", "GET", path, rows="data.list", record=record)


def test_the_columns_of_an_endpoint_follow_its_fields(archive, book, client):
    """All records that were stored get a new table in place of the old one."""
    key = {"symbol": "HK.00700"}
    rows = [{"day": f"2026-01-{n:02}", "close": f"{n}.5"} for n in range(1, 29)]
    book.lists["/api/v1.0/quote/HK.00700/history-kline"] = rows
    archive.update(client, lists=[(endpoint(day="date"), key)])
    report = archive.update(client, lists=[(endpoint(day="date", close="decimal"), key)])
    assert report.unchanged == 28
    assert archive.sql("select sum(close) as n from kline").to_dicts() == [{"n": 420.0}]
    assert check_columns(archive) == 56
    # The old table is gone.
    names = "select relname from pg_class where relkind = 'r' and relname like '{}'"
    if archive._database.times_are_texts:
        names = "select name from sqlite_master where type = 'table' and name like '{}'"
    assert len(archive._database.read(names.format("archive_columns_kline%"))) == 1


def test_a_writer_of_other_columns_is_stopped_in_words(archive, book, client):
    """A version that is still connected is stopped once another version has made other columns."""
    book.put_fills(3)
    archive.update(client, fills=[HK])
    with archive._database.transaction() as transaction:
        transaction.execute("update archive_columns set columns_table = 'x' where list = 'fills'")
    store = FillStore(archive._database, Series(*HK))
    new = fill(9, book.now() - 5)
    with pytest.raises(bl.StoreError, match="migrated by a newer boardlot"):
        store.correct({"9": ("9", new["updated_time"], None, json.dumps(new))}, book.now())
    assert len(archive.fills(*HK)) == 3


NO_FIELDS = ['[["day","moon",""]]', '[["day"]]', '[["day",5,""]]', "[5]", "5", "null", "{", '"']


def test_fields_that_are_none_are_an_error_in_words(archive, target, book, client):
    """Of a damaged archive, or of a newer version."""
    path = "/api/v1.0/quote/HK.00700/history-kline"
    book.lists[path] = [{"day": "2026-01-02"}]
    lists = [(endpoint(day="date"), {"symbol": "HK.00700"})]
    archive.update(client, lists=lists)
    for fields in NO_FIELDS:
        with archive._database.transaction() as transaction:
            transaction.execute("update endpoints set fields = ?", (fields,))
            transaction.execute("delete from archive_columns")
        for call in (lambda: archive.update(client, ipos=["hk"]), lambda: bl.Archive(target)):
            refused = pytest.raises(bl.StoreError, match="of the custom endpoint 'kline' that this")
            with refused as error:
                call()
            assert "Update boardlot" in error.value.hint and "backup" in error.value.hint
