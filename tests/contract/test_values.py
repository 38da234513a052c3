"""Values that a declared kind accepts, the same in typed dicts and in columns, whatever is sent."""

import ast
import itertools
import json
from dataclasses import make_dataclass
from datetime import date, datetime, timezone
from enum import Enum
from pathlib import Path

import boardlot as bl
import polars as pl
import pytest
from boardlot import _records, frames

from ..records.parsed import parsed_rows, parser
from ..support.clients import client_of
from ..support.paged_service import page
from ..support.service import StandInService, response
from ..support.vectors import table
from .test_undocumented_forms import body_of

# Of each kind a field, with what reads the records that have it.
FILLS = ("fills_history", [("acc_id", "1"), ("trd_market", "HK"), ("end", 1_790_000_000_000_000)])
IPOS = ("ipo_list", [("market", "hk")])
ORDERS = ("crypto_orders", [("acc_id", "1")])
FIELDS = {
    "text": (IPOS, "name"),
    "integer": (FILLS, "counter_broker_id"),
    "number": (IPOS, "ipo_price_min"),
    "flag": (IPOS, "is_apply_started"),
    "decimal": (FILLS, "price"),
    "timestamp": (FILLS, "updated_time"),
    "millis": (IPOS, "apply_start_timestamp"),
    "date": (IPOS, "list_time"),
    "object": (ORDERS, "symbol_pair"),
    "count": (ORDERS, "trigger_time"),
}
TIME = 1_780_000_000_123_456


def body(rows, endpoint):
    """A response with these rows, whose JSON stays as it is."""
    return json.dumps(body_of(endpoint, ["@"])).replace('"@"', ",".join(rows)).encode()


def records(kind, values):
    (endpoint, arguments), field = FIELDS[kind]
    rows = [f'{{"{field}":{value}}}' for value in values]
    return parser(endpoint, arguments)(body(rows, endpoint)), field


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("integer", '"42"', 42),
        ("number", '"12.5"', 12.5),
        ("text", "5", "5"),
        ("text", "12345678901234567890123", "12345678901234567890123"),
        ("decimal", "6.5e4", 65000.0),
        ("date", '"2024-05-17 00:00:00"', date(2024, 5, 17)),
        ("date", '"2024/05/17T23:30:00.250+08:00"', date(2024, 5, 17)),
        ("date", '"--"', None),
        ("timestamp", '"0"', None),
        ("timestamp", f'"{TIME}"', datetime(2026, 5, 28, 20, 26, 40, 123456, timezone.utc)),
        ("integer", '""', None),
        # 2.5: `trigger_time` is 0 when none.
        *(("count", zero, None) for zero in ("0", '"0"', "0.0", "-0.0")),
        ("count", '"5"', 5),
    ],
)
def test_a_value_is_what_the_service_means_by_it(kind, value, expected):
    result, field = records(kind, [value])
    assert result.to_dicts(typed=True)[0][field] == expected
    assert result.to_arrow()[field][0].as_py() == expected
    if kind == "count":
        (row,) = result.as_type(make_dataclass("Row", [(field, int | None)]))
        assert getattr(row, field) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [(kind, f'"{text}"') for kind in ("integer", "number", "decimal")
     for text in ("NaN", "Infinity", "1_0", " 1 ", "\u0661")]
    + [("integer", "true"), ("integer", "1.5"), ("flag", "1"), ("flag", '"true"')]
    + [("date", "20240517"), ("millis", "253402300800000"), ("millis", str(2**63 - 1))]
    + [("timestamp", "253402300800000000")]
    + [("object", "5"), ("integer", "9" * 5000), ("number", "1e400")],
)  # fmt: skip
def test_what_is_not_of_the_kind_is_rejected_with_record_and_field(kind, value):
    # As pagers read them: a list has what Python's reader makes of a value.
    (endpoint, arguments), field = FIELDS[kind]
    text = body([f'{{"{field}":{one}}}' for one in ("null", value)], endpoint)
    result = parsed_rows(endpoint, arguments, text)
    reads = [
        result.typed_dicts,
        lambda: frames.to_arrow(result),
        lambda: frames.to_pandas(result),
        lambda: frames.to_polars(result),
        lambda: frames.to_arrow(result, decimals="decimal"),
    ]
    for read in reads:
        with pytest.raises(bl.ProtocolError, match=f"^{field} of record 1 is"):
            read()
    assert frames.to_arrow(result, invalid="null")[field].null_count == 2


