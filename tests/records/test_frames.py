"""Frames of records: types, nulls, exactness, and the words where a library is missing."""

import json
import sys
from decimal import Decimal

import boardlot as bl
import pytest
from boardlot import _core

from ..support.bodies import result_of_body
from ..support.clients import client_of
from ..support.service import StandInService, response

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

BIG = 2**63 - 1
KINDS = {
    "code": "text", "whole": "integer", "part": "integer", "number": "number", "flag": "flag",
    "maybe": "flag", "price": "decimal", "s": "seconds", "ms": "millis", "us": "micros",
    "day": "date", "pair": "object",
}  # fmt: skip
ROWS = [
    {
        "code": "HK.1", "whole": BIG, "part": BIG, "number": 1.5, "flag": True, "maybe": True,
        "price": "0.1", "s": 1, "ms": 1, "us": "1", "day": "2026-01-02", "pair": {"base": "BTC"},
    },
    {
        "code": None, "whole": 1 - BIG, "part": None, "number": None, "flag": False, "maybe": None,
        "price": "", "s": 0, "ms": 0, "us": "", "day": "--", "pair": None,
    },
]  # fmt: skip


def records(*rows, kinds=KINDS):
    endpoint = bl.Endpoint("things", "GET", "/things", rows="data.list", record=kinds)
    body = {"ret_code": 0, "data": {"list": rows}}
    with StandInService([response(body)]) as server, client_of(server) as client:
        return client.call(endpoint)


def test_pandas_types_and_nulls():
    frame = records(*ROWS).to_pandas()
    assert list(frame.columns) == list(KINDS)
    dtypes = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert dtypes.pop("code") in ("str", "object")
    assert dtypes == {
        "whole": "int64",
        "part": "Int64",
        "number": "float64",
        "flag": "bool",
        "maybe": "boolean",
        "price": "float64",
        "s": "datetime64[s, UTC]",
        "ms": "datetime64[ms, UTC]",
        "us": "datetime64[us, UTC]",
        "day": "datetime64[ms]",
        "pair": "object",
    }
    assert frame["whole"].tolist() == [BIG, 1 - BIG]
    assert frame["part"][0] == BIG and frame["part"][1] is pd.NA
    assert frame["us"][0] == pd.Timestamp(1, unit="us", tz="UTC")
    assert frame["day"][0] == pd.Timestamp("2026-01-02")
    assert frame.loc[1].isna().tolist() == [name not in ("whole", "flag") for name in KINDS]
    assert str(records().to_pandas()["us"].dtype) == "datetime64[us, UTC]"


def test_pandas_data_can_be_written_to():
    kept = records({"n": 1.0, "i": 1}, kinds={"n": "number", "i": "integer"})
    frame = kept.to_pandas()
    frame.loc[0, "n"] = 2.0
    frame["i"] += 1
    assert frame.loc[0].tolist() == [2.0, 2.0]
    assert kept.to_pandas().loc[0].tolist() == [1.0, 1.0]


def test_exact_decimals():
    rows = [{"price": "0.1"}, {"price": "123456789012345678.0000000001"}, {"price": ""}]
    kept = records(*rows, kinds={"price": "decimal"})
    prices = kept.to_pandas(decimals="decimal")["price"]
    assert prices[0] == Decimal("0.1") and prices[2] is None
    assert prices.sum() == Decimal("123456789012345678.1000000001")
    assert (prices * prices)[0] == Decimal("0.01")
    strings = kept.to_pandas(decimals="string")["price"]
    assert strings.tolist() == ["0.1", "123456789012345678.0000000001", ""]


def test_polars_types_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = records(*ROWS).to_polars()
    types = [pl.String, pl.Int64, pl.Int64, pl.Float64, pl.Boolean, pl.Boolean, pl.Float64]
    types += [pl.Datetime("ms", "UTC"), pl.Datetime("ms", "UTC"), pl.Datetime("us", "UTC"), pl.Date]
    assert frame.schema == dict(zip(KINDS, [*types, frame.schema["pair"]], strict=True))
    assert frame["part"].to_list() == [BIG, None]
    exact = records(*ROWS).to_polars(decimals="decimal")
    assert exact["price"].to_list() == [Decimal("0.1"), None]
    assert records().to_polars().shape == (0, len(KINDS))


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars"])
def test_wrong_words_are_named(method):
    for option, said in {
        "decimals": "expected 'float64', 'decimal' or 'string'",
        "invalid": "expected 'raise' or 'null'",
    }.items():
        with pytest.raises(bl.ConfigError, match=f"{option} is 'exact'; {said}"):
            getattr(records(), method)(**{option: "exact"})


