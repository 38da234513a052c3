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
from boardlot._support.messages.nearest import did_you_mean

from ..support.calls import called

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
    ("call", "said"),
    [
        (
            lambda async_client: async_client.fills_history("1", "HK", limit=5),
            "limited by `.all(max_items=5)`",
        ),
        (lambda client: client.fills_history("1", "HK", page=2), "pages follow by themselves"),
        (
            lambda client: client.dividends("HK.00700", decimals=True),
            "ask the result for it: `.to_pandas(decimals=",
        ),
        (
            lambda records: records.to_pandas(decimals=True),
            "decimals is of type bool; expected 'float64'",
        ),
        (lambda client: client.fills_history("1", "HK", symbol="HK.00700"), "did you mean 'code'?"),
        (
            lambda client: client.fills_history("1", "HK", begin="2026-01-01"),
            "did you mean 'start'?",
        ),
        (lambda client: client.fills_history(account="1", market="HK"), "did you mean 'acc_id'?"),
        (lambda client: client.dividends(code="HK.00700"), "did you mean 'symbol'?"),
        (lambda client: client.dividends("HK.00700", limit=5), "`[:5]` are its first rows"),
        (lambda async_client: async_client.dividends(code="HK.00700"), "did you mean 'symbol'?"),
        (lambda client: client.request("POST", "/", json={}), "did you mean 'body'?"),
        (
            lambda client: client.fetch_many(["HK.00700"], "dividends"),
            'the method first, then the keys: fetch_many("dividends", ["HK.00700"])',
        ),
        (
            lambda client: client.fetch_many(client.dividends, ["HK.00700"]),
            'the name of the method as a string, such as "dividends"',
        ),
        (
            lambda client: client.fills_history("1", "HK", resume=print),
            "call it, as in resume=pager.checkpoint()",
        ),
        (lambda: bl.Endpoint("kline", "GET", "/a/:symbol/b"), "write {symbol}"),
        (
            lambda: bl.EncryptedFileStore("correct horse battery", "tokens.bin"),
            "expected the path first: EncryptedFileStore('tokens.bin', passphrase)",
        ),
        (
            lambda client: client.fills_history("1", "HK", start=timedelta(days=-30)),
            "for the last 30 days, datetime.now(timezone.utc) - timedelta(days=30)",
        ),
        (
            lambda records, client: client.fetch_many("dividends", records.to_pandas()),
            'such as the column frame["symbol"]',
        ),
        (
            lambda client: client.fetch_many("fills_history", ["1"]),
            "pass trd_market= by name, the same for all keys",
        ),
        (
            lambda sandbox: sandbox.put("dividends", [{"payout_ratio": Decimal("1.5")}]),
            "write the value as the service sends it, often a text",
        ),
        (
            lambda client: client.fetch_many("dividends", ["HK.00700"], workers=4),
            "did you mean 'concurrency'?",
        ),
        (
            lambda client: client.fetch_many("dividends", ["HK.00700"], limit=5),
            "`[:5]` are its first rows",
        ),
        (
            lambda records: bl.frames.to_pandas(records, decimal="string"),
            "did you mean 'decimals'?",
        ),
        (lambda url: bl.Client(url, verify_ssl=False), "certificates are always verified"),
        (
            lambda url: bl.Client(url, ssl=False),
            "to trust those of your own authority, pass ca_file=",
        ),
        (lambda url: bl.Client(url, api_key="k"), "did you mean 'auth'?"),
        (lambda url: bl.Client(url, ca_bundle="c"), "did you mean 'ca_file'?"),
        (lambda url: bl.AsyncClient(url, retries=1), "did you mean 'max_retries'?"),
        (
            lambda client, archive: archive.update(client, accounts=[("1", "HK")]),
            "did you mean 'fills'?",
        ),
        (lambda archive: archive.fills("1", "HK", symbol="HK.00700"), "did you mean 'code'?"),
        (lambda: bl.ApiKey("id", "key.pem", passphrase="secret"), "did you mean 'password'?"),
        (lambda: bl.ApiKey("id", "key.pem", pwd="secret"), "did you mean 'password'?"),
        (
            lambda: bl.Sandbox(latency=0.1),
            "pass faults=Faults(latency=...), or set `sandbox.faults`",
        ),
        (lambda: bl.Sandbox(error_rate=0.1), "pass faults=Faults(error_rate=...)"),
        (lambda: bl.Sandbox(random_state=1), "did you mean 'seed'?"),
        (lambda: bl.Sandbox(expires_in=60), "did you mean 'token_lifetime'?"),
        (lambda: bl.Faults(delay=0.1), "did you mean 'latency'?"),
        (lambda sandbox: sandbox.fail_next("dividends", 503), "the names are times, status,"),
        (lambda sandbox: sandbox.fail_next("dividends", state=503), "did you mean 'status'?"),
        (
            lambda client, archive: archive.update(client, fills=[("1", "HK")], start=730),
            "for the last 730 days, datetime.now(timezone.utc) - timedelta(days=730)",
        ),
        (lambda client: client.fills_history("1,2", "HK"), "call once for each account"),
        (lambda client: client.call("kline", symbol="HK.00700"), "expected an Endpoint, or one"),
        (lambda sandbox: sandbox.api_key().headers("POST", "https://a/b", {}), "expected bytes"),
        (lambda: bl.Sandbox(today="2026-01-05"), "such as datetime.date(2026, 1, 5)"),
        (
            lambda sandbox: sandbox.put("dividends", [{"ex_date": datetime(2026, 1, 5)}]),
            "write the value as the service sends it, a count since 1970 or a text",
        ),
        (
            lambda client: client.trading_days("HK", datetime(2026, 1, 5), "2026-01-09"),
            "or for a day, its date()",
        ),
        (lambda: bl.RateLimit(20, capacity=5), "did you mean 'burst'?"),
        (
            lambda: bl.Endpoint("kline", "GET", "/x", rows="data", pagination="next_key"),
            "did you mean 'paging'?",
        ),
        (lambda: bl.Endpoint("kline", "GET", "/x", schema={}), "did you mean 'record'?"),
        (lambda: bl.DateRange("end", next="a", key="b"), "did you mean 'unique'?"),
        (lambda: bl.generate_key(key_size=3072), "did you mean 'bits'?"),
        (lambda: bl.generate_key(kind="Ed25519"), "did you mean 'algorithm'?"),
        (lambda url: bl.login(url, port=8080), "did you mean 'redirect_port'?"),
        (lambda url: bl.login(url, scope="quote:read"), "the user chooses the scopes"),
        (lambda url: bl.begin_login(url, open_browser=False), "send the user to `flow.url`"),
        (
            lambda url: bl.register_client(url, redirect_uris=["https://a.b/c"], name="x"),
            "did you mean 'client_name'?",
        ),
        (lambda: bl.Archive(path="a.db"), "did you mean 'target'?"),
        (lambda url: bl.Client(url, max_rps=5), "did you mean 'rate_limit'?"),
        (lambda: bl.generate_key("ed25519"), "did you mean 'Ed25519'"),
        (lambda sandbox: sandbox.client(auth="ed25519"), "did you mean 'Ed25519'"),
        (lambda records: records.to_pandas(decimals="Decimal"), "did you mean 'decimal'"),
        (lambda records: records.to_pandas(invalid="nul"), "did you mean 'null'"),
        (lambda client: client.fetch_many("fills", ["281756"]), "did you mean 'fills_history'"),
        (
            lambda client: client.dividends("HK.00700", timeout=5),
            "timeout belongs to the client: Client(..., timeo",
        ),
        (
            lambda async_client: async_client.fills_history("1", "HK", proxy="p"),
            "client: AsyncClient(..., proxy=...)",
        ),
        (lambda url: bl.Client(url, timeout=(3, 30)), "pass connect_timeout= and timeout="),
        (lambda: bl.Client(), "no environment variable BOARDLOT_* is read"),
        (lambda: bl.OAuth("id", store="tokens.db"), "EncryptedFileStore('tokens.db', passphrase)"),
        (lambda: bl.OAuth("id", store={}), "MemoryStore()"),
        (lambda: bl.BearerToken("Bearer abc"), "without the word 'Bearer'"),
        (
            lambda client: client.fills_history("1", "HK", resume="{}").all(),
            "pass what checkpoint() returned",
        ),
    ],
)
def test_a_wrong_call_leads_to_the_right_one(call, said, request):
    with pytest.raises((TypeError, bl.ConfigError)) as caught:
        result = called(call, request)
        asyncio.run(result)  # Of an async method.
    assert said in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "passphrase"),
    [("tokens", "/9j/4AAQ+w=="), ("state/tokens", "a.txt"), ("tokens.bin", "b.bin")],
)
def test_a_passphrase_is_not_taken_for_a_path(path, passphrase, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = bl.EncryptedFileStore(path, passphrase)
    store.save("key", b"a secret")
    assert store.load("key") == b"a secret" and (tmp_path / path).is_file()


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
    ("call", "said"),
    [
        (lambda given: bl.OAuth("id", store=bl.MemoryStore(), secret=given), "'client_secret'"),
        (lambda given: bl.Client("https://a.b", api_secret=given), "'auth'"),
        (
            lambda given: bl.OAuthApp(
                "https://a.b", "id", redirect_uri="https://a.b/c", secret=given
            ),
            "'client_secret'",
        ),
    ],
)
def test_a_secret_by_another_name_is_not_shown(call, said):
    with pytest.raises(TypeError, match=f"did you mean {said}") as caught:
        call("canary-7c1e")
    traceback = caught.value.__traceback__
    frames = []
    while (traceback := traceback.tb_next) is not None:
        frames.append(traceback.tb_frame.f_locals)
    # Besides that of the lambda.
    assert "canary" not in f"{caught.value} {frames[1:]}"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("begin", ["start", "end"], "; did you mean 'start'?"),
        ("symbol", ["code", "resume"], "; did you mean 'code'?"),
        ("limit", ["code", "resume"], "; rows are limited by `.all(max_items=5)`"),
        ("limit", ["max_items", "max_pages"], "; did you mean 'max_items'?"),
        ("begin", ["fills", "orders"], ""),
        ("side", ["code", "trd_side"], "; did you mean 'trd_side'?"),
        (
            "decimals",
            ["symbol", "code"],
            "; ask the result for it: `.to_pandas(decimals='decimal')`, or `.to_dicts(typed=True)`",
        ),
    ],
)
def test_a_name_of_another_library_has_its_counterpart_where_that_exists(name, known, said):
    assert did_you_mean(name, known) == said