def test_times_to_the_end_of_the_year_9999_can_be_shown_and_later_ones_are_rejected():
    last = 253_402_300_799_999_999
    result, field = records("timestamp", [str(last), "-62135596800000000"])
    pandas, polars = result.to_pandas()[[field]], result.to_polars().select(field)
    assert "9999-12-31" in str(pandas) and "9999-12-31" in str(polars)
    assert result.to_dicts(typed=True)[0][field] == datetime(
        9999, 12, 31, 23, 59, 59, 999999, timezone.utc
    )
    assert result.to_dicts(typed=True)[1][field].year == 1
    loose, _ = records("timestamp", [str(last + 1)])
    assert loose.to_pandas(invalid="null")[field].isna().all()


@pytest.mark.parametrize("value", ["9" * 5000, "-" + "9" * 5000, "[1,{}]".format("9" * 5000)])
@pytest.mark.parametrize("field", ["counter_broker_id", "of_no_schema"])
def test_an_integer_that_python_does_not_read_is_an_error_with_record_and_field(field, value):
    rows = [f'{{"{field}":1}}', f'{{"{field}":{value}}}']
    with pytest.raises(bl.ProtocolError, match=f"^{field} of record 1 is an integer of 5000"):
        parser(*FILLS)(body(rows, "fills_history"))
    result = parsed_rows(*FILLS, body(rows, "fills_history"))
    with pytest.raises(bl.ProtocolError, match=f"^{field} of record 1 is"):
        result.typed_dicts()
    if field == "of_no_schema":
        assert frames.to_arrow(result)[field].to_pylist() == ["1", value]
    else:
        with pytest.raises(bl.ProtocolError, match=f"^{field} of record 1 is"):
            frames.to_arrow(result)


def dividends(*rows):
    def serve(received):
        symbol = received.path.split("/")[4]
        data = {"dividend_list": [{**row, "statement": symbol} for row in rows]}
        return response({"ret_code": 0, "ret_msg": "success", "data": data})

    return serve


def test_a_field_named_like_the_key_column_is_renamed_and_the_key_wins():
    rows = [
        {"symbol": "theirs", "symbol_": 1, "symbols": True},
        {"symbol_": 2},
        {"symbol": "last", "symbol__": 3.5},
    ]
    with StandInService(dividends(*rows)) as server, client_of(server) as client:
        records = client.fetch_many("dividends", ["HK.1", "HK.2"])
        alone = client.dividends("HK.1")
    expected = [
        {"symbol": key, "symbol_": "theirs", "symbol__": 1, "symbols": True, "statement": key}
        if place == 0
        else {"symbol": key, "symbol__": 2, "statement": key}
        if place == 1
        else {"symbol": key, "symbol_": "last", "symbol___": 3.5, "statement": key}
        for key, place in itertools.product(["HK.1", "HK.2"], range(3))
    ]
    assert records == expected and list(records) == expected
    assert [records[place] for place in range(6)] == expected
    assert records.to_dicts(typed=True) == expected
    assert alone[0]["symbol"] == "theirs", "one key has no column of its own"
    declared = [field.name for field in records.schema]
    for frame in (records.to_arrow().to_pylist(), records.to_polars().to_dicts()):
        assert list(frame[0])[: len(declared)] == declared
        for row, wanted in zip(frame, expected, strict=True):
            assert {k: v for k, v in row.items() if v is not None} == wanted
    pandas = records.to_pandas()
    assert pandas.columns.is_unique and list(pandas["symbol"]) == [
        row["symbol"] for row in expected
    ]


def test_no_keys_of_an_endpoint_with_several_schemas_have_every_column_of_each():
    with StandInService(dividends()) as server, client_of(server) as client:
        empty = client.fetch_many("ipo_list", [])
        assert server.received == []
    names = [field.name for field in empty.schema]
    assert names[0] == "market" and len(names) == len(set(names))
    for record in (_records.HkIpo, _records.UsIpo, _records.MyIpo):
        assert set(record.__annotations__) <= set(names)
    assert empty == [] and list(empty.to_arrow().column_names) == names
    assert empty.to_polars().schema["list_time"] == pl.Date


