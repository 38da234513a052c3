"""What a client reports of its requests: log lines, hooks, and nothing by default."""

import asyncio
import logging
import sys

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.processes import run_python
from ..support.service import Fault, StandInService, response
from ..support.threads import wait_until

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
BUSY = response(b"busy", 503)
PATH = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
HTTP, AUTH, RETRY = (f"boardlot.{name}" for name in ("http", "auth", "retry"))


class HookRecorder:
    """Both hooks of a client, and the events that they were called with, in their order."""

    def __init__(self):
        self.events = []
        self.options = {
            "on_request": lambda event: self.events.append(("request", event)),
            "on_response": lambda event: self.events.append(("response", event)),
        }

    def facts(self):
        return [(kind, one.method, one.path, one.attempt) for kind, one in self.events]

    def responses(self):
        return [event for kind, event in self.events if kind == "response"]


def wait_for(events, count):
    """Waits until there are so many: a call may end a moment before its last event."""
    wait_until(lambda: len(events) >= count)
    assert len(events) == count, events


@pytest.fixture
def lines(caplog):
    """The records of one logger, at the lowest level."""
    caplog.set_level(1)
    return lambda name: [record for record in caplog.records if record.name == name]


MODES = ["sync", "async"]


def called(mode, base_url, work, **options):
    """`work(client)` by either mode; its result or its error."""

    async def awaited():
        async with bl.AsyncClient(base_url, **options) as client:
            return await work(client)

    try:
        if mode == "async":
            return asyncio.run(awaited())
        with bl.Client(base_url, **options) as client:
            return work(client)
    except bl.BoardlotError as error:
        return error


@pytest.mark.parametrize("mode", MODES)
def test_one_line_a_request_at_debug_with_its_facts(lines, mode):
    with StandInService(lambda _: OK) as server:
        called(mode, server.base_url, lambda client: client.dividends("HK.00700"))
        wait_for(server.received, 1)
    (line,) = lines(HTTP)
    assert line.levelno == logging.DEBUG
    text = line.getMessage()
    assert text.startswith(f"GET {PATH} -> 200 in ")
    facts = (line.method, line.path, line.status, line.attempt)
    assert facts == ("GET", PATH, 200, 1) and 0 <= line.duration < 30


@pytest.mark.parametrize("mode", MODES)
def test_each_attempt_has_its_line_and_each_retry_its_reason(lines, mode):
    with StandInService([BUSY, response(drop=True), OK]) as server:
        called(mode, server.base_url, lambda client: client.dividends("HK.00700"))
    attempts = [(line.status, line.attempt) for line in lines(HTTP)]
    assert attempts == [(503, 1), (None, 2), (200, 3)]
    assert "no response" in lines(HTTP)[1].getMessage()
    retries = [(line.levelno, line.attempt) for line in lines(RETRY)]
    assert retries == [(logging.INFO, 1), (logging.INFO, 2)]
    for line in lines(RETRY):
        assert PATH in line.getMessage() and "retrying in" in line.getMessage()


def test_a_page_is_a_request_and_so_is_each_key(lines):
    with bl.Sandbox(seed=7, plate_stocks=120) as sandbox, sandbox.client() as client:
        assert len(client.plate_stocks("HK.BK1001", limit=40).all()) == 120
        assert [line.method for line in lines(HTTP)] == ["POST"] * 3
        client.fetch_many("dividends", ["HK.00700", "US.AAPL"])
        assert len(lines(HTTP)) == 5


def test_the_logger_of_credentials_reports_a_refresh_and_its_failure(server, lines):
    client = client_of(server, sign_in(server))
    before = len(lines(AUTH))
    server.expire()
    quotes(client)
    assert len(lines(AUTH)) > before
    server.expire()
    server.faults["refresh_token"] = Fault(error="invalid_grant")
    before = len(lines(AUTH))
    with pytest.raises(bl.LoginRequired):
        quotes(client)
    assert len(lines(AUTH)) > before


def test_a_clock_correction_and_a_refresh_have_a_line_each(lines):
    with bl.Sandbox(clock_offset=60.0) as sandbox:
        client = sandbox.client()
        assert client.clock_offset == 0.0
        client.dividends("HK.00700")
        assert 59 < client.clock_offset < 61
        logged_in = sandbox.client("oauth")
        logged_in.dividends("HK.00700")
        sandbox.revoke_tokens()
        logged_in.dividends("HK.00700")
    clock, token = (line.getMessage() for line in lines(AUTH) if line.levelno == logging.INFO)
    assert clock.startswith("corrected the clock: the service is ") and clock.endswith(" ms ahead")
    assert token == "refreshed the access token"


def test_a_log_line_repeats_nothing_of_what_the_service_said(lines, caplog):
    with StandInService(lambda _: response({"ret_code": -2, "ret_msg": "canary"}, 503)) as server:
        error = called("sync", server.base_url, lambda c: c.dividends("HK.00700"), max_retries=1)
    assert error.message == "canary" and "canary" not in caplog.text
    assert "rejected by the service" in lines(RETRY)[0].getMessage()


def test_the_level_may_change_between_two_calls(caplog):
    with StandInService(lambda _: OK) as server, bl.Client(server.base_url) as client:
        caplog.set_level(logging.WARNING, "boardlot")
        client.dividends("HK.00700")
        assert caplog.records == []
        caplog.set_level(logging.DEBUG, HTTP)
        client.dividends("HK.00700")
    assert [record.name for record in caplog.records] == [HTTP]