@pytest.mark.parametrize(
    ("call", "takes", "said"),
    [
        (
            lambda client: client.fills_history("1", "HK", date(2026, 1, 1)),
            "takes 2 positional",
            "start=...",
        ),
        (
            lambda client: client.fills_history("1", "HK", "HK.00700"),
            "takes 2 positional",
            "code=...",
        ),
        (lambda client: client.request("GET", "/", {}), "(method, path)", "query=..."),
        (lambda client: client.dividends("HK.00700", "HK.00005"), "(symbol)", "but 2 were given"),
        (lambda client, archive: archive.update(client, [("1", "HK")]), "(client)", "fills=..."),
    ],
)
def test_an_argument_too_many_is_named(call, takes, said, request):
    with pytest.raises(TypeError) as caught:
        called(call, request)
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
def test_what_the_service_does_not_document_has_no_neighbor(name, client):
    with pytest.raises(AttributeError, match="the service documents no list of accounts") as caught:
        getattr(client, name)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        (
            lambda client: client.request("GET", "/api/v1.0/server-time").status_code,
            "write `.status`",
        ),
        (
            lambda client: client.request("GET", "/api/v1.0/server-time").text,
            "write `.content.decode()`",
        ),
        (lambda archive: archive.dividends, "write `archive.seen('dividends', KEY)`"),
        (lambda archive: archive.updates, "did you mean 'update'?"),
        (lambda client: client.get, "did you mean 'request'?"),
        (lambda client: client.get_quote, "no prices, no streams and no placing of orders"),
        (
            lambda client: client.history_kline,
            "call `client.request(...)`, or declare a `bl.Endpoint`",
        ),
        (
            lambda client: client.get_positions,
            "call `client.request(...)`, or declare a `bl.Endpoint`",
        ),
        (lambda client: client.nonsense, "has no attribute 'nonsense'"),
        (
            lambda records: records.ex_date,
            "write `records[0]['ex_date']`, or `to_pandas()['ex_date']`",
        ),
        (lambda records: records.to_pandsa, "; did you mean 'to_pandas'?"),
        (lambda records: records.__dataframe__, "has no attribute '__dataframe__'"),
    ],
)
def test_an_attribute_of_another_library_has_its_counterpart(attribute, said, request):
    with pytest.raises(AttributeError) as caught:
        called(attribute, request)
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


@pytest.mark.parametrize("name", ["cert", "certfile", "cert_file", "keyfile", "max_redirects"])
def test_a_name_of_another_thing_is_not_met_by_one_that_is_spelled_alike(name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'") as caught:
        bl.Client("https://api.example.com", **{name: "c"})
    for other in ("ca_file", "profile", "max_retries"):
        assert other not in str(caught.value)


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
