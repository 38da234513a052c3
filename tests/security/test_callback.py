"""Promises 1 to 4 and 6: the state of a callback, its address, and the responses to it."""

import contextlib
import math
import socket
from pathlib import Path
from urllib.parse import urlencode

import boardlot as bl
import pytest

from ..support.callbacks import call, closed, listener_address, listens, query_of, send_raw, visit
from ..support.clients import client_of
from ..support.logins import begin, callback_query, finish_for_real, quotes, waiting


def test_security_01_state_has_128_random_bits_and_is_new_each_time(server):
    states = []
    for _ in range(200):
        flow = begin(server)
        states.append(query_of(flow.url)["state"])
        with contextlib.suppress(bl.BoardlotError):
            flow.finish(server.authorize(flow.url))
    assert len(set(states)) == 200
    assert min(map(len, states)) >= 22
    columns = zip(*states, strict=False)
    # 200 draws show nearly all values of a character: 6 bits each of base64, 4 of hexadecimal.
    assert sum(math.log2(len(set(column))) for column in columns) >= 120


def test_security_01_a_state_is_used_once(server):
    flow = begin(server)
    url = server.authorize(flow.url)
    flow.finish(url)
    with pytest.raises(bl.BoardlotError):
        flow.finish(url)
    with pytest.raises(bl.BoardlotError):
        flow.finish(server.authorize(flow.url))
    assert server.counts["authorization_code"] == 1


def test_security_02_after_1000_forged_callbacks_the_real_one_logs_in(server):
    flow = begin(server, timeout=60.0)
    login = waiting(flow)
    state = query_of(flow.url)["state"]
    for n in range(1000):
        forged = f"{state[:-2]}{n % 100:02}" if n % 2 else f"forged-{n}"
        if forged == state:
            continue
        assert call(flow, query=f"code=forged{n}&state={forged}").status == 400, n
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, login)


def test_security_02_a_wrong_state_with_an_error_does_not_end_the_login(server):
    flow = begin(server)
    login = waiting(flow)
    for query in ("error=access_denied&state=forged", "error=access_denied", "error=x&state="):
        assert call(flow, query=query).status == 400
    finish_for_real(server, flow, login)


@pytest.mark.parametrize("by_hand", [False, True])
def test_security_44_a_callback_with_another_issuer_ends_the_login_and_names_both(server, by_hand):
    flow = begin(server)
    login = None if by_hand else waiting(flow)
    url = server.authorize(flow.url) + "&iss=https%3A%2F%2Fother.example"
    expected = (
        rf"iss is 'https://other\.example'; expected the service of this login, {server.base_url}"
    )
    with pytest.raises(bl.OAuthError, match=expected):
        if login is None:
            flow.finish(url)
        else:
            visit(url)
            login.get()
    assert server.counts["authorization_code"] == 0


def test_security_02_other_paths_get_404_and_use_nothing_up(server):
    flow = begin(server)
    login = waiting(flow)
    _, path = listener_address(flow)
    query = callback_query(server, flow)
    others = ["/favicon.ico", "/robots.txt", path + "x", path.rstrip("/") + "/x", "//" + path]
    others += ["" if path == "/" else "/", path.upper() if path != path.upper() else "/X"]
    for other in filter(None, others):
        assert call(flow, f"{other}?{query}").status == 404, other
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, login)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD", "TRACE"])
def test_security_02_other_methods_get_405_and_use_nothing_up(server, method):
    flow = begin(server)
    login = waiting(flow)
    _, path = listener_address(flow)
    target = f"{path}?{callback_query(server, flow)}"
    headers = ("Origin: https://evil.example", "Content-Length: 0")
    assert call(flow, target, method=method, headers=headers).status == 405
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, login)


