"""A client's reports of its requests: log lines, hooks, and nothing by default."""

import logging

import boardlot as bl
import pytest

from ..support.clients import MODES, run
from ..support.processes import run_python
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


SILENT = """
    import sys
    if sys.argv[2] == "imported":
        import logging
    import boardlot as bl
    with bl.Client(sys.argv[1], max_retries=1) as client:
        for _ in range(2):
            try:
                client.server_time()
            except bl.BoardlotError:
                pass
    """


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
