"""A client's reports of its requests: log lines, hooks, and nothing by default; the context in
which hooks run, and what they may add to a request."""

import asyncio
import contextvars
import logging
import sys
import threading

import boardlot as bl
import pytest

from ..support.clients import MODES, run
from ..support.processes import program, run_python
from ..support.service import StandInService, response
from ..support.threads import wait_until

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
BUSY = response(b"busy", 503)
PATH = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
ROUTE = PATH.replace("HK.00700", "{symbol}")
HTTP, AUTH, RETRY = (f"boardlot.{name}" for name in ("http", "auth", "retry"))


class HookRecorder:
    """Both hooks of a client, and the events that they were called with, in their order."""

    def __init__(self):
        self.events = []
        self.options = {
            "on_request": lambda event: self.events.append(("request", event)),
            "on_response": lambda event: self.events.append(("response", event)),
        }

    def responses(self):
        return [event for kind, event in self.events if kind == "response"]


def until_there_are(count, events):
    """Waits until there are this many: a call may end a moment before its last event."""
    wait_until(lambda: len(events) >= count)
    assert len(events) == count, events


@pytest.fixture
def lines(caplog):
    """The records of one logger, at the lowest level."""
    caplog.set_level(1)
    return lambda name: [record for record in caplog.records if record.name == name]


def dividends(client):
    return client.call("dividends", "HK.00700")


@pytest.mark.parametrize("mode", MODES)
def test_each_attempt_has_its_line_and_each_retry_its_reason(lines, mode):
    with StandInService([BUSY, response(drop=True), OK]) as server:
        run(mode, server, dividends, max_retries=2)
    host = f"127.0.0.1:{server.port}"
    facts = ("levelno", "endpoint", "route", "host", "method", "path", "status", "attempt")
    assert [tuple(getattr(line, name) for name in facts) for line in lines(HTTP)] == [
        (logging.DEBUG, "dividends", ROUTE, host, "GET", PATH, status, attempt)
        for attempt, status in enumerate([503, None, 200], 1)
    ]
    assert "no response" in lines(HTTP)[1].getMessage()
    assert lines(HTTP)[2].getMessage().startswith(f"GET {PATH} -> 200 in ")
    assert all(line.duration >= 0 for line in lines(HTTP))
    retries = [(line.levelno, line.attempt) for line in lines(RETRY)]
    assert retries == [(logging.INFO, 1), (logging.INFO, 2)]
    for line in lines(RETRY):
        assert PATH in line.getMessage() and "retrying in" in line.getMessage()


def test_a_clock_correction_and_a_refresh_have_a_line_each(lines):
    with (
        bl.Sandbox(clock_offset=60.0) as sandbox,
        sandbox.client() as client,
        sandbox.client("oauth") as logged_in,
    ):
        client.dividends("HK.00700")
        logged_in.dividends("HK.00700")
        sandbox.revoke_tokens()
        logged_in.dividends("HK.00700")
    clock, token = (line.getMessage() for line in lines(AUTH) if line.levelno == logging.INFO)
    assert clock.startswith("corrected the clock: the service is ") and clock.endswith(" ms ahead")
    assert token == "refreshed the access token"


def test_a_log_line_repeats_nothing_of_what_the_service_said(lines, caplog):
    rejection = response({"ret_code": -2, "ret_msg": "canary"}, 503)
    with pytest.raises(bl.ServiceError) as caught:
        run("sync", [rejection] * 2, dividends, max_retries=1)
    assert caught.value.message == "canary" and "canary" not in caplog.text
    assert "rejected by the service" in lines(RETRY)[0].getMessage()


SILENT = program(__file__, "silent")


@pytest.mark.parametrize("logging_is", ["imported", "not there"])
def test_it_is_silent_by_default(logging_is):
    with StandInService([OK, BUSY, response(drop=True)]) as server:
        assert run_python(SILENT, server.base_url, logging_is) == ("", "")


@pytest.mark.parametrize("mode", MODES)
def test_hooks_are_called_before_and_after_each_attempt(mode):
    hooks, seen = HookRecorder(), []

    def script(received):
        # The hook was called before the request was sent.
        seen.append([kind for kind, _ in hooks.events])
        return [BUSY, response(drop=True), OK][len(seen) - 1]

    with StandInService(script) as server:
        base_url = f"{server.base_url}/open"
        run(mode, base_url, dividends, max_retries=2, **hooks.options)
        until_there_are(6, hooks.events)
    host = f"127.0.0.1:{server.port}"
    facts = [
        (kind, e.endpoint, e.route, e.method, e.host, e.path, e.attempt) for kind, e in hooks.events
    ]
    assert facts == [
        (kind, "dividends", ROUTE, "GET", host, f"/open{PATH}", attempt)
        for attempt in (1, 2, 3)
        for kind in ("request", "response")
    ]
    assert seen == [["request", "response"] * n + ["request"] for n in range(3)]
    ids = [event.id for _, event in hooks.events]
    assert ids[::2] == ids[1::2] and len(set(ids)) == 3
    outcomes = [(one.status, one.error_type, one.error is None) for one in hooks.responses()]
    assert outcomes == [(503, None, True), (None, "TransportError", False), (200, None, True)]
    assert all(one.duration >= 0 for one in hooks.responses())