def test_pandas_needs_pyarrow_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"to_pandas\(\) needs pyarrow: pip install") as caught:
        records().to_pandas()
    assert caught.value.name == "pyarrow"


def long_pager(last):
    """Two pages of fills, the first longer than a part of the columns."""

    def page(fills, flag, completed):
        body = {"order_fills": fills, "page_flag": flag, "completed": completed}
        return json.dumps({"s": "ok", "d": body}, separators=(",", ":")).encode()

    many = [{"deal_id": str(n), "price": f"{n}.5", "updated_time": n + 1} for n in range(70_000)]
    arguments = [("acc_id", "1"), ("trd_market", "HK"), ("end", 1_790_000_000_000_000)]
    bodies = [page(many, "more", False), page(last, "", True)]
    return many, bl.Pager(_core._pages_of_bodies("fills_history", arguments, bodies))


def test_columns_that_grow_in_parts_are_one_frame():
    last = [{"deal_id": "last", "price": "", "unknown": True, "updated_time": 0}]
    many, pager = long_pager(last)
    table = pager.to_arrow()
    expected = [(fill["deal_id"], float(fill["price"]), None) for fill in many]
    columns = (table[name].to_pylist() for name in ("deal_id", "price", "unknown"))
    assert list(zip(*columns, strict=True)) == [*expected, ("last", None, True)]
    assert table["updated_time"].null_count == 1


def test_a_value_in_a_later_part_is_named_by_its_place_in_the_whole():
    _, pager = long_pager([{"deal_id": "a"}, {"deal_id": "b", "price": "much"}])
    with pytest.raises(bl.ProtocolError, match="price of record 70001 is"):
        pager.to_arrow()


SANDBOX = {"fills": 120}


def described(records):
    """The metadata by the schema of the records."""
    words = {"unit": "unit", "kind": "kind", "description": "doc"}
    return {
        field.name: {name.encode(): getattr(field, of).encode() for name, of in words.items()}
        for field in records.schema
    }


def of_schema(schema):
    return {field.name: field.metadata for field in schema}


RECORDS = {
    "dividends": lambda c: c.dividends("HK.00700"),
    "ipos": lambda c: c.ipo_list("hk"),
    "fills": lambda c: c.fills_history("281756", "HK").all(),
    "keys": lambda c: c.fetch_many("dividends", ["HK.00700"]),
    "selected": lambda c: c.dividends("HK.00700").select("ex_date", "dividend_per_share"),
    "none": lambda c: c.dividends("HK.00700")[:0],
}


@pytest.mark.parametrize("read", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("decimals", ["float64", "decimal", "string"])
def test_the_metadata_are_those_of_the_schema(client, read, decimals):
    records = read(client)
    expected = described(records)
    assert of_schema(records.to_arrow(decimals=decimals).schema) == expected
    assert of_schema(records.to_arrow().schema) == expected


def test_a_stream_of_pages_has_the_same_metadata(client):
    expected = described(client.fills_history("281756", "HK").all())
    stream = pa.RecordBatchReader.from_stream(client.fills_history("281756", "HK"))
    batches = client.fills_history("281756", "HK").record_batches()
    for each in (stream, *stream, *batches):
        assert of_schema(each.schema) == expected


def test_members_of_objects_are_described_and_undeclared_fields_are_not(client):
    orders = [{"order_id": "1", "unheard": 2}]
    data = {"orders": orders, "page_flag": "", "completed": True}
    body = json.dumps({"code": 0, "msg": "success", "data": data}).encode()
    records = result_of_body(body, lambda client: client.crypto_orders("1").all())
    schema = records.to_arrow().schema
    assert schema.field("unheard").metadata is None
    pair = [field.type for field in schema if pa.types.is_struct(field.type)]
    assert pair and all(member.metadata[b"kind"] for struct in pair for member in struct)