def test_security_02_what_is_not_http_does_not_end_the_login(server):
    flow = begin(server)
    login = waiting(flow)
    port, path = listener_address(flow)
    odd = [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60) + b"\r\n\r\n"]
    odd += [b"\r\n\r\n", b"GET\r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n"]
    odd += [f"GET {path} HTTP/9.9\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode(), b""]
    for data in odd:
        if data:
            assert send_raw(port, data).status in (0, *range(400, 506)), data
        else:
            assert listens(port)
    finish_for_real(server, flow, login)


def listening_addresses(port):
    """Addresses on which this machine listens on `port`, as the kernel tells them."""
    found = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if int(number, 16) == port and fields[3] == "0A":
                found.append(address)
    return found


def test_security_03_listens_on_127_0_0_1_only(server):
    flow = begin(server)
    login = waiting(flow)
    port, _ = listener_address(flow)
    assert listens(port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        own = "127.0.0.1"
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))
            own = probe.getsockname()[0]
    for host in {"127.0.0.2", "::1", own} - {"127.0.0.1"}:
        assert not listens(port, host), host
    if Path("/proc/net/tcp").exists():
        assert listening_addresses(port) == ["0100007F"]
    finish_for_real(server, flow, login)


def test_security_03_the_client_is_kept_with_its_port(server):
    store = bl.MemoryStore()
    uris = []
    for _ in range(3):
        flow = begin(server, store)
        flow.finish(server.authorize(flow.url))
        uris.append((query_of(flow.url)["client_id"], query_of(flow.url)["redirect_uri"]))
        assert closed(listener_address(flow)[0])
    assert server.counts["register"] == 1
    assert len(set(uris)) == 1


def test_security_03_a_port_that_is_taken_means_a_new_client(server):
    store = bl.MemoryStore()
    first = begin(server, store)
    first.finish(server.authorize(first.url))
    port, _ = listener_address(first)
    assert closed(port)
    with socket.create_server(("127.0.0.1", port)):
        second = begin(server, store)
        assert listener_address(second)[0] != port
        oauth = second.finish(server.authorize(second.url))
    assert server.counts["register"] == 2
    assert query_of(first.url)["client_id"] != query_of(second.url)["client_id"]
    assert list(quotes(client_of(server, oauth))) == []


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "evil.example:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "127.1:{port}",
        "2130706433:{port}",
    ],
)
def test_security_04_another_host_is_rejected(server, host):
    flow = begin(server)
    login = waiting(flow)
    port, _ = listener_address(flow)
    reply = call(flow, query=callback_query(server, flow), host=host.format(port=port))
    assert 400 <= reply.status < 500
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, login)


def test_security_04_a_missing_or_doubled_host_is_rejected(server):
    flow = begin(server)
    login = waiting(flow)
    port, path = listener_address(flow)
    line = f"GET {path}?{callback_query(server, flow)} HTTP/1."
    doubled = f"1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n"
    for lines in (line + "1\r\n", line + "0\r\n", line + doubled):
        reply = send_raw(port, (lines + "\r\n").encode())
        assert reply.status == 0 or 400 <= reply.status < 500, lines
    assert server.counts["authorization_code"] == 0
    finish_for_real(server, flow, login)


def responses_of_every_kind(server, flow):
    """(what, response) with a mark in all that a page could reflect; the last one logs in."""
    state = query_of(flow.url)["state"]
    origin = ("Origin: https://evil.example", "X-Mark: reflected<b>mark")
    mark = "reflected%3Cb%3Emark"
    yield "wrong state", call(flow, query=f"code={mark}&state={mark}", headers=origin)
    yield "wrong error", call(flow, query=f"error={mark}&state=x", headers=origin)
    yield "other path", call(flow, f"/{mark}", headers=origin)
    preflight = (*origin, "Access-Control-Request-Method: GET")
    yield "preflight", call(flow, f"/?{mark}", method="OPTIONS", headers=preflight)
    yield "other host", call(flow, query=f"code=x&state={state}", host="reflectedmark")
    query = callback_query(server, flow)
    yield "right", call(flow, query=f"{query}&extra={mark}", headers=origin)


