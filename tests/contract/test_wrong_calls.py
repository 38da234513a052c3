"""Wrong calls of everything that users call, and what is said."""

import ast
import asyncio
import warnings
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import islice
from pathlib import Path

import boardlot as bl
import boardlot.frames
import pytest

from ..support.calls import called
from ..support.words import assert_transcript

FILLS = "281756", "HK"


SANDBOX = {"fills": 60}


@pytest.fixture
def url(sandbox):
    return sandbox.base_url


@pytest.fixture
def records(client):
    return client.dividends("HK.00700")


@pytest.fixture
def async_client(sandbox):
    client = sandbox.async_client()
    yield client
    asyncio.run(client.close())


@pytest.fixture
def archive(tmp_path):
    with bl.Archive(tmp_path / "a.db") as opened:
        yield opened


# Beside those of docs/mistakes.md, which tests/docs tries.
@pytest.mark.parametrize(
    ("call", "name", "nearest"),
    [
        (lambda client: client.fills_history("1", "HK", page=2), "page", "page_size"),
        (lambda client: client.fills_history("1", "HK", startt=0), "startt", "start"),
        (lambda client: client.fills_history(acc="1", trd_market="HK"), "acc", "acc_id"),
        (lambda async_client: async_client.dividends(symbool="HK.00700"), "symbool", "symbol"),
        (lambda client: client.request("POST", "/", bodi=b""), "bodi", "body"),
        (
            lambda records: bl.frames.to_pandas(records, decimal="string"),
            "decimal",
            "decimals",
        ),
        (lambda url: bl.AsyncClient(url, max_retry=1), "max_retry", "max_retries"),
        (lambda url: bl.Client(url, proxi="p"), "proxi", "proxy"),
        (lambda client, archive: archive.update(client, fill=[]), "fill", "fills"),
        (lambda archive: archive.fills("1", "HK", cod="HK.00700"), "cod", "code"),
        (lambda sandbox: sandbox.fail_next("dividends", state=503), "state", "status"),
        (lambda: bl.Faults(latenci=0.1), "latenci", "latency"),
        (lambda: bl.DateRange("end", nxt="a"), "nxt", "next"),
        (lambda url: bl.login(url, redirectport=80), "redirectport", "redirect_port"),
        (lambda: bl.Archive(tarrget="a.db"), "tarrget", "target"),
    ],
)
def test_a_misspelled_argument_is_met_by_the_nearest_name(call, name, nearest, request):
    with pytest.raises(TypeError) as caught:
        result = called(call, request)
        asyncio.run(result)  # Of an async method.
    said = f"got an unexpected keyword argument '{name}'; did you mean '{nearest}'?"
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda client: client.fills_history("1", "HK", limit=5), "keyword argument 'limit'"),
        (lambda client: client.fills_history("1"), "missing 1 required positional argument"),
        (lambda client: client.dividends("HK.00700", "HK.00005"), "takes 2 positional arguments"),
        (lambda client: client.fills_history("1", "HK")[0], "not subscriptable"),
        (lambda records: records["ex_date"], "list indices must be integers or slices, not str"),
        (lambda url: bl.ApiKey("id", "key.pem", secret="canary"), "keyword argument 'secret'"),
    ],
)
def test_a_call_without_a_near_name_is_left_to_python(call, said, request):
    with pytest.raises(TypeError) as caught:
        called(call, request)
    assert said in str(caught.value) and "canary" not in str(caught.value)


def test_a_value_that_is_refused_says_what_is_expected(sandbox, client, records):
    names = {"bl": bl, "sandbox": sandbox, "client": client, "records": records}
    names |= {"Decimal": Decimal, "datetime": datetime, "timedelta": timedelta}
    sent = len(sandbox.requests)

    def refusal(call):
        with pytest.raises((TypeError, bl.ConfigError)) as caught:
            eval(call, names)
        assert len(sandbox.requests) == sent and "secret" not in str(caught.value), call
        return f"{type(caught.value).__name__}: {caught.value}"

    assert_transcript(Path(__file__).with_name("refusals") / "calls.txt", refusal)


