"""Arguments as users hold them: numbers of numpy, bools, NaN; names of headers in any case."""

import copy
import json
import pickle
from decimal import Decimal
from enum import IntEnum

import boardlot as bl
import numpy as np
import pandas as pd
import pytest
from boardlot._support.engines.partitions import count
from inline_snapshot import snapshot

from ..support.service import StandInService, response
from ..support.words import raises

URL = "https://api.example.com"
REDIRECT = "https://app.example.com/callback"
STORE = bl.MemoryStore()
LISTER = bl.Endpoint("lister", "GET", "/y", rows="data.list")
POSTER = bl.Endpoint("poster", "POST", "/y", rows="data.list")
PAGING = {"paging": "next_key", "rows": "data.list"}


class Page(IntEnum):
    FIRST = 1


WHOLE = [5, np.int64(5), np.uint8(5), np.int32(5), np.array(5), pd.Series([5])[0]]
FLOATS = [2.5, np.float64(2.5), np.float32(2.5), np.float16(2.5), np.longdouble(2.5)]
NOT_FINITE = [
    *(float("nan"), float("inf"), -float("inf"), np.float64("nan"), np.float32("inf")),
    *(np.float16("nan"), np.longdouble("-inf")),
]


def test_numbers_of_numpy_are_counts_and_seconds():
    for number in WHOLE:
        assert count(number) == 5 and type(count(number)) is int
        bl.Archive(":memory:", wait=number).close()
        bl.Client(URL, timeout=number, max_retries=number, rate_limit=number).close()
    for number in FLOATS:
        bl.Archive(":memory:", wait=number).close()
        bl.Client(URL, timeout=number, rate_limit=number).close()


@pytest.fixture
def echo():
    """A service that agrees to everything, and a client of it."""
    listed = {"ret_code": 0, "code": 0, "data": {"list": [], "orders": []}}
    with StandInService(lambda _: response(listed)) as server, bl.Client(server.base_url) as client:
        yield server, client


@pytest.mark.parametrize("number, text", [(n, "5") for n in WHOLE] + [(n, "2.5") for n in FLOATS])
def test_numbers_of_numpy_are_sent_like_those_of_python(number, text, echo):
    server, client = echo
    client.request("GET", "/x", query={"a": number})
    client.request("GET", "/x", query=[("a", number)])
    assert [request.query for request in server.received] == [f"a={text}"] * 2
    client.request("POST", "/x", body={"a": number, "b": [number]})
    client.request("POST", "/x", body=[{"a": number}])
    assert [request.body.decode() for request in server.received[2:]] == [
        f'{{"a":{text},"b":[{text}]}}',
        f'[{{"a":{text}}}]',
    ]
    client.call(LISTER, a=number)
    assert server.received[-1].query == f"a={text}"
    if text == "5":
        client.ipo_list("hk", request_type=number + 4)
        assert server.received[-1].query == "request_type=9"


def test_the_value_of_an_enum_is_sent(echo):
    server, client = echo
    client.request("GET", "/x", query={"a": Page.FIRST, "b": bl.IpoOfferType.PUBLIC_OFFER_ONLY})
    assert server.received[0].query == "a=1&b=PUBLIC_OFFER_ONLY"


@pytest.mark.parametrize(
    "call",
    [
        lambda client, number: client.request("GET", "/x", query={"a": number}),
        lambda client, number: client.request("GET", "/x", query=[("a", number)]),
        lambda client, number: client.request("POST", "/x", body={"a": [number]}),
        lambda client, number: client.request("POST", "/x", body=[number]),
        lambda client, number: client.paginate("GET", "/x", query={"a": number}, **PAGING).all(),
        lambda client, number: client.paginate("POST", "/x", body={"a": number}, **PAGING).all(),
        lambda client, number: client.explain("GET", "/x", query={"a": number}),
        lambda client, number: client.call(LISTER, a=number),
        lambda client, number: client.call(POSTER, a=number),
        lambda client, number: client.call(POSTER, a={"b": number}),
        lambda client, number: client.fetch_many(LISTER, ["1"], a=number),
        lambda client, number: client.sim_positions("1", market=number),
        lambda client, number: client.fills_history("1", "HK", start=number).all(),
    ],
)
@pytest.mark.parametrize("number", NOT_FINITE, ids=repr)
def test_no_way_sends_a_number_that_is_not_finite(number, call, echo):
    server, client = echo
    with pytest.raises(bl.ConfigError):
        call(client, number)
    assert server.received == []


