"""The columns of `Records` are those of its rows as they are: changed, added and removed."""

import json
import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum

import boardlot as bl
import pytest

from ..support.bodies import result_of_body

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pytest.importorskip("polars")
np = pytest.importorskip("numpy")

NOON = datetime(2026, 1, 2, 4, 0, 0, 5, tzinfo=timezone.utc)
UTC_MICROS = pa.timestamp("us", "UTC")


def orders():
    rows = [
        {"order_id": "7", "side": 1, "price": "350.20", "create_time": "1790000000123456"},
        {"order_id": "8", "side": 2, "price": "", "create_time": "0", "more": {"a": 1}},
    ]
    body = json.dumps({"ret_code": 0, "data": {"orders": rows}}).encode()
    return result_of_body(body, lambda client: client.sim_orders("1"))


class Color(Enum):
    RED = "red"


ADDED = {
    "bools": ([True, None], pa.bool_(), [True, None]),
    "ints": ([5, -(1 << 63)], pa.int64(), [5, -(1 << 63)]),
    "ints of any size": ([1 << 70, 5], pa.string(), ["1180591620717411303424", "5"]),
    "floats": ([1.5, 2], pa.float64(), [1.5, 2.0]),
    "infinities": ([math.inf, -math.inf], pa.float64(), [math.inf, -math.inf]),
    "an infinity and an int": ([math.inf, 2], pa.float64(), [math.inf, 2.0]),
    "texts": (["1.5", 'a"\\\n\x00é'], pa.string(), ["1.5", 'a"\\\n\x00é']),
    "decimals": ([Decimal("1.50"), None], pa.float64(), [1.5, None]),
    "a decimal and an int": ([Decimal("1.50"), 2], pa.float64(), [1.5, 2.0]),
    "times": ([NOON, None], UTC_MICROS, [NOON, None]),
    "times of another zone": (
        [NOON.astimezone(timezone(timedelta(hours=8))), None],
        UTC_MICROS,
        [NOON, None],
    ),
    "dates": ([date(2026, 1, 2), None], pa.date32(), [date(2026, 1, 2), None]),
    "an enum": ([Color.RED, bl.SimSide.BUY], pa.string(), ["red", "1"]),
    "an enum of ints": ([bl.SimSide.BUY, 2], pa.int64(), [1, 2]),
    "dicts": ([{"a": 1}, {"a": NOON}], pa.string(), ['{"a":1}', f'{{"a":"{NOON.isoformat()}"}}']),
    "lists": ([[1, 2.5], []], pa.string(), ["[1,2.5]", "[]"]),
    "numbers and texts": ([1e-05, "a"], pa.string(), ["1e-05", "a"]),
    "times and texts": ([NOON, "a"], pa.string(), [NOON.isoformat(), "a"]),
    "nothing": ([None, None], pa.string(), [None, None]),
    "bools of numpy": ([np.True_, None], pa.bool_(), [True, None]),
    "ints of numpy": ([np.int64(5), np.uint8(7)], pa.int64(), [5, 7]),
    "ints of numpy of any size": (
        [np.uint64((1 << 64) - 1), 5],
        pa.string(),
        ["18446744073709551615", "5"],
    ),
    "floats of numpy": ([np.float32(1.5), np.float16(2)], pa.float64(), [1.5, 2.0]),
    "wide floats of numpy": ([np.float64(3), np.longdouble(4)], pa.float64(), [3.0, 4.0]),
    "an infinity of numpy and an int": (
        [np.float32("inf"), np.int8(2)],
        pa.float64(),
        [math.inf, 2.0],
    ),
    "texts of numpy": ([np.str_("a"), None], pa.string(), ["a", None]),
    "numbers of numpy in others": (
        [[np.int64(1), np.float32(2.5)], {"a": np.True_, "b": pd.NA}],
        pa.string(),
        ["[1,2.5]", '{"a":true,"b":null}'],
    ),
    "a missing time": ([NOON, pd.NaT], UTC_MICROS, [NOON, None]),
    "a missing time of numpy": ([NOON, np.datetime64("NaT")], UTC_MICROS, [NOON, None]),
    "missing values": ([np.int64(1), pd.NA], pa.int64(), [1, None]),
    "missing values alone": ([pd.NA, pd.NaT], pa.string(), [None, None]),
}


