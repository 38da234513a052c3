"""Tables that can be sorted and searched, and the names of values in all tables."""

import sys

import pandas
import pytest
from boardlot._support.tables import text_and_html as tables
from boardlot.notebook import show, table_html

from ..support.fake_records import FakeRecords

# itables uses a part of pandas that will change in pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:Series.values returning")


@pytest.fixture(scope="module")
def orders(client):
    return client.sim_orders("5001")


def test_numbers_of_an_enum_are_shown_with_their_name(orders):
    # Section 3.2 of the service document.
    names = {2: "submitted", 3: "partially filled", 4: "filled", 5: "cancelled", 6: "rejected"}
    shown = tables.text(orders, len(orders), 100, ["status"]).splitlines()[2:-1]
    assert [line.strip() for line in shown] == [
        f"{o['status']} {names[o['status']]}" for o in orders
    ]
    assert "3 partially filled" in orders._repr_html_()
    # The data keeps the number.
    assert {type(order["status"]) for order in orders} == {int}


def test_an_unknown_number_is_shown_as_it_is(orders):
    other = FakeRecords([{"status": 99}, {"status": True}], orders.schema)
    assert tables.text(other, columns=["status"]).splitlines()[2:4] == ["99", "True"]


def test_the_table_has_the_typed_columns_and_the_names(orders):
    html = table_html(orders, caption="Orders of today")
    assert "partially filled" in html and "Orders of today" in html
    assert all(field.name in html for field in orders.schema)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>"])
def test_texts_of_the_service_are_escaped(text):
    html = table_html(pandas.DataFrame({"stock_name": [text], text: [1]}))
    assert text not in html


def test_show_passes_a_frame_and_the_options_to_itables(orders, monkeypatch):
    shown = []
    monkeypatch.setattr("itables.show", lambda frame, **options: shown.append((frame, options)))
    show(orders, paging=False)
    ((frame, options),) = shown
    assert "3 partially filled" in set(frame["status"]) and len(frame) == len(orders)
    assert options == {"caption": None, "allow_html": False, "paging": False}


def test_a_pager_is_read_to_its_end(client, monkeypatch):
    shown = []
    monkeypatch.setattr("itables.show", lambda frame, **_: shown.append(frame))
    show(client.fills_history("281756", "HK"))
    assert len(shown[0]) == 2000


def test_without_itables_it_says_what_to_install(orders, monkeypatch):
    monkeypatch.setitem(sys.modules, "itables", None)
    with pytest.raises(ImportError, match=r"pip install 'boardlot\[interactive\]'"):
        show(orders)
