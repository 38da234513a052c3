"""Views of pagers: `.as_type(T)`, `.select`, and fields that no schema declares."""

import dataclasses
import itertools
import typing
import weakref
from dataclasses import dataclass, make_dataclass

import boardlot as bl
import pytest

from ..stress.cycles import collect
from ..support.clients import MODES, client_of, run, settled
from ..support.paged_service import CALLS, PagedList, page
from ..support.service import StandInService, response
from ..support.threads import wait_until


@dataclass
class Row:
    code: str
    n: int


LENGTHS = [3, 0, 70, 1, 0, 2]


VIEWS = {
    "instances": (lambda pager: pager.as_type(Row), lambda row: Row(**row)),
    "selected": (lambda pager: pager.select("code"), lambda row: {"code": row["code"]}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("view", "expected"), VIEWS.values(), ids=VIEWS)
def test_a_view_of_a_pager_has_every_row_and_exact_checkpoints(mode, view, expected):
    book = PagedList("plate_stocks", LENGTHS)
    whole = list(map(expected, book.rows))

    async def use(client):
        rows = view(client.listing("plate_stocks"))
        assert await client.rows(rows) == whole
        assert (rows.total, rows.requests) == (len(whole), len(LENGTHS))
        for taken in (0, 3, 40, 73, len(whole)):
            pager = client.listing("plate_stocks")
            rows = view(pager)
            assert await client.rows(rows, taken) == whole[:taken]
            # The position is that of the pager: what it is viewed as is not part of it.
            assert rows.checkpoint() == pager.checkpoint()
            assert (
                await client.rows(client.listing("plate_stocks", rows.checkpoint()))
                == book.rows[taken:]
            )
        pages = await client.pages(client.listing("plate_stocks").select("code"))
        assert [len(page) for page in pages] == LENGTHS

    run(mode, book, use)


@pytest.mark.parametrize("mode", MODES)
def test_rows_before_a_wrong_one_arrive_and_its_error_has_their_checkpoint(mode):
    book = PagedList("plate_stocks", [5, 30])
    book.rows[17]["n"] = "many"

    async def use(client):
        rows = client.listing("plate_stocks").as_type(Row)
        assert [row.n for row in await client.rows(rows, 17)] == list(range(17))
        for _ in range(2):  # It stays where it is.
            with pytest.raises(bl.ProtocolError, match='n of record 12 of its page is "many"') as e:
                await client.rows(rows)
            resumed = client.listing("plate_stocks", e.value.checkpoint)
            assert (await client.rows(resumed))[0]["n"] == "many"

    run(mode, book, use)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [type("Unfit", (Exception,), {}), bl.ProtocolError])
def test_an_error_of_a_constructor_keeps_its_own_checkpoint(mode, kind):
    error = kind("of the caller's")
    error.checkpoint = "of another list"

    class Row:
        n: int

        def __init__(self, n):
            raise error

    async def use(client):
        with pytest.raises(kind) as caught:
            await client.rows(client.listing("plate_stocks").as_type(Row), 1)
        assert caught.value is error and error.checkpoint == "of another list"

    run(mode, PagedList("plate_stocks", [5]), use)


@pytest.mark.parametrize("taken", [0, 29])
@pytest.mark.parametrize("make", [dataclasses.make_dataclass, typing.NamedTuple])
def test_an_iterator_that_its_class_refers_to_is_collected(make, taken):
    with StandInService(PagedList("plate_stocks", [30])) as server, client_of(server) as client:
        cls = make("T", [("code", str)])
        cls.rows = client.plate_stocks("HK.BK1001").as_type(cls)
        # The rows after them are instances that nobody has received.
        assert len(list(itertools.islice(cls.rows, taken))) == taken
        kept = weakref.ref(cls)
        del cls

        def is_collected():
            collect()
            return kept() is None

        # A thread of the core may be about to drop it.
        wait_until(is_collected, "the end of the class")


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
