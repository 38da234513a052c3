"""Wrong calls of everything that users call, and what is said."""

import asyncio
from datetime import date, datetime, timezone

import boardlot as bl
import boardlot.frames
import pytest
from boardlot._support.nearest import did_you_mean

from ..support.vectors import table

FILLS = "281756", "HK"


SANDBOX = {"fills": 60}


@pytest.fixture
def names(sandbox, client, tmp_path):
    with bl.Archive(tmp_path / "a.db") as archive:
        records, pager = client.dividends("HK.00700"), client.fills_history(*FILLS)
        names = {"archive": archive, "records": records, "pager": pager, "url": sandbox.base_url}
        names["sandbox"] = sandbox
        async_client = sandbox.async_client()
        yield {**names, "bl": bl, "client": client, "async_client": async_client, "date": date}
        asyncio.run(async_client.close())


# Beside those of docs/mistakes.md, which tests/docs tries.
WRONG = table("wrong_calls")


@pytest.mark.parametrize(("call", "said"), WRONG["calls"])
def test_a_wrong_call_leads_to_the_right_one(call, said, names):
    with pytest.raises((TypeError, bl.ConfigError)) as caught:
        result = eval(call, names)
        asyncio.run(result)  # Of an async method.
    assert said in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(("name", "known", "said"), WRONG["names of other libraries"])
def test_a_name_of_another_library_has_its_counterpart_where_that_exists(name, known, said):
    assert did_you_mean(name, known) == said


@pytest.mark.parametrize(("call", "takes", "said"), WRONG["positions"])
def test_an_argument_too_many_is_named(call, takes, said, names):
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    text = str(caught.value)
    assert takes in text and said in text and "secret" not in text


def test_a_call_that_is_awaited_is_a_coroutine(sandbox):
    async def use():
        async with sandbox.async_client() as client:
            task = asyncio.create_task(client.dividends("HK.00700"))
            both = await asyncio.gather(client.dividends("HK.00700"), task)
            assert await asyncio.wait_for(client.dividends("HK.00700"), 60) == both[0] == both[1]

    asyncio.run(use())
    with sandbox.client() as client:
        count = asyncio.run(sandbox.async_client().dividends("HK.00700"))
        assert count == client.dividends("HK.00700")


@pytest.mark.parametrize("name", ["positions", "orders", "balance", "accounts", "get_accounts"])
def test_what_the_service_does_not_document_has_no_neighbour(name, client):
    with pytest.raises(AttributeError, match="the service documents no list of accounts") as caught:
        getattr(client, name)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(("expression", "said"), WRONG["attributes"])
def test_an_attribute_of_another_library_has_its_counterpart(expression, said, names):
    with pytest.raises(AttributeError) as caught:
        eval(expression, names)
    assert said in str(caught.value)


def test_a_module_that_was_not_imported_is_named(monkeypatch):
    monkeypatch.delattr(bl, "plots", raising=False)
    with pytest.raises(
        AttributeError, match=r"no attribute 'plots'; write `import boardlot\.plots`"
    ):
        _ = bl.plots
    with pytest.raises(AttributeError, match=r"has no attribute 'nosuch\.module'$"):
        getattr(bl, "nosuch.module")


def test_an_end_that_is_a_date_warns_at_the_line_of_the_caller(client):
    said = "fills of that day are not read; for them, pass end='2026-01-06T00:00Z'"
    american = type("American", (date,), {"__str__": lambda _: "01/05/2026"})
    for end in ("2026-01-05", date(2026, 1, 5), american(2026, 1, 5)):
        with pytest.warns(UserWarning, match=said) as caught:
            client.fills_history(*FILLS, end=end)
            client.fetch_many(
                "fills_history", FILLS[:1], trd_market="HK", start="2026-01-01", end=end
            )
        assert [one.filename for one in caught] == [__file__] * 2
    # Warnings are errors: none for a time, a date that is not over, or a range of days.
    for end in ("2026-01-05T00:00Z", datetime(2026, 1, 5, tzinfo=timezone.utc), "2999-12-31", 0):
        client.fills_history(*FILLS, end=end)
    assert client.trading_days("HK", "2026-01-05", "2026-01-05")


def test_a_connection_that_fails_in_a_test_leads_to_the_fixture(monkeypatch):
    with bl.Client("https://127.0.0.1:9", max_retries=0) as client:
        with pytest.raises(bl.TransportError) as caught:
            client.server_time()
        assert caught.value.hint.endswith("use the fixture `boardlot_sandbox`.")
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
        with pytest.raises(bl.TransportError) as caught:
            client.server_time()
        assert "boardlot_sandbox" not in caught.value.hint


def test_a_hint_is_about_the_mistake(client, tmp_path):
    with pytest.raises(bl.ConfigError) as caught:
        client.ipo_list("HK")
    assert caught.value.hint == "Correct the argument; nothing was sent."
    with bl.Archive(tmp_path / "a.db") as archive, pytest.raises(bl.ConfigError) as caught:
        archive.sql("select from")
    assert "sent" not in caught.value.hint


def test_keys_that_failed_are_named_where_a_result_is_shown(client):
    some = client.fetch_many("dividends", ["HK.00700", "HK.99999"], on_error="collect")
    for shown in (repr(some), repr(some[:2]), some._repr_html_()):
        assert "1 key failed, see .errors:" in shown and "HK.99999" in shown


def test_a_second_loop_over_a_pager_warns_at_its_line(client):
    pager = client.fills_history(*FILLS)
    assert len(list(pager)) == 60
    with pytest.warns(UserWarning, match="this pager is used up") as caught:
        assert list(pager) == []
    assert caught[0].filename == __file__


def test_errors_of_the_caller_are_left_alone(client):
    def keys():
        raise TypeError("fills_history() got an unexpected keyword argument 'limit'")
        yield

    with pytest.raises(TypeError, match=r"'limit'$"):
        client.fetch_many("dividends", keys())
