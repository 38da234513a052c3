"""What a client tells of its requests: to `logging`, and to its two hooks."""

import asyncio
import logging
import subprocess
import sys

import boardlot as bl
import pytest

DIVIDENDS = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"


def lines(caplog, logger):
    return [record for record in caplog.records if record.name == logger]


def test_nothing_is_said_unless_it_is_asked_for():
    code = (
        "import logging, boardlot as bl\n"
        "with bl.Sandbox(clock_offset=60) as s, s.client() as c: c.dividends('HK.00700')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_request_is_one_line_at_debug_with_its_facts(sandbox, caplog):
    caplog.set_level(logging.DEBUG, "boardlot")
    sandbox.client().dividends("HK.00700")
    (record,) = lines(caplog, "boardlot.http")
    assert (record.levelno, record.method, record.path) == (logging.DEBUG, "GET", DIVIDENDS)
    assert (record.status, record.attempt) == (200, 1)
    assert 0 < record.duration < 30
    assert record.getMessage().startswith(f"GET {DIVIDENDS} -> 200 in ")


def test_the_level_may_change_between_two_calls(sandbox, caplog):
    client = sandbox.client()
    caplog.set_level(logging.WARNING, "boardlot")
    client.dividends("HK.00700")
    assert not lines(caplog, "boardlot.http")
    caplog.set_level(logging.DEBUG, "boardlot.http")
    client.dividends("HK.00700")
    assert len(lines(caplog, "boardlot.http")) == 1


def test_retries_and_their_reason_are_told(sandbox, caplog):
    caplog.set_level(logging.DEBUG, "boardlot")
    sandbox.faults = bl.Faults(error_rate=1.0)
    with pytest.raises(bl.ServiceError):
        sandbox.client(max_retries=2).dividends("HK.00700")
    assert [record.attempt for record in lines(caplog, "boardlot.http")] == [1, 2, 3]
    told = lines(caplog, "boardlot.retry")
    assert [(record.levelno, record.attempt) for record in told] == [(logging.INFO, 1), (20, 2)]
    assert "retrying in" in told[0].getMessage()


def test_a_clock_correction_and_a_refresh_are_told(caplog):
    caplog.set_level(logging.INFO, "boardlot")
    with bl.Sandbox(clock_offset=60.0) as sandbox:
        client = sandbox.client()
        assert client.clock_offset == 0.0
        client.dividends("HK.00700")
        assert 59 < client.clock_offset < 61
        logged_in = sandbox.client("oauth")
        logged_in.dividends("HK.00700")
        sandbox.revoke_tokens()
        logged_in.dividends("HK.00700")
    clock, token = (record.getMessage() for record in lines(caplog, "boardlot.auth"))
    assert clock.startswith("corrected the clock: the service is ") and clock.endswith(" ms ahead")
    assert token == "refreshed the access token"


def test_no_answer_is_a_line_with_its_reason(caplog):
    caplog.set_level(logging.DEBUG, "boardlot")
    with bl.Sandbox() as sandbox:
        client = sandbox.client(max_retries=0)
    with pytest.raises(bl.TransportError):
        client.dividends("HK.00700")
    (record,) = lines(caplog, "boardlot.http")
    assert record.status is None
    assert "no response" in record.getMessage()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_hooks_are_called_before_and_after_each_request(sandbox, mode):
    events = []
    sandbox.faults = bl.Faults(error_rate=1.0)
    hooks = {"on_request": events.append, "on_response": events.append, "max_retries": 1}

    async def use():
        async with sandbox.async_client(**hooks) as client:
            await client.dividends("HK.00700")

    with pytest.raises(bl.ServiceError):
        if mode == "async":
            asyncio.run(use())
        else:
            sandbox.client(**hooks).dividends("HK.00700")
    kinds = [type(event) for event in events]
    assert kinds == [bl.RequestEvent, bl.ResponseEvent] * 2
    assert [event.attempt for event in events] == [1, 1, 2, 2]
    assert {(event.method, event.path) for event in events} == {("GET", DIVIDENDS)}
    assert all(event.status in (200, 503) and event.duration > 0 for event in events[1::2])


def test_a_request_waits_for_its_hook(sandbox):
    seen = []
    client = sandbox.client(on_request=lambda _: seen.append(len(sandbox.requests)))
    client.dividends("HK.00700")
    client.dividends("HK.00700")
    assert seen == [0, 1]


def test_a_hook_that_fails_is_reported_and_stops_no_request(sandbox, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def broken(_event):
        raise RuntimeError("a broken hook")

    assert len(sandbox.client(on_response=broken).dividends("HK.00700"))
    assert [str(report.exc_value) for report in reported] == ["a broken hook"]


def test_a_hook_may_call_the_client_itself(sandbox):
    answers = []
    plain = sandbox.client()
    client = sandbox.client(on_response=lambda _: answers.append(plain.server_time()))
    client.dividends("HK.00700")
    assert len(answers) == 1


async def waits(_event):
    """What nobody would await."""


@pytest.mark.parametrize("name", ["on_request", "on_response"])
@pytest.mark.parametrize("hook", ["print", waits])
def test_a_hook_that_cannot_be_called_is_refused(sandbox, name, hook):
    with pytest.raises(bl.ConfigError, match=name):
        sandbox.client(**{name: hook})


def test_a_log_line_repeats_nothing_of_what_the_service_said(sandbox, caplog):
    caplog.set_level(logging.DEBUG, "boardlot")
    sandbox.faults = bl.Faults(error_rate=1.0)
    with pytest.raises(bl.ServiceError) as caught:
        sandbox.client(max_retries=1).dividends("HK.00700")
    assert caught.value.message not in caplog.text
    assert "rejected by the service" in lines(caplog, "boardlot.retry")[0].getMessage()


@pytest.fixture
def sandbox():
    with bl.Sandbox() as sandbox:
        yield sandbox


def test_a_hook_may_call_its_client_if_one_connection_is_all_there_is(sandbox):
    told = []

    def ask(_event):
        if not told:
            told.append(None)
            told[0] = client.server_time()

    for hook in ("on_request", "on_response"):
        told.clear()
        with sandbox.client(max_connections=1, timeout=5.0, **{hook: ask}) as client:
            assert client.dividends("HK.00700")
        assert told[0] is not None
