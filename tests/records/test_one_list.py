"""One list, by hand: as the service sends it, as values of Python, as objects and in frames."""

from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal

import boardlot as bl
import pytest

ACCOUNT = "281756"
# 2026-01-05 00:00 UTC, in microseconds.
FIRST = 1_767_571_200_000_000
SENT = [
    {"deal_id": "1", "code": "HK.00700", "qty": "100", "price": "388.200", "updated_time": FIRST},
    {"deal_id": "2", "code": "HK.00005", "qty": "400", "price": "61.05", "updated_time": FIRST + 1},
]


@pytest.fixture
def fills():
    with bl.Sandbox() as sandbox, sandbox.client() as client:
        sandbox.put("fills_history", SENT, account=ACCOUNT)
        return client.fills_history(ACCOUNT, "HK").all()


def test_records_are_a_list_of_dicts_as_the_service_sent_them(fills):
    assert isinstance(fills, list) and fills == SENT
    assert fills[1]["price"] == "61.05"


def test_typed_dicts_have_decimals_and_times(fills):
    first = fills.to_dicts(typed=True)[0]
    assert first["price"] == Decimal("388.200")
    assert first["updated_time"] == datetime(2026, 1, 5, tzinfo=timezone.utc)


def test_rows_become_objects_of_a_class_by_its_annotations(fills):
    @dataclass
    class Fill:
        code: str
        qty: Decimal
        updated_time: datetime

    assert fills.as_type(Fill)[0] == Fill(
        "HK.00700", Decimal(100), datetime(2026, 1, 5, tzinfo=timezone.utc)
    )


def test_a_selection_has_these_fields_in_this_order(fills):
    assert fills.select("price", "code") == [
        {"price": "388.200", "code": "HK.00700"},
        {"price": "61.05", "code": "HK.00005"},
    ]


def test_a_frame_has_a_column_for_each_field_with_the_documented_type(fills):
    pytest.importorskip("polars")
    frame = fills.to_polars()
    assert frame["price"].to_list() == [388.2, 61.05]
    assert frame["updated_time"].to_list()[0] == datetime(2026, 1, 5, tzinfo=timezone.utc)
    exact = fills.to_polars(decimals="decimal")
    assert exact["price"].to_list() == [Decimal("388.200"), Decimal("61.05")]
