"""Promises 1 to 4 and 6: the state of a callback, its address, and the responses to it."""

import contextlib
import math
import socket

import boardlot as bl
import pytest

from ..support.callbacks import call, closed, kept_port, listener_address, listens, query_of
from ..support.clients import client_of
from ..support.logins import begin, callback_query, quotes, waiting
from ..support.sockets import OPEN_FILES, listening


def test_security_01_state_has_128_random_bits_and_is_new_each_time(server):
    states = []
    for _ in range(200):
        flow = begin(server)
        states.append(query_of(flow.url)["state"])
        flow.cancel()
    assert len(set(states)) == 200
    assert min(map(len, states)) >= 22
    columns = zip(*states, strict=False)
    # 200 draws show nearly all values of a character: 6 bits each of base64, 4 of hexadecimal.
    assert sum(math.log2(len(set(column))) for column in columns) >= 120


def test_security_01_a_state_is_used_once(server):
    flow = begin(server)
    url = server.authorize(flow.url)
    flow.finish(url)
    for again in (url, server.authorize(flow.url)):
        with pytest.raises(bl.BoardlotError):
            flow.finish(again)
    assert server.counts["authorization_code"] == 1


def test_security_02_after_1000_forged_callbacks_the_real_one_logs_in(login):
    state = query_of(login.url)["state"]
    for n in range(1000):
        forged = f"{state[:-1]}{'~' * (n % 3)}" if n % 2 else f"forged-{n}"
        assert call(login, query=f"code=forged{n}&state={forged}").status == 400, n
    for query in ("error=access_denied&state=forged", "error=access_denied", "error=x&state="):
        assert call(login, query=query).status == 400


def test_security_02_other_paths_get_404_and_other_methods_405_and_use_nothing_up(server, login):
    _, path = listener_address(login)
    query = callback_query(server, login)
    others = ["/favicon.ico", f"{path}x", f"{path}/x", f"/{path}", "/", path.upper()]
    for other in others:
        assert call(login, f"{other}?{query}").status == 404, other
    headers = ("Origin: https://evil.example", "Content-Length: 0")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD", "TRACE"):
        reply = call(login, f"{path}?{query}", method=method, headers=headers)
        assert reply.status == 405, method


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="this system does not show them")
def test_security_03_listens_on_127_0_0_1_only(login):
    port, _ = listener_address(login)
    assert {host for host, number in listening() if number == port} == {"127.0.0.1"}
    assert not listens(port, "127.0.0.2")


def test_security_03_the_client_is_kept_with_its_port(server):
    store = bl.MemoryStore()
    uris = set()
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            flow = begin(server, store)
            flow.finish(server.authorize(flow.url))
            uris.add((query_of(flow.url)["client_id"], query_of(flow.url)["redirect_uri"]))
            stack.enter_context(kept_port(listener_address(flow)[0]))
    assert server.counts["register"] == len(uris) == 1


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
    statuses = []
    for what, reply in responses_of_every_kind(server, flow):
        statuses.append(reply.status)
        assert not [name for name in reply.headers if name.startswith("access-control-")], what
        text = reply.raw.decode("utf-8", "replace")
        assert "mark" not in text.lower() and state not in text, what
        policy = reply.headers["content-security-policy"]
        directives = [part.strip() for part in policy.split(";")]
        assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(directives), what
        assert "unsafe-eval" not in policy and "script-src" not in policy, what
        assert reply.headers["referrer-policy"] == "no-referrer", what
        assert "no-store" in reply.headers["cache-control"], what
        assert "<script" not in text.lower(), what
    assert statuses == [400, 400, 404, 404, 400, 200]
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "You are logged in" in text and "close" in text
    assert list(quotes(client_of(server, login.result(90)))) == []


@pytest.mark.parametrize("by_hand", [False, True])
def test_security_06_error_and_description_are_surfaced(server, by_hand):
    flow = begin(server)
    wanted = query_of(flow.url)
    said = "error=access_denied&error_description=The+user+said%20no"
    login = None if by_hand else waiting(flow)
    with pytest.raises(bl.OAuthError) as caught:
        if login is None:
            flow.finish(f"{wanted['redirect_uri']}?{said}&state={wanted['state']}")
        else:
            call(flow, query=f"{said}&state={wanted['state']}")
            login.result(90)
    assert (caught.value.error, caught.value.description) == ("access_denied", "The user said no")
    assert closed(listener_address(flow)[0])
    assert server.counts["authorization_code"] == 0
