"""Promises 24 and 25: what comes from a file or a user never becomes another header or route."""

import contextlib
import random
import re
from urllib.parse import parse_qsl, unquote, urlsplit

import boardlot as bl
import pytest
from hypothesis import example, given, settings, strategies as st

from ..support.clients import client_of
from ..support.service import StandInService, response
from ..support.vectors import table

HOSTILE = table("hostile")
# How each method with a parameter in its path is called, and the only route it may take.
ROUTES = HOSTILE["routes"]
PARTS = HOSTILE["path parts"]


@pytest.mark.parametrize("bad", HOSTILE["header values"], ids=ascii)
def test_security_24_a_header_value_outside_visible_ascii_is_rejected(bad):
    key = bl.generate_key().private_pem.encode()
    with StandInService(lambda _: response({"server_time_ms": "1790000000123"})) as server:
        plain = client_of(server)
        for value in (bad, f"a{bad}b", f"a{bad}X-Evil: 1"):
            uses = [
                lambda v=value: client_of(server, headers={"X-Note": v}),
                lambda v=value: plain.request("GET", "/x", headers={"X-Note": v}),
                lambda v=value: client_of(server, bl.ApiKey(v, key)),
                lambda v=value: client_of(server, bl.BearerToken(v)),
                lambda v=value: client_of(server, headers={f"X{v}": "1"}),
                lambda v=value: plain.request("GET", "/x", headers={f"X{v}": "1"}),
                lambda v=value: plain.request(f"GET{v}", "/x"),
            ]
            for use in uses:
                # A lone surrogate is not text for the core: Python's own `ValueError` then.
                with pytest.raises(ValueError):
                    use()
        assert server.received == []


@pytest.mark.parametrize("name", HOSTILE["own headers"])
def test_security_24_headers_of_the_transport_and_of_signing_come_once(name):
    """Whatever a user adds: at most one of each, and what is signed stays what it is."""
    with StandInService(
        lambda _: response({"ret_code": 0, "data": {"dividend_list": []}})
    ) as server:
        try:
            client_of(server, headers={name: "evil"}).dividends("HK.00700")
        except bl.ConfigError:
            assert server.received == []
            return
        (received,) = server.received
        value = received.header(name)
        if name in ("Host", "X-Api-Key", "Authorization", "x-timestamp", "X-NONCE"):
            assert value != "evil"


def hostile(dice):
    return "".join(dice.choice(PARTS) for _ in range(dice.randint(1, 6)))


def sent_elsewhere(received, pattern, value):
    """Returns the reason why a request is not the intended one; None if it is."""
    if urlsplit(received.target).path != received.path or "#" in received.target:
        return "another path after parsing"
    found = re.fullmatch(pattern, received.path)
    if found is None:
        return "another route"
    segment = unquote(found[1])
    same = segment == value or (value.isdecimal() and int(value) == int(segment))
    if not same or segment in (".", "..") or re.search(r"[/\\%\x00-\x1f\x7f]", segment):
        return "another segment"
    pairs = parse_qsl(received.query, keep_blank_values=True)
    names = {"page_flag", "page_size", "trd_market", "start", "end"}
    return None if {name for name, _ in pairs} <= names else "another query"


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_security_25_hostile_values_reach_no_other_route(count):
    dice, reached = random.Random(25), []
    with StandInService(lambda _: response({"ret_code": 0, "data": {}}), clock=0.0) as server:
        client = client_of(server)
        for n in range(count):
            method = list(ROUTES)[n % len(ROUTES)]
            more, pattern = ROUTES[method]
            value = hostile(dice)
            before = len(server.received)
            with contextlib.suppress(bl.BoardlotError):
                list(getattr(client, method)(value, *more))
            for received in server.received[before:]:
                why = sent_elsewhere(received, pattern, value)
                if why:
                    reached.append((why, method, value, received.line))
    assert reached == []
    # Some are fine, as `HK.00700` is: the test would prove nothing if none were sent.
    assert server.received
    # The service's own time ends the open range of fills: nothing of the value is in that.
    times = {received.line for received in server.asked_for_time}
    assert times <= {"GET /api/v1.0/server-time HTTP/1.1"}


@pytest.fixture(scope="module")
def client():
    with bl.Client("https://api.boardlot.test/gateway", auth=bl.BearerToken("token")) as client:
        yield client


@settings(deadline=None, max_examples=100)
@example(tail="..%2f")
@example(tail="a/..%5Cb")
@given(tail=st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=6).map("".join))
def test_security_25_a_custom_path_is_sent_as_it_is_or_rejected(client, tail):
    path = "/api/" + tail
    try:
        explained = client.explain("GET", path)
    except (bl.ConfigError, UnicodeEncodeError):
        return
    url = urlsplit(explained.url)
    assert (url.scheme, url.netloc) == ("https", "api.boardlot.test")
    assert unquote(url.path) == "/gateway" + unquote(path)
    assert not {".", ".."} & set(unquote(url.path).replace("\\", "/").split("/"))
    assert url.query == url.fragment == ""