async def never_awaited(_event):
    """A hook that is a coroutine function."""


@pytest.mark.parametrize("name", ["on_request", "on_response"])
@pytest.mark.parametrize("hook", ["print", never_awaited])
def test_a_hook_that_cannot_be_called_is_rejected(name, hook):
    with pytest.raises(bl.ConfigError, match=name):
        bl.Client("http://127.0.0.1:1", **{name: hook})


def test_no_event_shows_a_query_a_body_or_a_header():
    hooks = HookRecorder()
    word = "canary-5d1f"
    with StandInService([response({"echo": word}), BUSY]) as server:
        options = {"auth": bl.BearerToken(word), "headers": {"X-Word": word}, **hooks.options}
        with bl.Client(server.base_url, max_retries=0, **options) as client:
            client.request("POST", "/x", query={"word": word}, body={"word": word})
    # A custom request has no route.
    assert {(event.endpoint, event.route) for _, event in hooks.events} == {("POST /x", None)}
    for _, event in hooks.events:
        seen = [str(getattr(event, name)) for name in dir(event) if not name.startswith("__")]
        assert word not in repr(event) + str(event) + " ".join(seen)


# The context in which hooks run, and what they may add to a request.

USER = contextvars.ContextVar("user", default="nobody")


SANDBOX = {"fills": 300}


@pytest.fixture
def reported(monkeypatch):
    """The exceptions of hooks."""
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: reported.append(str(one.exc_value)))
    return reported


# The caller's context


def run_as(user, work, *arguments):
    context = contextvars.copy_context()
    context.run(USER.set, user)
    return context.run(work, *arguments)


WORKS = {
    "many": lambda client, _: client.fetch_many("dividends", ["HK.00700", "US.AAPL", "HK.00005"]),
    "windows": lambda client, account: client.fills_history(
        account, "HK", page_size=20, start="2026-01-01", end="2026-06-01T00:00Z", windows=3
    ).to_arrow(),
    "rows": lambda client, account: list(client.fills_history(account, "HK", page_size=20)),
}


@pytest.mark.parametrize("work", WORKS)
def test_hooks_of_a_blocking_call_run_in_the_callers_context(sandbox, work):
    seen = []
    note = lambda _: seen.append(USER.get())  # noqa: E731
    with sandbox.client(on_request=note, on_response=note) as client:
        for user in ("alice", "bob"):
            run_as(user, WORKS[work], client, sandbox.accounts["trade"][0])
            assert seen and set(seen) == {user}
            seen.clear()


@pytest.mark.parametrize("work", ["many", "windows"])
def test_hooks_of_concurrent_tasks_run_each_in_its_own_context(sandbox, work):
    seen = {}

    def note(event):
        seen.setdefault(event.id, set()).add(USER.get())

    async def use(client, user):
        USER.set(user)
        await WORKS[work](client, sandbox.accounts["trade"][0])

    async def main():
        async with sandbox.async_client(on_request=note, on_response=note) as client:
            await asyncio.gather(*(use(client, f"user {n}") for n in range(5)))

    asyncio.run(main())
    assert all(len(users) == 1 for users in seen.values())
    assert set().union(*seen.values()) == {f"user {n}" for n in range(5)}


def test_log_handlers_see_the_callers_context(sandbox, caplog, monkeypatch):
    seen = []
    caplog.set_level(logging.DEBUG, "boardlot.http")
    monkeypatch.setattr(caplog.handler, "emit", lambda _: seen.append(USER.get()))
    with sandbox.client() as client:
        run_as("alice", client.dividends, "HK.00700")
    assert seen == ["alice"]


# Headers


def sent_with(hook, responses=(OK,), work=lambda c: c.dividends("HK.00700"), **options):
    """The requests as the server received them."""
    with (
        StandInService(list(responses)) as server,
        bl.Client(server.base_url, on_request=hook, **options) as client,
    ):
        work(client)
    return server.received


def test_a_hook_adds_headers_to_each_attempt():
    hook = lambda event: {"X-Attempt": str(event.attempt), "traceparent": f"00-{event.id}"}  # noqa: E731
    first, second = sent_with(hook, [BUSY, OK])
    assert (first.header("x-attempt"), second.header("x-attempt")) == ("1", "2")
    assert first.header("traceparent") != second.header("traceparent")