@pytest.mark.parametrize(("values", "kind", "expected"), ADDED.values(), ids=ADDED)
def test_an_added_field_is_a_column_by_its_values(values, kind, expected):
    records = orders()
    for row, value in zip(records, values, strict=True):
        row["added"] = value
    table = records.to_arrow()
    assert table.schema.field("added").type == kind
    assert table["added"].to_pylist() == expected
    # The service's own fields are as before, undeclared ones behind them.
    assert table.drop(["added"]).equals(orders().to_arrow())


def test_a_nan_stays_one():
    records = orders()
    records[0]["added"], records[1]["added"] = math.nan, 1.5
    assert math.isnan(records.to_polars()["added"][0]) and records.to_polars()["added"][1] == 1.5
    assert math.isnan(records.to_arrow()["added"][0].as_py())
    records[0]["price"] = math.nan
    assert math.isnan(records.to_arrow()["price"][0].as_py())


@pytest.mark.parametrize("infinity", [math.inf, Decimal("Infinity")])
def test_a_float_that_json_lacks_has_its_name_among_texts(infinity):
    records = orders()
    records[0]["price"], records[1]["price"] = infinity, -infinity
    records += orders()
    records[3]["price"] = math.nan
    texts = ["Infinity", "-Infinity", "350.20", "NaN"]
    assert records.to_arrow(decimals="string")["price"].to_pylist() == texts
    assert records.to_polars(decimals="string")["price"].to_list() == texts
    assert records.to_pandas(decimals="string")["price"].tolist() == texts
    floats = records.to_arrow()["price"].to_pylist()
    assert floats[:3] == [math.inf, -math.inf, 350.2] and math.isnan(floats[3])


def test_the_text_of_a_decimal_that_the_service_sends_is_as_it_was_sent():
    prices = ["\0x", 'a"b', 1000.0]
    body = json.dumps({"ret_code": 0, "data": {"orders": [{"price": price} for price in prices]}})
    records = result_of_body(body.encode(), lambda client: client.sim_orders("1"))
    expected = ["\0x", 'a"b', "1000.0"]
    assert records.to_arrow(decimals="string")["price"].to_pylist() == expected


def test_an_infinity_that_the_service_sends_is_not_of_an_integers_kind():
    body = b'{"ret_code":0,"data":{"orders":[{"side":1},{"side":1e400}]}}'
    records = result_of_body(body, lambda client: client.sim_orders("1"))
    assert records[1]["side"] == math.inf
    with pytest.raises(bl.ProtocolError, match='side of record 1 is "inf"'):
        records.to_arrow()
    assert records.to_arrow(invalid="null")["side"].to_pylist() == [1, None]
    records[1]["side"] = math.nan
    assert records.to_arrow().schema.field("side").type == pa.float64()


def test_changed_values_of_a_declared_field_fit_its_column():
    records = orders()
    records[0]["price"], records[1]["price"] = Decimal("1.25"), 2.5
    records[0]["create_time"] = NOON
    table = records.to_arrow()
    assert table.schema.equals(orders().to_arrow().schema, check_metadata=True)
    assert table["price"].to_pylist() == [1.25, 2.5]
    assert table["create_time"].to_pylist() == [NOON, None]
    exact = records.to_arrow(decimals="decimal")["price"].to_pylist()
    assert exact == [Decimal("1.25"), Decimal("2.5")]
    assert records.to_arrow(decimals="string")["price"].to_pylist() == ["1.25", "2.5"]


def test_values_of_another_kind_make_another_column():
    records = orders()
    for row in records:
        row["price"] = date(2026, 1, 2)
    assert records.to_arrow().schema.field("price").type == pa.date32()


