"""The content of events, the context in which hooks run, and what they may add to a request."""

import asyncio
import contextvars
import logging
import sys
import threading

import boardlot as bl
import pytest

from ..support.service import StandInService, response
from ..support.threads import wait_until

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
BUSY = response(b"busy", 503)
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
        account, "HK", page_size=20, start="2026-01-01", end="2026-06-01", windows=3
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
