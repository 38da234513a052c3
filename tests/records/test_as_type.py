"""`.as_type(T)`: rows as instances of a class, each field converted to its annotation."""

import dataclasses
import gc
import sys
import typing
import weakref
from collections import namedtuple
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import ClassVar, Final, NamedTuple, TypedDict

import boardlot as bl
import msgspec
import pytest
from boardlot import _core
from inline_snapshot import snapshot

from ..support.words import raises
from .orders import ORDER, TIME, Side, orders

FIELDS = [("order_id", str), ("price", Decimal), ("create_time", datetime), ("note", str, "none")]


class Tuple(NamedTuple):
    order_id: str
    price: Decimal
    create_time: datetime
    note: str = "none"


Plain = dataclasses.make_dataclass("Plain", FIELDS)
Frozen = dataclasses.make_dataclass("Frozen", FIELDS, frozen=True, slots=True)
Keywords = dataclasses.make_dataclass("Keywords", FIELDS[::-1], kw_only=True)
Struct = msgspec.defstruct("Struct", FIELDS, frozen=True)


class Own:  # noqa: PLW1641
    order_id: str
    price: Decimal
    create_time: datetime
    note: str = "none"

    def __init__(self, *, order_id, price, create_time, note="none"):
        self.all = (order_id, price, create_time, note)

    def __eq__(self, other):
        return self.all == other.all


class Typed(TypedDict):
    order_id: str
    price: Decimal
    create_time: datetime


CLASSES = [Tuple, Plain, Frozen, Keywords, Struct, Own, Typed]


@pytest.mark.parametrize("indent", [None, 1], ids=["uniform", "spaced"])
@pytest.mark.parametrize("cls", CLASSES)
def test_rows_equal_what_the_class_itself_makes_of_the_values(cls, indent):
    rows = orders(ORDER, {**ORDER, "order_id": "8"}, {**ORDER, "price": "-0.5"}, indent=indent)
    values = {"price": Decimal("350.20"), "create_time": TIME}
    expected = [
        cls(**values, order_id="7"),
        cls(**values, order_id="8"),
        cls(**{**values, "price": Decimal("-0.5")}, order_id="7"),
    ]
    made = rows.as_type(cls)
    assert type(made) is list and made == expected
    assert [type(row) for row in made] == [cls if cls is not Typed else dict] * 3
    if cls not in (Own, Typed):
        assert repr(made) == repr(expected)
    if cls in (Tuple, Frozen, Struct):
        assert [hash(row) for row in made] == [hash(row) for row in expected]
    assert rows[:0].as_type(cls) == [] and orders().as_type(cls) == []


class Meta(type):
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.touched = True
        return made


# Code that looks generated: of a file without a name, as in `python -c`.
LOOKALIKE = """
@dataclass
class Lookalike:
    order_id: str
    side: int
    def __init__(self, order_id: str, side: int):
        self.order_id = order_id
        self.side = side + side
"""


def own_code():
    @dataclass
    class PostInit:
        order_id: str
        side: int

        def __post_init__(self):
            self.side += 1

    @dataclass
    class Called(metaclass=Meta):
        order_id: str
        side: int

    @dataclass
    class Late:
        order_id: str
        side: int
        double: int = field(init=False)
        scale: dataclasses.InitVar[int] = 2

        def __post_init__(self, scale):
            self.double = self.side * scale

    class OwnInit(NamedTuple("Base", [("order_id", str), ("side", int)])):
        def __new__(cls, order_id, side):
            return super().__new__(cls, order_id, side * 5)

    class Undecorated(PostInit):
        def __init__(self, order_id, side):
            super().__init__(order_id, -side)

    exec(LOOKALIKE, namespace := {"dataclass": dataclass, "__name__": __name__})
    return [PostInit, Called, Late, OwnInit, Undecorated, namespace["Lookalike"]]


@pytest.mark.parametrize("cls", own_code(), ids=lambda cls: cls.__name__)
def test_code_of_the_class_runs(cls):
    expected = cls(order_id="7", side=1)
    (made,) = orders(ORDER).as_type(cls)
    assert type(made) is cls and repr(made) == repr(expected)
    assert getattr(made, "__dict__", None) == getattr(expected, "__dict__", None)