def test_security_04_every_response_is_static_and_closed_to_other_sites(server):
    flow = begin(server)
    login = waiting(flow)
    state = query_of(flow.url)["state"]
    for what, reply in responses_of_every_kind(server, flow):
        assert not [name for name in reply.headers if name.startswith("access-control-")], what
        text = reply.raw.decode("utf-8", "replace")
        assert "mark" not in text.lower().replace("benchmark", ""), what
        assert state not in text, what
        policy = reply.headers["content-security-policy"]
        directives = [part.strip() for part in policy.split(";")]
        assert "default-src 'none'" in directives, what
        assert "frame-ancestors 'none'" in directives, what
        assert "unsafe-eval" not in policy and "script-src" not in policy, what
        assert reply.headers["referrer-policy"] == "no-referrer", what
        assert "no-store" in reply.headers["cache-control"], what
        assert "<script" not in text.lower(), what
    assert what == "right" and reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "You are logged in" in text and "close" in text
    assert list(quotes(client_of(server, login.get()))) == []


def test_security_06_error_and_description_are_surfaced(server):
    for by_hand in (False, True):
        flow = begin(server)
        state = query_of(flow.url)["state"]
        query = f"error=access_denied&error_description=The+user+said%20no&state={state}"
        if by_hand:
            with pytest.raises(bl.OAuthError) as caught:
                flow.finish(f"{query_of(flow.url)['redirect_uri']}?{query}")
        else:
            login = waiting(flow)
            call(flow, query=query)
            with pytest.raises(bl.OAuthError) as caught:
                login.get()
        assert caught.value.error == "access_denied"
        assert caught.value.description == "The user said no"
    assert server.counts["authorization_code"] == 0


def test_security_06_a_pasted_error_with_a_foreign_state_is_not_believed(server):
    flow = begin(server)
    place = query_of(flow.url)["redirect_uri"]
    with pytest.raises(bl.OAuthError) as caught:
        flow.finish(f"{place}?error=access_denied&error_description=forged&state=foreign")
    assert caught.value.error != "access_denied"
    assert "forged" not in f"{caught.value} {caught.value.description}"


MALFORMED = [
    "code={code}",
    "code={code}&state=",
    "code={code}&state",
    "code={code}&State={state}",
    "state={state}",
    "code=&state={state}",
    "code={code}&code={code}&state={state}",
    "code={code}&code=other&state={state}",
    "code={code}&state={state}&state={state}",
    "code={code}&state={state}&state=other",
    "state=other&code={code}&state={state}",
    "",
]


@pytest.mark.parametrize("query", MALFORMED)
def test_security_06_a_missing_or_doubled_code_or_state_is_rejected(server, query):
    flow = begin(server)
    login = waiting(flow)
    right = query_of(server.authorize(flow.url))
    assert call(flow, query=query.format(**right)).status == 400
    assert server.counts["authorization_code"] == 0
    # With the right state the login may be over; if it is not, the real callback works.
    if login.over(0.5):
        with pytest.raises(bl.OAuthError):
            login.get()
    else:
        finish_for_real(server, flow, login)


def test_security_06_a_malformed_pasted_callback_is_rejected_and_uses_nothing_up(server):
    flow = begin(server)
    url = server.authorize(flow.url)
    place, right = url.partition("?")[0], query_of(url)
    code, state = right["code"], right["state"]
    states = [state + "x", state[:-1], state.swapcase(), ""]
    queries = [query.format(**right) for query in (*MALFORMED, "#code={code}&state={state}")]
    queries += [f"code={code}&state={wrong}" for wrong in states]
    pasted = ["", "x", "http://", "\x00", "https://evil.example/", "é" * 9999]
    for wrong in [*pasted, *(f"{place}?{query}" for query in queries)]:
        with pytest.raises((bl.OAuthError, bl.ConfigError)) as caught:
            flow.finish(wrong)
        assert state not in str(caught.value), wrong
    assert server.counts["authorization_code"] == 0
    assert list(quotes(client_of(server, flow.finish(url)))) == []


@pytest.mark.parametrize("name", ["error", "error_description"])
def test_security_14_an_error_in_a_callback_shows_no_secret_of_the_client(server, name):
    flow = begin(server, confidential=True)
    (client,) = server.clients.values()
    query = query_of(flow.url)
    error = {"error": "x", name: f"it was {client.secret}", "state": query["state"]}
    with pytest.raises(bl.OAuthError, match="it was") as caught:
        flow.finish(f"{query['redirect_uri']}?{urlencode(error)}")
    shown = [str(caught.value), caught.value.error, caught.value.description]
    assert client.secret not in "".join(shown)
