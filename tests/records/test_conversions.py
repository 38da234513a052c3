"""`.as_type(T)`: what becomes of a value, by the annotation of its field."""

import dataclasses
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, NewType

import boardlot as bl
import pytest

from ..support.processes import program, run_python
from .orders import ORDER, TIME, Side, orders

UTC = timezone.utc
Price = NewType("Price", Decimal)


@pytest.mark.parametrize(
    ("name", "annotation", "sent", "expected"),
    [
        ("price", str, "350.20", "350.20"),
        ("price", str, "", ""),
        ("price", str | None, "", ""),
        ("price", str | None, None, None),
        ("side", str, 1, "1"),
        ("price", float, "350.20", 350.2),
        ("price", float, 2, 2.0),
        ("price", float | None, "", None),
        ("price", Decimal, 0.1, Decimal("0.1")),
        ("price", Annotated[Decimal, "HKD"] | None, None, None),
        ("price", Price, "-1e-7", Decimal("-1e-7")),
        ("qty", int, "100", 100),
        ("qty", int, "100.0", 100),
        ("qty", int, 1e2, 100),
        ("side", int, 2**64, 2**64),
        ("side", int | None, "", None),
        ("new", bool, True, True),
        ("new", bool | None, None, None),
        ("create_time", datetime, "1790000000123456", TIME),
        ("create_time", datetime, 1790000000123456, TIME),
        ("create_time", datetime, "-1", datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
        ("create_time", datetime | None, "0", None),
        ("create_time", datetime | None, "", None),
        ("create_time", int, "1790000000123456", 1790000000123456),
        ("new", datetime, "2026-09-21T16:13:20.123456+02:00", TIME),
        ("new", datetime, "9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, 0, UTC)),
        ("text", date, "2024-02-29", date(2024, 2, 29)),
        ("text", date | None, "--", None),
        ("side", Side, "S", Side.SELL),
        ("side", Side | None, "", None),
        ("side", bl.SimSide, 3, bl.SimSide.SHORT_SELL),
        ("new", dict, {"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ("new", list, [1, "x", []], [1, "x", []]),
        ("new", dict[str, Any], {}, {}),
        ("new", Any, 1.5, 1.5),
        ("new", object, None, None),
    ],
)
def test_each_annotation_has_its_conversion(name, annotation, sent, expected):
    cls = dataclasses.make_dataclass("T", [(name, annotation)])
    row = {**ORDER, name: sent}
    for rows in (orders(row, row), orders(row, row, indent=1)):
        for made in rows.as_type(cls):
            value = getattr(made, name)
            assert value == expected and type(value) is type(expected)


@pytest.mark.parametrize(
    ("name", "annotation", "right", "wrong", "shown"),
    [
        ("price", Decimal, "1", "abc", r"record 1 is \"abc\"; expected Decimal for T.price"),
        ("price", Decimal, "1", "", r"is \"\"; expected Decimal .* as 'Decimal \| None'"),
        ("price", Decimal, "1", "NaN", "expected Decimal"),
        ("price", Decimal | None, "1", {"a": 1}, r'is \{ *"a": ?1 *\}; expected Decimal'),
        ("price", float, "1", "1e999", "expected float"),
        ("qty", int, "1", "100.5", "qty of record 1 is .* expected int"),
        ("qty", int, "1", None, r"is null; expected int .* 'int \| None'"),
        ("side", bool, True, 1, "expected bool"),
        ("create_time", datetime, "1", "0", r"is \"0\"; expected datetime .* 'datetime \| None'"),
        ("create_time", datetime, "1", "253402300800000000", "expected datetime"),
        # Only the schema tells the unit of a number.
        ("side", datetime, "2026-01-01T00:00:00Z", 1790000000, "is 1790000000; expected datetime"),
        ("text", datetime, "2026-01-01T00:00:00Z", "2026-09-21T16:13:20", "expected datetime"),
        # A leap second.
        ("text", datetime, "2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", "expected datetime"),
        ("text", datetime, "2016-12-31T23:59:59Z", "2016-12-31T23:59:60.5+00:00", "expected"),
        ("text", date, "2026-01-01", "2026-02-30", "expected date"),
        ("create_time", date, "2026-01-01", "1790000000123456", "expected date"),
        ("side", Side, 1, 2, "side of record 1 is 2; expected Side"),
        ("new", dict, {}, [], "expected dict"),
        ("new", list, [], {}, "expected list"),
    ],
)
@pytest.mark.parametrize("indent", [None, 1], ids=["uniform", "spaced"])
def test_a_value_that_cannot_be_converted_is_named_with_record_field_and_type(
    name, annotation, right, wrong, shown, indent
):
    cls = dataclasses.make_dataclass("T", [("order_id", str), (name, annotation)])
    rows = orders({"order_id": "6", name: right}, {"order_id": "7", name: wrong}, indent=indent)
    assert len(rows[:1].as_type(cls)) == 1
    with pytest.raises(bl.ProtocolError, match=shown) as caught:
        rows.as_type(cls)
    assert f"{name} of record 1 is" in str(caught.value)


FROZEN = program(__file__, "frozen_time")


@pytest.mark.parametrize("at_first", ["frozen", "running"])
def test_a_time_is_a_time_while_a_test_has_frozen_it_and_thereafter(at_first):
    run_python(FROZEN, at_first)
