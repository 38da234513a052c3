"""`Endpoint` and `load_endpoints`: what can be declared, and what the mistakes say."""

import copy
import datetime
import decimal
import pickle
import typing
from pathlib import Path

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.own_endpoints import KLINE
from ..support.words import raises

FILE = Path(__file__).with_name("kline.toml")


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_a_copy_is_equal_and_has_the_same_repr(copied):
    twin = copied(KLINE)
    assert (twin, hash(twin), repr(twin)) == (KLINE, hash(KLINE), repr(KLINE))
    assert copied(KLINE.paging) == KLINE.paging != bl.DateRange(before="time")
    assert bl.Endpoint("kline", "GET", KLINE.path) != KLINE and KLINE != 1


def test_the_repr_is_the_declaration():
    assert eval(repr(KLINE), {"Endpoint": bl.Endpoint, "DateRange": bl.DateRange}) == KLINE
    shown = (KLINE.name, KLINE.method, KLINE.rows, KLINE.doc, KLINE.record["time"])
    assert shown == ("kline", "GET", "data.kline_list", "Candles.", "seconds")


@pytest.mark.parametrize("name", ["end", "next", "before", "unique"])
def test_a_name_of_a_date_range_that_is_not_text_is_rejected_by_name(name):
    for value, expected in [(3, "of type int"), ("\ud800", "not valid Unicode")]:
        with pytest.raises(bl.ConfigError, match=f"{name} is {expected}"):
            bl.DateRange(**{"next": "a", name: value})


class Candle(typing.TypedDict, total=False):
    code: str
    time: typing.Annotated[int, "seconds"]
    day: datetime.date
    open: decimal.Decimal
    change: typing.Annotated[float, "percent"]
    volume: "int | None"
    closed: bool
    pair: dict[str, str]
    side: typing.Literal["BUY", "SELL"]


def test_a_typed_dict_declares_the_record():
    endpoint = bl.Endpoint("mine", "GET", "/mine", record=Candle)
    with bl.Sandbox() as sandbox, sandbox.client() as client:
        sandbox.serve(endpoint, [])
        schema = client.call(endpoint).schema
    kinds = "text timestamp date decimal number integer flag object text"
    assert [field.name for field in schema] == list(Candle.__annotations__)
    assert [field.kind for field in schema] == kinds.split()
    assert [field.unit for field in schema if field.name == "change"] == ["%"]
    assert pickle.loads(pickle.dumps(endpoint)) == endpoint


def test_a_datetime_in_a_typed_dict_needs_its_unit():
    class Timed(typing.TypedDict):
        at: datetime.datetime

    with raises(
        bl.ConfigError,
        snapshot(
            "record: Timed.at is a datetime; expected Annotated[int, 'seconds'], 'millis' or "
            "'micros'"
        ),
    ):
        bl.Endpoint("mine", "GET", "/mine", record=Timed)


def test_a_file_declares_the_same(tmp_path):
    assert bl.load_endpoints(FILE) == {"kline": KLINE} == bl.load_endpoints(str(FILE))
    (tmp_path / "empty.toml").touch()
    assert bl.load_endpoints(tmp_path / "empty.toml") == {}


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(bl.ConfigError, match=r"missing\.toml"):
        bl.load_endpoints(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(bl.ConfigError, match=r"binary.toml is not valid UTF-8"):
        bl.load_endpoints(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    "declaration",
    [
        *({"record": {"a\0b": "text"}}, {"record": typing.TypedDict("Row", {"a\0b": str})}),
        *({"rows": "data.a\0b"}, {"path": "/a\0b"}, {"arguments": {"a\0b": "text"}}),
        *({"paging": bl.DateRange("a\0b", before="day")}, {"paging": bl.DateRange(before="a\0b")}),
        {"paging": bl.DateRange(next="extra.a\0b")},
        {"paging": bl.DateRange(before="day", unique="a\0b")},
    ],
)
def test_a_name_with_u_0000_is_rejected_by_its_name(declaration):
    (named,) = declaration
    with pytest.raises(bl.ConfigError, match=rf"Endpoint 'mine': {named}.*a\\0b"):
        bl.Endpoint("mine", "GET", **{"path": "/mine", **declaration})
