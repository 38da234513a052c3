"""Wrong calls of everything that users call, and what is said."""

import asyncio
import inspect
from datetime import date, datetime, timezone

import boardlot as bl
import boardlot.frames
import pytest

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
CALLS = [
    ("async_client.fills_history('1', 'HK', limit=5)", "limited by `.all(max_items=5)`"),
    ("client.fills_history('1', 'HK', page=2)", "pages follow by themselves"),
    ("client.dividends('HK.00700', decimals=True)", "ask the result for it: `.to_pandas(decimals="),
    ("records.to_pandas(decimals=True)", "decimals is of type bool; expected a str"),
    ("client.fills_history('1', 'HK', symbol='HK.00700')", "did you mean 'code'?"),
    ("client.fills_history('1', 'HK', begin='2026-01-01')", "did you mean 'start'?"),
    ("client.fills_history(account='1', market='HK')", "did you mean 'acc_id'?"),
    ("client.dividends(code='HK.00700')", "did you mean 'symbol'?"),
    ("client.dividends('HK.00700', limit=5)", "`[:5]` are its first rows"),
    ("async_client.dividends(code='HK.00700')", "did you mean 'symbol'?"),
    ("client.request('POST', '/', json={})", "did you mean 'body'?"),
    ("client.fetch_many('dividends', ['HK.00700'], workers=4)", "did you mean 'concurrency'?"),
    ("client.fetch_many('dividends', ['HK.00700'], limit=5)", "`[:5]` are its first rows"),
    ("pager.all(limit=5)", "did you mean 'max_items'?"),
    ("pager.to_polars(decimal='string')", "did you mean 'decimals'?"),
    ("records.to_pandas(decimal='string')", "did you mean 'decimals'?"),
    ("records.to_dicts(type=True)", "did you mean 'typed'?"),
    ("bl.frames.to_pandas(records, decimal='string')", "did you mean 'decimals'?"),
    ("bl.Client(url, verify_ssl=False)", "certificates are always verified"),
    ("bl.Client(url, ssl=False)", "to trust those of your own authority, pass ca_file="),
    ("bl.Client(url, api_key='k')", "did you mean 'auth'?"),
    ("bl.Client(url, cert='c')", "did you mean 'ca_file'?"),
    ("bl.AsyncClient(url, retries=1)", "did you mean 'max_retries'?"),
    ("bl.ApiKey('id', 'key.pem', passphrase='secret')", "did you mean 'password'?"),
    ("bl.EncryptedFileStore('tokens', 'words', passphrse='x')", "did you mean 'passphrase'?"),
    ("bl.OAuth('id', store=bl.MemoryStore(), users='a')", "did you mean 'user'?"),
    ("bl.OAuthApp(url, 'id', redirect_uri='https://a/b', stor=1)", "did you mean 'store'?"),
    ("bl.register_client(url, redirect_uris=[], name='a')", "'name'"),
    ("bl.login(url, clientid='a')", "did you mean 'client_id'?"),
    ("bl.generate_key(bit=2048)", "did you mean 'bits'?"),
    ("bl.Endpoint('a', 'GET', '/a', fields={})", "did you mean 'record'?"),
    ("bl.DateRange(next='a', unique_key='b')", "did you mean 'unique'?"),
    ("bl.RateLimit(5, names='a')", "did you mean 'name'?"),
    ("bl.Sandbox(sed=7)", "did you mean 'seed'?"),
    ("bl.Faults(latncy=1.0)", "did you mean 'latency'?"),
    ("archive.update(client, accounts=[('1', 'HK')])", "did you mean 'fills'?"),
    ("archive.fills('1', 'HK', symbol='HK.00700')", "did you mean 'code'?"),
    ("bl.generate_key('ed25519')", "did you mean 'Ed25519'"),
    ("sandbox.client(auth='ed25519')", "did you mean 'Ed25519'"),
    ("records.to_pandas(decimals='Decimal')", "did you mean 'decimal'"),
    ("records.to_pandas(invalid='nul')", "did you mean 'null'"),
    ("client.fetch_many('fills', ['281756'])", "did you mean 'fills_history'"),
    ("client.dividends('HK.00700', timeout=5)", "timeout belongs to the client: Client(..., timeo"),
    ("async_client.fills_history('1', 'HK', proxy='p')", "client: AsyncClient(..., proxy=...)"),
    ("bl.Client(url, timeout=(3, 30))", "pass connect_timeout= and timeout="),
    ("bl.Client()", "no environment variable BOARDLOT_* is read"),
    ("bl.OAuth('id', store='tokens.db')", "EncryptedFileStore('tokens.db', passphrase)"),
    ("bl.OAuth('id', store={})", "MemoryStore()"),
    ("bl.BearerToken('Bearer abc')", "without the word 'Bearer'"),
    ("client.fills_history('1', 'HK', resume='{}').all()", "pass what checkpoint() returned"),
]


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[call for call, _ in CALLS])
def test_a_wrong_call_leads_to_the_right_one(call, said, names):
    with pytest.raises((TypeError, bl.ConfigError)) as caught:
        eval(call, names)
    assert said in str(caught.value) and "secret" not in str(caught.value)