@pytest.mark.parametrize("level", ["INFO", "WARNING", "CRITICAL"])
def test_requests_are_not_logged_above_debug(caplog, level):
    caplog.set_level(level)
    with StandInService(lambda _: OK) as server:
        called("sync", server.base_url, lambda client: client.dividends("HK.00700"))
    assert [record for record in caplog.records if record.name == HTTP] == []


SILENT = """
    import asyncio, sys
    if sys.argv[2] == "imported":
        import logging
    import boardlot as bl
    with bl.Client(sys.argv[1], max_retries=1) as client:
        try:
            client.server_time()
        except bl.BoardlotError:
            pass
    async def main():
        async with bl.AsyncClient(sys.argv[1], max_retries=0) as client:
            await asyncio.gather(client.server_time(), return_exceptions=True)
    asyncio.run(main())
    """


@pytest.mark.parametrize("logging_is", ["imported", "not there"])
@pytest.mark.parametrize("name", ["OK", "BUSY", "429", "a reset"])
def test_it_is_silent_by_default(name, logging_is):
    responses = {"OK": OK, "BUSY": BUSY, "429": response(b"", 429), "a reset": response(drop=True)}
    with StandInService(lambda _: responses[name]) as server:
        assert run_python(SILENT, server.base_url, logging_is) == ("", "")


@pytest.mark.parametrize("mode", MODES)
def test_hooks_are_called_before_and_after_each_attempt(mode):
    hooks, seen = HookRecorder(), []

    def script(received):
        # The hook was called before the request was sent.
        seen.append([kind for kind, _ in hooks.events])
        return [BUSY, response(drop=True), OK][len(seen) - 1]

    with StandInService(script) as server:
        called(mode, server.base_url, lambda client: client.dividends("HK.00700"), **hooks.options)
        wait_for(hooks.events, 6)
    attempts = [(kind, "GET", PATH, n) for n in (1, 2, 3) for kind in ("request", "response")]
    assert hooks.facts() == attempts
    assert seen == [["request", "response"] * n + ["request"] for n in range(3)]
    first, second, third = hooks.responses()
    assert (first.status, second.status, third.status) == (503, None, 200)
    assert first.error is None and third.error is None
    assert "reset" in str(second.error).lower() or "closed" in str(second.error).lower()
    assert all(0 <= one.duration < 30 for one in hooks.responses())


def test_events_and_lines_have_the_time_that_a_request_took(lines):
    hooks = HookRecorder()
    with StandInService([response(b"{}", delay=0.3)]) as server:
        called("sync", server.base_url, lambda c: c.request("GET", "/x"), **hooks.options)
    assert hooks.responses()[0].duration >= 0.3 <= lines(HTTP)[0].duration


@pytest.mark.parametrize("mode", MODES)
def test_hooks_are_called_for_every_page_and_every_key(mode):
    hooks = HookRecorder()
    with bl.Sandbox(seed=7, plate_stocks=120) as sandbox:
        options = {"auth": sandbox.api_key(), **hooks.options}
        symbols = ["HK.00700", "US.AAPL"]
        works = [
            lambda client: client.plate_stocks("HK.BK1001", limit=40).all(),
            lambda client: client.fetch_many("dividends", symbols),
        ]
        for work in works:
            assert len(called(mode, sandbox.base_url, work, **options)) > 0
        wait_for(hooks.events, 2 * len(sandbox.requests))
    assert [one.method for one in hooks.responses()] == ["POST"] * 3 + ["GET"] * 2


@pytest.mark.parametrize("mode", MODES)
def test_a_hook_that_fails_is_reported_and_fails_no_call(mode, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: reported.append(str(one.exc_value)))

    def fail(event):
        raise RuntimeError(f"of {event.path}")

    hooks = {"on_request": fail, "on_response": fail}
    with StandInService(lambda _: OK) as server:
        rows = called(mode, server.base_url, lambda client: client.dividends("HK.00700"), **hooks)
        assert list(rows) == [] and len(server.received) == 1
    wait_for(reported, 2)
    assert reported == [f"of {PATH}"] * 2


@pytest.mark.parametrize("mode", MODES)
def test_a_hook_may_call_another_client(mode):
    with StandInService(lambda _: OK) as server, bl.Client(server.base_url) as other:
        got = []
        hook = {"on_response": lambda _: got.append(len(other.dividends("US.AAPL")))}
        called(mode, server.base_url, lambda client: client.dividends("HK.00700"), **hook)
        wait_for(got, 1)
        assert len(server.received) == 2


def test_hooks_of_64_threads_are_called_for_each_request():
    hooks = HookRecorder()
    with (
        StandInService(lambda _: OK) as server,
        bl.Client(server.base_url, **hooks.options) as client,
    ):

        async def use():
            work = (asyncio.to_thread(client.dividends, f"HK.{n:05}") for n in range(64))
            await asyncio.gather(*work)

        asyncio.run(use())
        wait_for(hooks.events, 128)
    by_path = {}
    for kind, event in hooks.events:
        by_path.setdefault(event.path, []).append(kind)
    assert len(by_path) == 64
    assert set(map(tuple, by_path.values())) == {("request", "response")}


@pytest.mark.parametrize("hook", ["on_request", "on_response"])
def test_a_hook_may_call_its_client_if_one_connection_is_all_there_is(hook):
    times = []

    def ask(_event):
        if not times:
            times.append(None)
            times[0] = client.server_time()

    options = {"max_connections": 1, "timeout": 60.0, hook: ask}
    with bl.Sandbox() as sandbox, sandbox.client(**options) as client:
        assert client.dividends("HK.00700")
    assert times[0] is not None


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
    for _, event in hooks.events:
        seen = [str(getattr(event, name)) for name in dir(event) if not name.startswith("__")]
        assert word not in repr(event) + str(event) + " ".join(seen)
