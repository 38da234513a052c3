"""`.select`: the same records and pagers, restricted to some fields in a given order."""

import json
from decimal import Decimal

import boardlot as bl
import pytest
from boardlot import _core
from inline_snapshot import snapshot

from ..support.clients import client_of
from ..support.paged_service import CALLS, PagedList
from ..support.service import StandInService, response
from ..support.words import raises
from .orders import orders
from .parsed import parser

ORDERS = [
    {"order_id": "1", "qty": "100", "price": "350.200", "create_time": "1790000000123456"},
    {"order_id": "2", "qty": "", "price": "60.5", "create_time": "0", "new": 7},
]


def restricted(row, names):
    return {name: row[name] for name in names if name in row}


@pytest.mark.parametrize("indent", [None, 1], ids=["uniform", "spaced"])
def test_dicts_frames_and_schema_have_the_selected_fields_in_their_order(indent):
    names = ["price", "create_time", "order_id"]
    part = orders(*ORDERS, indent=indent).select(*names)
    assert part == [restricted(row, names) for row in ORDERS] and list(part[0]) == names
    assert [field.name for field in part.schema] == names
    table = part.to_arrow()
    types = ["double", "timestamp[us, tz=UTC]", "string"]
    found = [(one.name, str(one.type)) for one in table.schema]
    assert found == list(zip(names, types, strict=True))
    assert table["create_time"].null_count == 1
    assert list(part.to_pandas().columns) == part.to_polars().columns == names
    typed = part.to_dicts(typed=True)
    assert typed[1] == {"price": Decimal("60.5"), "create_time": None, "order_id": "2"}
    assert list(typed[0]) == names
    assert part[1:] == [part[1]] and "order_id" in repr(part) and "qty" not in repr(part)


def test_fields_that_no_schema_declares_can_be_selected_where_a_record_has_them():
    part = orders(*ORDERS).select("new", "order_id")
    assert part == [{"order_id": "1"}, {"new": 7, "order_id": "2"}]
    assert part.to_arrow().to_pydict() == {"new": [None, 7], "order_id": ["1", "2"]}
    # Declared, but in no record: absent from dicts, null in columns.
    assert orders(*ORDERS).select("status") == [{}, {}]
    assert orders(*ORDERS).select("status").to_arrow().to_pydict() == {"status": [None, None]}
    assert orders().select("qty", "side").to_arrow().column_names == ["qty", "side"]


def test_a_selection_can_be_narrowed_but_not_widened():
    part = orders(*ORDERS).select("qty", "price", "order_id").select("order_id", "qty")
    assert part == [{"order_id": "1", "qty": "100"}, {"order_id": "2", "qty": ""}]
    with raises(
        bl.ConfigError,
        snapshot("'price' is not a field of these records; expected one of order_id, qty"),
    ):
        part.select("price")


def test_an_unselected_value_is_never_created():
    rows = [{"order_id": "1", "qty": "5", "huge": 0}]
    body = json.dumps({"ret_code": 0, "data": {"orders": rows}}).replace("0}", "9" * 5000 + "}")
    read = parser("sim_orders", [("acc_id", "1")])
    body = body.replace(": ", ":").replace(", ", ",").encode()
    with pytest.raises(bl.ProtocolError, match="integer of 5000 digits"):
        read(body)  # Python itself refuses to make it.
    rows = _core._response_parser("sim_orders", [("acc_id", "1")])(body)
    assert rows.select("qty", "order_id").dicts() == [{"qty": "5", "order_id": "1"}]
    with pytest.raises(bl.ProtocolError, match="integer of 5000 digits"):
        rows.select("huge").dicts()


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("prise",), r"'prise' is not a field .* one of order_id, .*; did you mean 'price'\?"),
        ((), "at least one field"),
        (("qty", "price", "qty"), "'qty' is selected twice"),
        ((["qty", "price"],), "names is of type list"),
        ((5,), "names is of type int"),
        (("a\x1b[31m",), r"a\\u\{1b\}"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_rejected(names, reason):
    pager = bl.Pager(
        _core._pages_of_bodies("fills_history", [("acc_id", "1"), ("trd_market", "HK")], [])
    )
    with pytest.raises(bl.ConfigError, match=reason):
        orders(*ORDERS).select(*names)
    with pytest.raises(bl.ConfigError, match=reason.replace("order_id", "trd_side")):
        pager.select(*names)
    assert pager.requests == 0


def test_views_of_one_pager_share_its_position():
    book = PagedList("fills_history", [5, 80])
    args, kwargs = CALLS["fills_history"]
    with StandInService(book) as server, client_of(server) as client:
        pager = client.fills_history(*args, **kwargs)
        part = pager.select("code")
        codes = [row["code"] for row in book.rows]
        seen = [next(part)["code"], next(pager)["code"], next(pager)["code"], next(part)["code"]]
        seen += [row["code"] for row in part.all(max_items=10)]
        seen += [next(part)["code"], next(pager)["code"]]
        table = part.to_arrow()
        assert table.column_names == ["code"]
        assert seen + table["code"].to_pylist() == codes


def test_the_key_of_many_is_a_field_like_the_others():
    dividend = {"fiscal_year": "2025", "dividend_per_share": 1.5, "symbol": "own"}
    body = {"ret_code": 0, "data": {"dividend_list": [dividend]}}
    with StandInService(lambda _: response(body)) as server, client_of(server) as client:
        many = client.fetch_many("dividends", ["HK.00700", "HK.00005"])
    names = list(many[0])
    assert names[0] == "symbol" and many[0]["symbol_"] == "own"
    assert many.select("dividend_per_share") == [{"dividend_per_share": 1.5}] * 2
    part = many.select("symbol_", "symbol")
    assert part == [{"symbol_": "own", "symbol": code} for code in ("HK.00700", "HK.00005")]
    assert part.to_arrow().to_pylist() == part
    assert part.to_arrow().column_names == ["symbol_", "symbol"]
    assert part.errors == many.errors == {} and part.meta == many.meta