POSITIONS = [
    ("client.fills_history('1', 'HK', date(2026, 1, 1))", "takes 2 positional", "start=..."),
    ("client.fills_history('1', 'HK', 'HK.00700')", "takes 2 positional", "code=..."),
    ("client.request('GET', '/', {})", "(method, path)", "query=..."),
    ("client.dividends('HK.00700', 'HK.00005')", "(symbol)", "but 2 were given"),
    ("archive.update(client, [('1', 'HK')])", "(client)", "fills=..."),
    ("bl.ApiKey('id', 'key.pem', 'secret')", "(key_id, private_key)", "password=..."),
    ("records.to_pandas('decimal')", "takes 0 positional", "decimals=..."),
]


@pytest.mark.parametrize(("call", "takes", "said"), POSITIONS, ids=[call for call, *_ in POSITIONS])
def test_an_argument_too_many_is_named(call, takes, said, names):
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    text = str(caught.value)
    assert takes in text and said in text and "secret" not in text


@pytest.mark.parametrize(
    "use",
    [
        "[row for row in result]",
        "list(result)",
        "result[0]",
        "len(result)",
        "result.to_pandas()",
        "result.status",
    ],
)
@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("dividends", "async_client.dividends('HK.00700')"),
        ("server_time", "async_client.server_time()"),
        ("fetch_many", "async_client.fetch_many('dividends', ['HK.00700'])"),
        ("request", "async_client.request('GET', '/')"),
        ("fills_history", "async_client.fills_history('1', 'HK').all()"),
        ("update", "archive.update(async_client, dividends=['HK.00700'])"),
    ],
)
def test_a_forgotten_await_is_said_by_the_name_of_the_method(method, call, use, names):
    result = eval(call, names)
    with pytest.raises((TypeError, AttributeError)) as caught:
        eval(use, {"result": result})
    assert f"{method} returns an awaitable; write `await` before the call" in str(caught.value)
    assert inspect.isawaitable(result) and result
    result.close()


def test_an_awaitable_is_what_asyncio_expects_of_a_coroutine(sandbox):
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


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("client.request('GET', '/api/v1.0/server-time').status_code", "write `.status`"),
        ("client.request('GET', '/api/v1.0/server-time').text", "write `.content.decode()`"),
        ("archive.dividends", "write `archive.seen('dividends', KEY)`"),
        ("archive.updates", "did you mean 'update'?"),
        ("client.get", "did you mean 'request'?"),
        ("client.get_quote", "no prices, no streams and no placing of orders"),
        ("client.history_kline", "call `client.request(...)`, or declare a `bl.Endpoint`"),
        ("client.get_positions", "call `client.request(...)`, or declare a `bl.Endpoint`"),
        ("client.nonsense", "has no attribute 'nonsense'"),
        ("records.append", "records cannot be changed: `to_dicts()` returns a list that can"),
        ("records.ex_date", "write `records[0]['ex_date']`, or `to_pandas()['ex_date']`"),
        ("records.to_pandsa", "; did you mean 'to_pandas'?"),
        ("records.__dataframe__", "has no attribute '__dataframe__'"),
        ("pager.to_df", "; call `to_pandas()`, `to_polars()` or `to_arrow()`"),
        ("pager.check_point", "; did you mean 'checkpoint'?"),
        ("async_client.fills_history('1', 'HK').to_df", "call `await to_pandas()`, `await to_"),
    ],
)
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
    for end in ("2026-01-05", date(2026, 1, 5)):
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