def test_removed_fields_are_null_and_removed_rows_are_gone():
    records = orders()
    del records[0]["price"], records[1]
    table = records.to_arrow()
    assert table.num_rows == 1 and table["price"].to_pylist() == [None]
    records.clear()
    empty = records.to_arrow()
    assert empty.num_rows == 0 and set(empty.column_names) == set(table.column_names)


def test_a_list_of_the_callers_own_has_the_columns_of_its_values():
    records = bl.Records([{"a": 1, "t": NOON}, {"a": None, "b": "x"}])
    assert records.schema == () and records.meta == {}
    assert records.to_arrow().schema.names == ["a", "t", "b"]
    assert records.to_polars().rows() == [(1, NOON, None), (None, None, "x")]
    assert bl.Records().to_arrow().num_columns == 0


WRONG = {
    "an object": (object(), "row 1 of 'added' is of type object; expected None, a bool"),
    "bytes": (b"x", "row 1 of 'added' is of type bytes"),
    "a set": ({1}, "row 1 of 'added' is of type set"),
    "a complex number": (1j, "row 1 of 'added' is of type complex"),
    "a naive datetime": (datetime(2026, 1, 1), "row 1 of 'added' is a naive datetime"),
    "a lone surrogate": ("\ud800", "row 1 of 'added' is not Unicode text"),
    "a nested object": ([object()], "row 1 of 'added' is of type object"),
}


@pytest.mark.parametrize(("value", "text"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("to", ["to_pandas", "to_polars", "to_arrow"])
def test_a_value_that_no_column_has_is_named_with_its_row_and_field(value, text, to):
    records = orders()
    records[1]["added"] = value
    with pytest.raises(bl.ConfigError) as raised:
        getattr(records, to)()
    assert str(raised.value).startswith(text)


def test_what_is_no_row_is_named():
    records = orders()
    records.append("row")
    with pytest.raises(bl.ConfigError, match="row 2 is of type str; expected a dict"):
        records.to_arrow()
    records[2] = {5: 1}
    with pytest.raises(bl.ConfigError, match="row 2 is a dict with a key that is not a str"):
        records.to_arrow()


def test_a_time_that_is_finer_than_its_field_is_not_cut_off():
    fill = [{"fill_id": "1", "create_time": 1_790_000_000}, {"fill_id": "2", "create_time": NOON}]
    endpoint = bl.Endpoint("fills", "GET", "/fills", rows="data", record={"create_time": "seconds"})
    body = json.dumps({"code": 0, "data": fill[:1]}).encode()
    records = result_of_body(body, lambda client: client.call(endpoint))
    records.append(fill[1])
    with pytest.raises(
        bl.ConfigError, match="row 1 of 'create_time' is a datetime that is more precise"
    ):
        records.to_arrow()
    del records[0]
    assert records.to_arrow().schema.field("create_time").type == UTC_MICROS


def test_a_value_of_the_service_that_is_not_of_its_kind_is_the_services_mistake():
    records = orders()
    records[0]["price"] = "dear"
    with pytest.raises(bl.ProtocolError, match='price of record 0 is "dear"'):
        records.to_arrow()
    assert records.to_arrow(invalid="null")["price"].to_pylist() == [None, None]


def test_typed_dicts_and_instances_are_of_the_rows_as_they_are():
    records = orders()
    records[0]["price"] = Decimal("1.25")
    records[0]["seen"] = NOON
    typed = records.to_dicts(typed=True)[0]
    assert typed["price"] == Decimal("1.25") and typed["seen"] == NOON
    assert records.to_dicts() == list(records) and type(records.to_dicts()) is list


def test_the_columns_of_a_list_and_of_its_pages_are_equal():
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        account = sandbox.accounts["trade"][0]
        pager, records = (client.fills_history(account, "HK") for _ in range(2))
        assert records.all().to_arrow().equals(pager.to_arrow(), check_metadata=True)
        many = client.fetch_many("dividends", ["HK.00700", "US.AAPL"])
        assert many.to_arrow().column_names[0] == "symbol"
        assert many.select("symbol", "ex_date").to_arrow().column_names == ["symbol", "ex_date"]