@pytest.mark.parametrize("text", ['{"a": NaN}', "[Infinity]", "-Infinity"])
def test_the_command_line_sends_no_such_number_either(text, echo, capsys):
    from boardlot.cli import main

    server, _ = echo
    assert main(["--base-url", server.base_url, "request", "POST", "/x", "--body", text]) == 2
    assert "is not a number" in capsys.readouterr().err and server.received == []


@pytest.mark.parametrize(
    "call",
    [
        lambda flag: bl.Client(URL, timeout=flag),
        lambda flag: bl.Client(URL, connect_timeout=flag),
        lambda flag: bl.Client(URL, max_retries=flag),
        lambda flag: bl.Client(URL, rate_limit=flag),
        lambda flag: bl.Client(URL, max_connections=flag),
        lambda flag: bl.Client(URL, max_body_bytes=flag),
        lambda flag: bl.Sandbox(seed=flag),
        lambda flag: bl.Sandbox(port=flag),
        lambda flag: bl.Sandbox(fills=flag),
        lambda flag: bl.Sandbox(orders=flag),
        lambda flag: bl.Sandbox(plate_stocks=flag),
        lambda flag: bl.Sandbox(token_lifetime=flag),
        lambda flag: bl.Sandbox(clock_offset=flag),
        lambda flag: bl.Faults(latency=flag),
        lambda flag: bl.Faults(html_rate=flag),
        lambda flag: bl.Faults(seed=flag),
        lambda flag: bl.RateLimit(flag),
        lambda flag: bl.RateLimit(5, burst=flag),
        lambda flag: bl.generate_key("RSA-SHA256", bits=flag),
        lambda flag: bl.signature_payload(flag, "GET", "/x"),
        lambda flag: bl.begin_login(URL, redirect_port=flag, store=STORE),
        lambda flag: bl.begin_login(URL, timeout=flag, store=STORE),
        lambda flag: bl.login(URL, timeout=flag, store=STORE),
        lambda flag: bl.register_client(URL, redirect_uris=[REDIRECT], timeout=flag),
        lambda flag: bl.OAuthApp(URL, "c", timeout=flag, store=STORE, redirect_uri=REDIRECT),
        lambda flag: bl.AsyncOAuthApp(URL, "c", timeout=flag, store=STORE, redirect_uri=REDIRECT),
        lambda flag: bl.Archive(":memory:", wait=flag),
        count,
    ],
)
@pytest.mark.parametrize("flag", [True, False, np.True_, np.False_], ids=repr)
def test_a_bool_is_no_number_of_an_option(flag, call):
    with pytest.raises((TypeError, ValueError), match=r"bool|True|False"):
        call(flag)


def pager_of(client):
    return client.fills_history("1", "HK", start=1_780_000_000_000_000)


@pytest.mark.parametrize(
    "call",
    [
        lambda client, flag: pager_of(client).all(max_items=flag),
        lambda client, flag: pager_of(client).all(max_pages=flag),
        lambda client, flag: client.fetch_many("dividends", ["HK.00700"], concurrency=flag),
        lambda client, flag: client.fills_history(
            "1", "HK", windows=flag, start=1_780_000_000_000_000
        ),
        lambda client, flag: client.fills_history("1", "HK", page_size=flag),
        lambda client, flag: client.fills_history(flag, "HK"),
        lambda client, flag: client.fills_history("1", "HK", start=flag),
        lambda client, flag: client.ipo_list("hk", request_type=flag),
        lambda client, flag: client.plate_stocks("HK.BK1", limit=flag),
        lambda client, flag: client.sim_positions("1", market=flag),
        lambda client, flag: client.request("GET", "/x", query={"a": flag}),
    ],
)
@pytest.mark.parametrize("flag", [True, False, np.True_, np.False_], ids=repr)
def test_a_bool_is_no_number_of_a_request(flag, call, echo):
    server, client = echo
    with pytest.raises((TypeError, ValueError), match=r"bool|True|False"):
        call(client, flag)
    assert server.received == []