@pytest.mark.parametrize("auth", ["Ed25519", "oauth"])
def test_added_headers_are_outside_the_signature(sandbox, auth, reported):
    with sandbox.client(auth, on_request=lambda _: {"X-Trace": "1"}) as client:
        client.dividends("HK.00700")
        list(client.plate_stocks("HK.BK1001", limit=200))
    assert reported == []


@pytest.mark.parametrize("name", ["Authorization", "X-NONCE", "Host", "Content-Length"])
def test_headers_that_the_client_sets_itself_are_rejected(name, reported):
    (request,) = sent_with(lambda _: {name: "forged", "X-Also": "1"}, auth=bl.BearerToken("token"))
    assert b"forged" not in request.everything and request.header("x-also") is None
    assert request.header("authorization") == "Bearer token"
    assert name in reported[0] and "does not set itself" in reported[0]


@pytest.mark.parametrize(
    "returned",
    [{"X-A": "1\r\nX-B: 2"}, {"X A": "1"}, {"X-A": "é"}, {"X-A": 1}, {1: "x"}, ["X-A"], 7],
)
def test_headers_that_are_not_valid_are_reported_and_not_sent(returned, reported):
    (request,) = sent_with(lambda _: returned)
    assert not any(name.lower().startswith("x-") for name, _ in request.headers)
    assert len(reported) == 1


def test_headers_that_a_request_has_are_kept():
    (request,) = sent_with(
        lambda _: {"X-Client": "hook", "X-Call": "hook", "Content-Type": "text/plain"},
        headers={"X-Client": "client"},
        work=lambda c: c.request("POST", "/api/x", body={"a": 1}, headers={"X-Call": "call"}),
    )
    kept = [request.header(name) for name in ("x-client", "x-call", "content-type")]
    assert kept == ["client", "call", "application/json"]


# Each request that was announced also ends


def paired(events):
    kinds = [(type(event), event.id) for event in events]
    requests = [id_ for kind, id_ in kinds if kind is bl.RequestEvent]
    return all(kinds.count((bl.ResponseEvent, id_)) == 1 for id_ in requests)


def test_a_cancelled_call_is_reported_to_have_ended():
    events = []

    async def main(base_url):
        hooks = {"on_request": events.append, "on_response": events.append}
        async with bl.AsyncClient(base_url, **hooks) as client:
            task = asyncio.ensure_future(client.dividends("HK.00700"))
            await asyncio.to_thread(wait_until, lambda: server.received)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with StandInService(lambda _: response(b"", delay=60)) as server:
        asyncio.run(main(server.base_url))
        wait_until(lambda: len(events) == 2)
    assert paired(events) and (events[1].status, events[1].error_type) == (None, "cancelled")


def test_a_call_that_is_cancelled_while_its_hook_runs_ends_after_it():
    order, entered, leave = [], threading.Event(), threading.Event()

    def on_request(_event):
        entered.set()
        leave.wait(60)
        order.append("request")

    async def main(base_url):
        hooks = {"on_request": on_request, "on_response": lambda _: order.append("response")}
        async with bl.AsyncClient(base_url, **hooks) as client:
            task = asyncio.ensure_future(client.dividends("HK.00700"))
            await asyncio.to_thread(entered.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            leave.set()

    with StandInService([OK]) as server:
        asyncio.run(main(server.base_url))
        wait_until(lambda: len(order) == 2)
    assert order == ["request", "response"]


def test_a_pager_that_is_abandoned_ends_its_requests(sandbox):
    events = []
    with sandbox.client(on_request=events.append, on_response=events.append) as client:
        pager = client.fills_history(sandbox.accounts["trade"][0], "HK", page_size=20)
        next(pager)
        del pager
        wait_until(lambda: paired(events))


def test_a_hook_takes_one_argument():
    with bl.Sandbox() as sandbox:
        for hook in (print, [].append, lambda *events: None, lambda event, more=1: None, dict):
            sandbox.client(on_request=hook, on_response=hook)
        for hook in (lambda: None, lambda request, response: None):
            for name in ("on_request", "on_response"):
                with pytest.raises(bl.ConfigError, match=f"{name} is a function that cannot"):
                    sandbox.client(**{name: hook})


def test_what_the_mapping_of_a_hook_raises_is_reported_as_it_is(monkeypatch):
    class Broken(dict):
        def items(self):
            raise LookupError("the caller's own")

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: reported.append(about.exc_value))
    with bl.Sandbox() as sandbox:
        for headers in (Broken(a="b"), {"Authorization": "Bearer x"}):
            sandbox.client(on_request=lambda _, headers=headers: headers).server_time()
    assert [type(error) for error in reported] == [LookupError, bl.ConfigError]
    assert str(reported[1]).startswith("on_request: a header name is 'Authorization'")
    assert str(reported[1]).endswith("the request is sent without it")
