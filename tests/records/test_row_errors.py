"""Errors of records: what happened, whose mistake it is, and what to do."""

import pickle
import re
from dataclasses import make_dataclass
from functools import partial

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run
from ..support.paged_service import PagedList
from ..support.service import StandInService, response
from .orders import ORDER, orders

Noted = make_dataclass("Noted", [("order_id", str), ("note", str)])


@pytest.mark.parametrize("indent", [None, 1], ids=["uniform", "spaced"])
def test_a_field_that_only_some_records_lack_is_missing_in_the_response(indent):
    has = {**ORDER, "note": "x"}
    for rows in ([has, ORDER], [ORDER, has]):
        with pytest.raises(bl.ProtocolError, match=r"has no field 'note'.*left it out") as caught:
            orders(*rows, indent=indent).as_type(Noted)
        assert "nothing was sent" not in caught.value.hint
        assert "proxy" not in caught.value.hint
    with pytest.raises(bl.ConfigError, match="record 0 has no field 'note'") as caught:
        orders(ORDER, ORDER, indent=indent).as_type(Noted)
    assert caught.value.hint == "Correct the class, or select the field."


@pytest.mark.parametrize("mode", MODES)
def test_a_field_that_a_later_page_lacks_is_missing_in_the_response(mode):
    book = PagedList("plate_stocks", [2, 1])
    for row in book.pages[0]:
        row["venue"] = "XHKG"

    async def use(client):
        venue = make_dataclass("Row", [("venue", str)])
        rows = client.listing("plate_stocks").as_type(venue)
        assert [row.venue for row in await client.rows(rows, 2)] == ["XHKG"] * 2
        with pytest.raises(bl.ProtocolError, match="record 0 of its page has no field") as caught:
            await client.rows(rows)
        resumed = client.listing("plate_stocks", caught.value.checkpoint)
        assert await client.rows(resumed) == book.pages[1]

    run(mode, book, use)


QTY = make_dataclass("T", [("qty", float)])


def test_the_hint_of_a_value_that_does_not_fit_is_not_about_the_network():
    rows = orders({**ORDER, "qty": "many"})
    as_type, to_dicts = partial(rows.as_type, QTY), partial(rows.to_dicts, typed=True)
    for convert in (as_type, to_dicts, rows.to_arrow, rows.to_polars):
        with pytest.raises(bl.ProtocolError, match="qty of record 0") as caught:
            convert()
        assert re.match("Read the records as dicts|Convert the records", caught.value.hint)


def test_an_endpoint_with_several_lists_names_them_and_says_what_to_declare():
    data = {"asks": [{"p": 1}], "n": 3, "bids": [], "note": "\x1b[31m"}
    endpoint = bl.Endpoint("book", "GET", "/api/v9/book")
    sent = response({"ret_code": 0, "data": data})
    with StandInService([sent]) as server, pytest.raises(bl.ProtocolError) as caught:
        client_of(server).call(endpoint)
    assert 'has 2 lists in \'data\': "data.asks", "data.bids"; expected one' in str(caught.value)
    assert 'rows="data.asks"' in caught.value.hint


def test_a_pager_that_cannot_be_pickled_says_what_to_pickle_instead():
    with bl.Client("https://api.example.com", auth=bl.BearerToken("t")) as client:
        pager = client.plate_stocks("HK.BK1001")
        with pytest.raises(bl.ConfigError, match=r"pickle its `checkpoint\(\)`"):
            pickle.dumps(pager)
