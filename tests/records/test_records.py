"""Section 2 as `Records`: a sequence of the service's own values."""

import operator
from collections.abc import Sequence

import boardlot as bl
import pytest

from ..support.clients import run
from ..support.service import StandInService, response
from ..support.vectors import scripted_responses, table, vector_case

CASE = vector_case("sim_orders", "every field and every side and status")
ROWS = CASE["result"]


@pytest.fixture(scope="module")
def records():
    return run("sync", scripted_responses(CASE), lambda c: c.call("sim_orders", "9007199"))


def test_a_place_outside_is_an_index_error(records):
    for place in (5, -6, 2**70):
        with pytest.raises(IndexError):
            records[place]
    with pytest.raises(ValueError):
        records.index({"order_id": "none"})


def test_records_equal_a_list_of_the_same_dicts(records):
    assert isinstance(records, Sequence) and isinstance(records[1:3], bl.Records)
    assert records == ROWS and len(records) == len(ROWS) == 5 and bool(records)
    assert operator.eq(ROWS, records)
    assert records == records[:] and records[9:].meta == records.meta
    assert operator.ne(records, ROWS) is False
    assert records != ROWS[:4]
    assert records != [*ROWS[:4], {**ROWS[4], "qty": "101"}]
    assert records != "rows" and records != 5 and records is not None


def test_empty_records_are_a_sequence_and_a_table():
    records = run(
        "sync",
        [response({"ret_code": 0, "data": {"orders": []}})],
        lambda c: c.call("sim_orders", "1"),
    )
    assert records == [] and len(records) == 0 and not records
    assert repr(records) and records._repr_html_()
    assert records[:1] == []


def test_the_schema_names_every_declared_field(records):
    names = [field.name if hasattr(field, "name") else field["name"] for field in records.schema]
    assert set(ROWS[0]) <= set(names)


def test_the_enums_equal_the_services_own_values(records):
    assert records[0]["side"] == bl.SimSide(1) and records[3]["side"] == bl.SimSide(4)
    assert records[1]["order_type"] == bl.SimOrderType(3)
    assert [row["status"] for row in records[:4]] == [bl.SimOrderStatus(n) for n in (3, 4, 2, 5)]
    # A side and a type that the document does not name pass through.
    assert (records[4]["side"], records[4]["order_type"]) == (9, 7)


ENUMS = table("values")["enums"]


@pytest.mark.parametrize("enum", ENUMS)
def test_every_documented_set_of_values_is_an_enum(enum):
    members = list(getattr(bl, enum))
    assert len(members) == len(ENUMS[enum])
    assert all(any(member == value for member in members) for value in ENUMS[enum])


def test_the_body_of_an_error_is_at_most_its_first_two_kibibytes():
    body = {"ret_code": -1, "ret_msg": "long", "more": "y" * 10_000}
    with StandInService([response(body)]) as server, pytest.raises(bl.ApiError) as caught:
        run("sync", server, lambda c: c.call("sim_orders", "1"))
    assert 1000 < len(caught.value.body) <= 2048 + 8
    assert len(str(caught.value)) < 4096
