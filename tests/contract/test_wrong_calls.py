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
from inline_snapshot import snapshot

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


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (
            lambda records: records.to_pandas(decimals=True),
            TypeError,
            snapshot("decimals is of type bool; expected 'float64', 'decimal' or 'string'"),
        ),
        (
            lambda client: client.fetch_many(["HK.00700"], "dividends"),
            bl.ConfigError,
            snapshot(
                "method is of type list; expected the method first, then the keys: "
                'fetch_many("dividends", ["HK.00700"])'
            ),
        ),
        (
            lambda client: client.fetch_many(client.dividends, ["HK.00700"]),
            bl.ConfigError,
            snapshot(
                "method is of type method; expected the name of the method as a string, such as "
                '"dividends"'
            ),
        ),
        (
            lambda client: client.fills_history("1", "HK", resume=print),
            bl.ConfigError,
            snapshot(
                "resume is of type builtin_function_or_method; expected a string: call it, as in "
                "resume=pager.checkpoint()"
            ),
        ),
        (
            lambda: bl.Endpoint("kline", "GET", "/a/:symbol/b"),
            bl.ConfigError,
            snapshot(
                "Endpoint 'kline': path is '/a/:symbol/b', whose segment ':symbol' would be sent "
                "as it is; write {symbol}; expected a path such as "
                "'/api/v1.0/quote/{symbol}/history-kline'"
            ),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", "/a\nb"),
            bl.ConfigError,
            snapshot(
                "Endpoint 'mine': path is '/a\\nb', whose segment 'a\\nb' is neither plain nor "
                "{name}; expected a path such as '/api/v1.0/quote/{symbol}/history-kline'"
            ),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", b"/a"),
            bl.ConfigError,
            snapshot("path is of type bytes; expected a string"),
        ),
        (
            lambda: bl.Endpoint("a\ud800", "GET", "/a"),
            bl.ConfigError,
            snapshot("name is not valid Unicode; expected a string without lone surrogates"),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", "/a", record={"\ud800": "text"}),
            bl.ConfigError,
            snapshot(
                "a name in record is not valid Unicode; expected a string without lone surrogates"
            ),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", "/a", record={"time": "second"}),
            bl.ConfigError,
            snapshot(
                "Endpoint 'mine': record.time is 'second'; expected one of text, integer, number,"
                " flag, decimal, percent, seconds, millis, micros, date, object; did you mean "
                "'seconds'?"
            ),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", "/a", record={"time": 3}),
            bl.ConfigError,
            snapshot(
                "record['time'] is of type int; expected a text: one of text, integer, number, "
                "flag, decimal, percent, seconds, millis, micros, date, object"
            ),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", "/a", record=[("time", "seconds")]),
            bl.ConfigError,
            snapshot(
                "record is of type list; expected a dict of names and kinds, such as {'time': "
                "'seconds'}"
            ),
        ),
        (
            lambda: bl.Endpoint("mine", "GET", "/a", record=int),
            bl.ConfigError,
            snapshot("record is the class int; expected a dict or a TypedDict"),
        ),
        (
            lambda client: client.fills_history("1", "HK", start=timedelta(days=-30)),
            bl.ConfigError,
            snapshot(
                "start is datetime.timedelta(days=-30), of type timedelta; expected a string, a "
                "number, a date or an aware datetime"
            ),
        ),
        (
            lambda client, records: client.fetch_many("dividends", records.to_pandas()),
            bl.ConfigError,
            snapshot(
                "keys is of type DataFrame; expected a list of keys, such as the column "
                'frame["symbol"]'
            ),
        ),
        (
            lambda client: client.fetch_many("fills_history", ["1"]),
            bl.ConfigError,
            snapshot(
                "fills_history has 1 required argument besides the keys; pass trd_market= by "
                "name, the same for all keys"
            ),
        ),
        (
            lambda client: client.fetch_many("fills_history", ["7"], acc_id=1, trd_market="HK"),
            bl.ConfigError,
            snapshot(
                "method is 'fills_history'; expected a method that returns records and has an "
                "argument for the keys, such as 'dividends'"
            ),
        ),
        (
            lambda client: client.fetch_many("fills_history", ["7"], trd_market="HK", color=1),
            bl.ConfigError,
            snapshot("fills_history: unknown argument 'color'"),
        ),
        (
            lambda client: client.fetch_many("fills_history", ["7"], trd_market="HK", page_size=9),
            bl.ConfigError,
            snapshot("fills_history: page_size is 9; expected an integer from 10 to 50"),
        ),
        (
            lambda client: client.fetch_many("fills_history", ["7"], trd_market="HK", start=2026),
            bl.ConfigError,
            snapshot(
                "fills_history: start is 2026; expected microseconds since 1970, by boardlot's "
                "own rule for a time in the years 1990 to 2100; did you mean '2026-01-01'?"
            ),
        ),
        (
            lambda client: client.fetch_many("dividends", ["HK.00700"], worker=4),
            bl.ConfigError,
            snapshot("dividends: unknown argument 'worker'"),
        ),
        (
            lambda sandbox: sandbox.put("dividends", [{"payout_ratio": Decimal("1.5")}]),
            bl.ConfigError,
            snapshot(
                "rows cannot be written as JSON: Object of type Decimal is not JSON serializable;"
                " write the value as the service sends it, often a text"
            ),
        ),
        (
            lambda client: client.fills_history("1,2", "HK"),
            bl.ConfigError,
            snapshot(
                "fills_history: acc_id is '1,2'; expected 1 to 64 letters, digits, _ or -, or a "
                "non-negative integer (boardlot's own rule); call once for each account"
            ),
        ),
        (
            lambda client: client.call("kline", symbol="HK.00700"),
            bl.ConfigError,
            snapshot(
                "method is 'kline'; expected an Endpoint, or one of server_time, trading_days, "
                "reference_futures, ipo_list, dividends, plate_stocks, crypto_orders, sim_orders,"
                " sim_positions, fills_history"
            ),
        ),
        (
            lambda sandbox: sandbox.api_key().headers("POST", "https://a/b", {}),
            TypeError,
            snapshot("body is of type dict; expected bytes"),
        ),
        (
            lambda: bl.Sandbox(today="2026-01-05"),
            bl.ConfigError,
            snapshot("today is of type str; expected a date, such as datetime.date(2026, 1, 5)"),
        ),
        (
            lambda sandbox: sandbox.put("dividends", [{"ex_date": datetime(2026, 1, 5)}]),
            bl.ConfigError,
            snapshot(
                "rows cannot be written as JSON: Object of type datetime is not JSON "
                "serializable; write the value as the service sends it, a count since 1970 or a "
                "text"
            ),
        ),
        (
            lambda client: client.trading_days("HK", datetime(2026, 1, 5), "2026-01-09"),
            bl.ConfigError,
            snapshot(
                "start is 2026-01-05 00:00:00, a naive datetime; expected an aware datetime, such"
                " as datetime(..., tzinfo=ZoneInfo('Asia/Hong_Kong')) or "
                "datetime.now(timezone.utc); or for a day, its date()"
            ),
        ),
        (
            lambda: bl.generate_key("ed25519"),
            bl.ConfigError,
            snapshot(
                "algorithm is 'ed25519'; expected 'Ed25519' or 'RSA-SHA256'; did you mean "
                "'Ed25519'?"
            ),
        ),
        (
            lambda sandbox: sandbox.client(auth="ed25519"),
            bl.ConfigError,
            snapshot(
                "auth is 'ed25519'; expected 'Ed25519', 'RSA-SHA256', 'oauth' or credentials; did"
                " you mean 'Ed25519'?"
            ),
        ),
        (
            lambda records: records.to_pandas(decimals="Decimal"),
            bl.ConfigError,
            snapshot(
                "decimals is 'Decimal'; expected 'float64', 'decimal' or 'string'; did you mean "
                "'decimal'?"
            ),
        ),
        (
            lambda records: records.to_pandas(invalid="nul"),
            bl.ConfigError,
            snapshot("invalid is 'nul'; expected 'raise' or 'null'; did you mean 'null'?"),
        ),
        (
            lambda client: client.fetch_many("fills", ["281756"]),
            bl.ConfigError,
            snapshot(
                "method is 'fills'; expected an Endpoint, or one of server_time, trading_days, "
                "reference_futures, ipo_list, dividends, plate_stocks, crypto_orders, sim_orders,"
                " sim_positions, fills_history; did you mean 'fills_history'?"
            ),
        ),
        (
            lambda: bl.Client(),
            bl.ConfigError,
            snapshot(
                "base_url is missing; pass base_url or profile: no environment variable "
                "BOARDLOT_* is read"
            ),
        ),
        (
            lambda: bl.OAuth("id", store="tokens.db"),
            bl.ConfigError,
            snapshot(
                "store is of type str; expected EncryptedFileStore('tokens.db', passphrase), "
                "KeyringStore(), MemoryStore(), or an object with load(key), save(key, data) and "
                "delete(key)"
            ),
        ),
        (
            lambda: bl.OAuth("id", store={}),
            bl.ConfigError,
            snapshot(
                "store is of type dict; expected EncryptedFileStore('tokens.db', passphrase), "
                "KeyringStore(), MemoryStore(), or an object with load(key), save(key, data) and "
                "delete(key)"
            ),
        ),
        (
            lambda: bl.BearerToken("Bearer abc"),
            bl.ConfigError,
            snapshot("token is not valid; expected the token alone, without the word 'Bearer'"),
        ),
        (
            lambda client: client.fills_history("1", "HK", resume="{}").all(),
            bl.ConfigError,
            snapshot("fills_history: resume is not a checkpoint; pass what checkpoint() returned"),
        ),
    ],
)
def test_a_value_that_is_refused_says_what_is_expected(call, kind, said, sandbox, records, request):
    sent = len(sandbox.requests)
    with pytest.raises(kind) as caught:
        called(call, request)
    assert str(caught.value) == said
    assert len(sandbox.requests) == sent and "secret" not in str(caught.value)


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