@pytest.mark.parametrize("name", ["read_only", "rate_limit", "timeout"])
def test_an_option_of_a_client_cannot_be_set_later(client, name):
    with pytest.raises(AttributeError, match=f"pass {name}= when you create it, Client"):
        setattr(client, name, True)
    client.label = "mine"
    assert client.label == "mine"


def test_a_symbol_in_place_of_a_market_is_recognized(client):
    with pytest.raises(bl.ApiError) as caught:
        client.fills_history("281756", "HK.00700").all()
    assert "Did you mean 'HK'?" in caught.value.hint


def test_a_client_of_a_closed_sandbox_says_what_may_be_missing():
    with bl.Sandbox() as sandbox:
        client = sandbox.client(max_retries=0)
    with pytest.raises(bl.TransportError) as caught:
        client.server_time()
    assert "a sandbox that was closed does not listen either" in caught.value.hint


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda given: bl.OAuth("id", store=bl.MemoryStore(), secret=given), "secret"),
        (lambda given: bl.Client("https://a.b", aut=given), "aut"),
        (
            lambda given: bl.OAuthApp(
                "https://a.b", "id", redirect_uri="https://a.b/c", secret=given
            ),
            "secret",
        ),
    ],
)
def test_a_secret_by_another_name_is_not_shown(call, name):
    with pytest.raises(TypeError, match=f"keyword argument '{name}'") as caught:
        call("canary-7c1e")
    traceback = caught.value.__traceback__
    frames = []
    while (traceback := traceback.tb_next) is not None:
        frames.append(traceback.tb_frame.f_locals)
    # Besides that of the lambda.
    assert "canary" not in f"{caught.value} {frames[1:]}"


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


@pytest.mark.parametrize("name", ["positions", "orders", "balance", "accounts", "get_quote"])
def test_what_the_service_does_not_document_is_said(name, client):
    with pytest.raises(AttributeError, match="the service documents no accounts") as caught:
        getattr(client, name)
    assert "did you mean" not in str(caught.value)


def test_a_misspelled_attribute_is_met_by_the_nearest_name(client, sandbox):
    for instance, name, nearest in [
        (client, "dividend", "dividends"),
        (client, "fill_history", "fills_history"),
        (sandbox, "base_ulr", "base_url"),
        # The sandbox has what the service does not document.
        (sandbox, "account", "accounts"),
        (bl, "Cliennt", "Client"),
    ]:
        with pytest.raises(AttributeError) as caught:
            getattr(instance, name)
        assert str(caught.value).endswith(f"no attribute {name!r}; did you mean {nearest!r}?")


def test_an_end_that_is_a_date_warns_at_the_line_of_the_caller(client):
    said = "its fills are not read; to read them, pass end='2026-01-06T00:00Z'"
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


def test_every_warning_is_made_where_the_line_of_the_caller_is_found():
    """`_support.clients.warn` finds it, however many functions of boardlot are between the two."""
    package, made = Path(bl.__file__).parent, []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                made.append(path.relative_to(package).as_posix())
    assert made == ["_support/clients.py"]


def test_warnings_of_an_archive_are_at_the_line_of_the_caller(tmp_path):
    with bl.Archive(tmp_path / "a.db") as archive:
        calls = [
            lambda: archive.fills("1", "HK"),
            lambda: archive.seen("dividends", "HK.00700"),
            lambda: archive.changes("dividends", "HK.00700"),
            lambda: archive.gaps("1", "HK"),
            lambda: archive.sql("select * from fills"),
            lambda: archive.export("dividends", tmp_path / "a.parquet"),
            lambda: archive.sql("select * from fills where updated_time > 1700000000000"),
        ]
        for call in calls:
            with pytest.warns(UserWarning) as caught:
                call()
            assert {one.filename for one in caught} == {__file__}


def test_rows_in_batches_by_islice_are_no_second_loop(client):
    rows = iter(client.fills_history(*FILLS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches = list(iter(lambda: list(islice(rows, 25)), []))
    assert [len(batch) for batch in batches] == [25, 25, 10]


def test_errors_of_the_caller_are_left_alone(client):
    def keys():
        raise TypeError("fills_history() got an unexpected keyword argument 'limit'")
        yield

    with pytest.raises(TypeError, match=r"'limit'$"):
        client.fetch_many("dividends", keys())