def test_members_of_an_object_that_the_document_does_not_name_are_in_the_columns_too():
    pairs = [{"base": "BTC", "quote": "USD", "step": "0.1"}, None, {"base": "ETH", "tick": 5}, {}]
    rows = [json.dumps({"symbol_pair": pair}) for pair in pairs]
    result = parser(*ORDERS)(body(rows, "crypto_orders"))
    assert [row["symbol_pair"] for row in result] == pairs
    column = result.to_arrow()["symbol_pair"]
    assert [field.name for field in column.type][-2:] == ["step", "tick"]
    for pair, got in zip(pairs, column.to_pylist(), strict=True):
        wanted = pair and {**dict.fromkeys(got), **pair}
        assert got == wanted if pair else got is None or not any(got.values())
    assert result.to_polars()["symbol_pair"].struct.field("tick").to_list() == [None, None, 5, None]
    assert [row["symbol_pair"] for row in result.to_dicts(typed=True)] == pairs


BIG = 9007199254740993


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_integers_within_an_object_keep_all_their_bits_in_pandas(order):
    pair = {"symbol": "BTC/USD", "base": "BTC", "quote": "USD"}
    rows = [{"order_id": "1", "symbol_pair": {**pair, "extra": BIG}}]
    rows.append({"order_id": "2", "symbol_pair": pair})
    only = page("crypto_orders", [rows[place] for place in order], None)
    with StandInService([only]) as server, client_of(server) as client:
        frame = client.crypto_orders(7).to_pandas()
    extras = [pair["extra"] for pair in frame["symbol_pair"]]
    assert [repr(extras[place]) for place in order] == [str(BIG), "None"]


@pytest.mark.parametrize("frame", ["to_arrow", "to_pandas", "to_polars"])
@pytest.mark.parametrize("name", ["\0", "a\0b", "\0\0"])
def test_a_nul_in_a_name_is_another_character_in_frames(name, frame):
    """Arrow's C interface ends a name at its first NUL."""
    shown = name.replace("\0", "\ufffd")
    row = {name: 1, "symbol_pair": {name: 2}}
    only = page("crypto_orders", [row], None)
    with StandInService(lambda _: only) as server, client_of(server) as client:
        assert list(client.crypto_orders(7)) == [row]
        for records in (client.crypto_orders(7), client.crypto_orders(7).all()):
            found = getattr(records, frame)()
            [value], [pair] = list(found[shown]), list(found["symbol_pair"])
            pair = pair.as_py() if frame == "to_arrow" else pair
            assert int(str(value)) == 1 and int(pair[shown]) == 2
        selected = getattr(client.crypto_orders(7).select(name, undeclared=True), frame)()
        assert list(getattr(selected, "column_names", selected.columns)) == [shown]


def test_a_name_that_a_nul_makes_equal_to_another_gets_an_underscore():
    row = {"\ufffd": 1, "\0": 2, "\ufffd_": 3}
    only = page("crypto_orders", [row], None)
    with StandInService(lambda _: only) as server, client_of(server) as client:
        found = client.crypto_orders(7).to_arrow().to_pylist()[0]
    assert {name: found[name] for name in ("\ufffd", "\ufffd_", "\ufffd__")} == {
        "\ufffd": 1, "\ufffd_": 3, "\ufffd__": 2,
    }  # fmt: skip


# Sections 2.6, 2.7 and 4.2; of values that are words, the document says nothing more.
DESCRIBED = table("values")["descriptions of members"]


def test_members_are_described_in_the_documents_words_or_not_at_all():
    tree = ast.parse(Path(_records.__file__).read_text("utf-8"))
    sets = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for name, enum in vars(_records).items():
        if name in sets and issubclass(enum, Enum):
            texts = [node.value.value for node in sets[name].body if isinstance(node, ast.Expr)]
            assert "/".join(texts[1:]) == DESCRIBED.get(name, ""), name


# Section 2.10: what it says of some markets alone.
@pytest.mark.parametrize(("name", "words", "markets"), table("values")["said of some markets"])
def test_a_field_has_the_words_of_its_own_market(name, words, markets):
    none = response({"ret_code": 0, "data": {"list": []}})
    with StandInService(lambda _: none) as server, bl.Client(server.base_url) as client:
        for market in ("hk", "us", "cn", "sg", "my"):
            docs = [field.doc for field in client.ipo_list(market).schema if field.name == name]
            assert any(words in doc for doc in docs) == (market in markets), market
