"""Fields that the service sends although no schema declares them, and names that nothing has."""

from dataclasses import make_dataclass

import boardlot as bl
import pytest

from ..support.clients import MODES, client_of, run, settled
from ..support.paged_service import CALLS, PagedList, page
from ..support.service import StandInService, response

LISTING = bl.Endpoint("listing", "POST", "/api/v9/list", rows="data.stock_list", paging="next_key")
NEW = [{"code": f"HK.{n:05}", "venue": f"v{n}"} for n in range(5)]
DELIVERIES = ["rows", "pages", "all", "to_polars"]


def fills():
    """Pages of fills, the first of them empty, with a field that the document does not show."""
    book = PagedList("fills_history", [0, 3, 2])
    book.pages = [[], NEW[:3], NEW[3:]]
    return book


async def delivered(client, pager, delivery):
    """The rows of a pager, by one of its ways to deliver them."""
    if delivery == "rows":
        return await client.rows(pager)
    if delivery == "pages":
        return [row for one in await client.pages(pager) for row in one]
    whole = await settled(getattr(pager, delivery)())
    return list(whole) if delivery == "all" else whole.to_dicts()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_field_that_the_service_added_can_be_selected_before_anything_is_sent(mode, delivery):
    async def use(client):
        pager = client.listing("fills_history")
        part = pager.select("venue", "code", undeclared=True)
        assert pager.requests == 0
        rows = await delivered(client, part, delivery)
        assert [list(row.values()) for row in rows] == [[row["venue"], row["code"]] for row in NEW]

    run(mode, fills(), use)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_name_that_no_row_has_is_rejected_with_the_first_page_that_has_rows(mode, delivery):
    async def use(client):
        pager = client.client.pages(LISTING).select("code", "venu")
        with pytest.raises(bl.ConfigError) as caught:
            await delivered(client, pager, delivery)
        text = "'venu' is not a field of these records; expected one of code, venue; "
        assert text + "did you mean 'venue'?" in str(caught.value)
        assert "nothing was sent" not in caught.value.hint
        # No row is lost: the same position, with the right name.
        resumed = client.client.pages(LISTING, resume=caught.value.checkpoint)
        assert await client.rows(resumed.select("venue")) == [{"venue": r["venue"]} for r in NEW]

    # The responses of an endpoint that declares no fields.
    responses = [page("plate_stocks", [], "1"), page("plate_stocks", NEW, None)]
    run(mode, lambda received: responses[b'"1"' in received.body], use)


def test_the_same_names_are_rejected_with_a_declared_record_unless_they_are_sent():
    args, kwargs = CALLS["fills_history"]
    with StandInService(fills()) as server, client_of(server) as client:
        pager = client.fills_history(*args, **kwargs)
        with pytest.raises(bl.ConfigError, match="'venue' is not a field") as caught:
            pager.select("venue")
        assert "undeclared=True" in caught.value.hint and pager.requests == 0
        with pytest.raises(bl.ConfigError, match=r"'venu' is not .*did you mean 'venue'"):
            list(pager.select("venu", undeclared=True))
        # A narrower selection is one of known names, whatever is permitted.
        with pytest.raises(bl.ConfigError, match="one of venue, code"):
            pager.select("venue", "code", undeclared=True).select("price", undeclared=True)
        row = make_dataclass("Row", [("venue", str)])
        assert next(pager.select("venue", undeclared=True).as_type(row)).venue == "v0"
        with pytest.raises(bl.ConfigError, match="'venu' is not a field"):
            next(pager.select("venu", undeclared=True).as_type(row))
        # Fields that a narrower one leaves out are not looked for.
        narrow = pager.select("venu", "code", undeclared=True).select("code")
        assert next(narrow) == {"code": "HK.00001"}


def test_records_and_those_of_many_keys_know_what_was_sent():
    def service(received):
        rows = [{"fiscal_year": "2025", "venue": "XHKG"}] if "00700" in received.path else []
        return response({"ret_code": 0, "data": {"dividend_list": rows}})

    with StandInService(service) as server, client_of(server) as client:
        many = client.fetch_many("dividends", ["HK.00005", "HK.00700"])
        for rows in (many, client.dividends("HK.00700")):
            assert rows.select("venue") == [{"venue": "XHKG"}]
            assert rows.select("venue", undeclared=True) == [{"venue": "XHKG"}]
            with pytest.raises(bl.ConfigError, match="did you mean 'venue'"):
                rows.select("venu", undeclared=True)
        empty = client.dividends("HK.00005")
        with pytest.raises(bl.ConfigError, match="'venue' is not a field") as caught:
            empty.select("venue")
        assert "undeclared=True" in caught.value.hint
        assert empty.select("venue", undeclared=True).to_arrow().column_names == ["venue"]