def test_a_field_that_a_record_lacks_takes_its_default_or_is_named():
    @dataclass
    class Made:
        order_id: str
        tags: list[str] = field(default_factory=list)
        note: str | None = None

    first, second = orders(ORDER, ORDER).as_type(Made)
    assert first == Made("7") and first.tags is not second.tags
    # Each record for itself.
    rows = orders(ORDER, {**ORDER, "note": "x"}, {"note": "y", "order_id": "9"}).as_type(Made)
    assert rows == [Made("7"), Made("7", note="x"), Made("9", note="y")]

    with raises(
        bl.ConfigError,
        snapshot(
            "record 0 has no field 'prise'; expected it for Wrong.prise: give the attribute a"
            " default, or use one of order_id, side, qty, price, create_time, text, pair; did"
            " you mean 'price'?"
        ),
    ):
        orders(ORDER).as_type(dataclasses.make_dataclass("Wrong", [("prise", str)]))
    # The service left out what it documents.
    with raises(
        bl.ProtocolError,
        snapshot(
            "record 1 has no field 'price'; expected it for Plain.price: the service left it "
            "out; give the attribute a default"
        ),
    ):
        orders(ORDER, {"order_id": "8", "create_time": "1"}).as_type(Plain)
    # A selection hides a field from the class too.
    with pytest.raises(bl.ConfigError, match="no field 'price'"):
        orders(ORDER).select("order_id", "create_time").as_type(Plain)


@dataclass
class Qualified:
    order_id: Final[str]
    side: "Final[int | None]"
    kind: ClassVar[str] = "order"


Untyped = namedtuple("Untyped", "order_id side")
Renamed = msgspec.defstruct("Renamed", [("id", str), ("side", int)], rename={"id": "order_id"})


@pytest.mark.parametrize("cls", [Qualified, Untyped, Renamed])
def test_fields_are_those_that_the_class_itself_has(cls):
    assert orders(ORDER).as_type(cls) == [cls("7", 1)]


class PositionalOnly:
    order_id: str

    def __init__(self, order_id, /):
        self.order_id = order_id


class NoMembers(Enum):
    pass


def side_is(annotation):
    return dataclasses.make_dataclass("T", [("side", annotation)])


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (PositionalOnly, "PositionalOnly does not accept its fields as keywords"),
        (side_is(NoMembers), "NoMembers, which has no members"),
        (side_is("1 +"), "annotations of T cannot be read"),
        (5, "T is 5; expected a dataclass"),
        (int, "int has no annotated fields"),
        (Tuple("1", Decimal(1), TIME), "T is Tuple"),
        (side_is(complex), "T.side is annotated as complex"),
        # What a subclass of one's own is made of, only its constructor knows.
        *((side_is(type("Own", (known,), {})), "annotated as .*Own") for known in (datetime, date)),
        (side_is(int | str), r"T.side is annotated as int \| str"),
        (side_is("Unknown"), "'Unknown' is not defined"),
    ],
)
def test_a_class_that_rows_cannot_become_is_rejected_before_anything_is_sent(cls, reason):
    pager = bl.Pager(
        _core._pages_of_bodies("fills_history", [("acc_id", "1"), ("trd_market", "HK")], [])
    )
    for rows in (orders(ORDER), pager):
        with pytest.raises(bl.ConfigError, match=reason):
            rows.as_type(cls)
    assert pager.requests == 0


def test_a_class_is_not_kept_alive():
    cls = dataclasses.make_dataclass("T", [("order_id", str), ("side", Side, Side.BUY)])
    assert orders(ORDER).as_type(cls)[0].order_id == "7"
    kept = weakref.ref(cls)
    del cls
    gc.collect()
    assert kept() is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing.NotRequired")
def test_a_key_that_is_not_required_may_be_missing_however_the_annotation_is_written():
    for note in ("typing.NotRequired[int]", typing.NotRequired[int]):
        cls = TypedDict("Noted", {"order_id": "str", "note": note})  # noqa: UP013
        assert orders(ORDER).as_type(cls) == [{"order_id": "7"}]
        assert orders({**ORDER, "note": 5}).as_type(cls) == [{"order_id": "7", "note": 5}]


def test_a_day_is_not_taken_from_a_point_in_time():
    day = dataclasses.make_dataclass("Day", [("create_time", date)])
    with raises(
        bl.ProtocolError,
        snapshot(
            'create_time of record 0 is "1790000000123456"; expected date for '
            "Day.create_time: annotate it as 'datetime', and take the date in a time zone of "
            "your choice"
        ),
    ):
        orders(ORDER).as_type(day)