def test_a_missing_time_is_named_as_missing(echo):
    _, client = echo
    for missing in (pd.NaT, pd.Series([pd.NaT])[0]):
        with pytest.raises(bl.ConfigError, match="NaT, a missing time") as caught:
            client.fills_history("1", "HK", start=missing)
        assert "naive" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (pd.NA, "pandas.NA, a missing value"),
        (pd.NaT, "pandas.NaT, a missing time"),
        (np.datetime64("NaT"), "numpy's NaT, a missing time"),
    ],
    ids=repr,
)
def test_missing_values_of_others_are_named_by_their_names(missing, named, echo):
    server, client = echo
    calls = [
        lambda: client.dividends(missing),
        lambda: client.fills_history("1", "HK", start=missing),
        lambda: client.fetch_many("dividends", [missing]),
        lambda: client.request("GET", "/x", query={"a": missing}),
        lambda: client.request("POST", "/x", body={"a": [missing]}),
        lambda: client.call(LISTER, a=missing),
        lambda: client.fills_history("1", "HK").all(max_items=missing),
        lambda: client.call(LISTER).select(missing),
        lambda: bl.Client(URL, timeout=missing),
        lambda: bl.Client(missing),
        lambda: bl.BearerToken(missing),
    ]
    for number, call in enumerate(calls):
        with pytest.raises((bl.ConfigError, TypeError)) as caught:
            call()
        assert f" {named}" in str(caught.value), number
    assert [request.path for request in server.received] == ["/y"]


def test_a_bool_of_numpy_is_a_flag(echo):
    _, client = echo
    assert client.fetch_many("dividends", [], progress=np.False_) == []
    with raises(TypeError, snapshot("progress is of type int64; expected True or False")):
        client.fetch_many("dividends", [], progress=np.int64(1))


def test_numbers_of_numpy_are_numbers_of_queries_of_archives():
    given = [np.int64(5), np.float32(2.5), np.float64(1.5), np.True_, np.str_("a"), 7, None]
    with bl.Archive(":memory:") as archive:
        [row] = archive.sql(f"select {', '.join('?' * len(given))}", given)
        assert list(row) == [5, 2.5, 1.5, 1, "a", 7, None]
        for missing, name in ((pd.NA, "pandas.NA"), (pd.NaT, "pandas.NaT")):
            with pytest.raises(bl.ConfigError, match=f"parameter 1 of the query is {name}, a miss"):
                archive.sql("select ?", [missing])


def test_what_is_no_number_is_refused_by_its_type(echo):
    _, client = echo
    with raises(
        bl.ConfigError,
        snapshot(
            "body cannot be written as JSON: Object of type Decimal is not JSON serializable;"
            " write the value as the service sends it, often a text"
        ),
    ):
        client.request("POST", "/x", body={"a": Decimal("1.5")})
    with pytest.raises(bl.ConfigError, match="of type complex"):
        client.request("GET", "/x", query={"a": 1j})


def same_in_any_case(headers):
    for name in ("Retry-After", "retry-after", "RETRY-AFTER"):
        assert headers[name] == headers.get(name) == "7" and name in headers
    assert headers.get("X-None") is None and headers.get("x", "y") == "y" and "X" not in headers
    assert 5 not in headers
    with pytest.raises(KeyError, match="X-None"):
        headers["X-None"]
    assert "retry-after" in list(headers) and isinstance(headers, dict)


def test_headers_are_found_by_their_names_in_any_case():
    sent = {"Retry-After": "7", "X-Two": "a"}
    responses = [response({"a": 1}, headers=sent), response(b"", 429, sent)]
    with StandInService(responses) as server, bl.Client(server.base_url, max_retries=0) as client:
        headers = client.request("GET", "/x").headers
        with pytest.raises(bl.RateLimited) as caught:
            client.dividends("HK.00700")
        shown = client.explain("GET", "/x").headers
    for found in (headers, caught.value.headers):
        same_in_any_case(found)
        for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            same_in_any_case(again)
        assert json.loads(json.dumps(found)) == found == dict(found)
    assert all(shown[name.upper()] == shown[name.lower()] for name in shown)
    error = pickle.loads(pickle.dumps(caught.value))
    same_in_any_case(error.headers)
