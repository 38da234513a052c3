"""Promise 18: one refresh for all threads, tasks and processes, and one failure for all."""

import asyncio
import contextlib
import threading
from collections import Counter

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import expired_login, quotes
from ..support.processes import program, python
from ..support.service import Fault
from ..support.stores import PASSPHRASE
from ..support.threads import outcomes_of_threads, wait_until

# How the token runs out: as its lifetime says (it is refreshed ahead), or found out by a 401.
ends = pytest.mark.parametrize("end", ["lifetime", "found out"])
CALLING = program(__file__, "calling")


def many_calls(client, calls):
    def work():
        for _ in range(calls):
            assert list(quotes(client)) == []
        return "ok"

    return work


@ends
@pytest.mark.parametrize("calls", [5, pytest.param(1000, marks=pytest.mark.slow)])
def test_security_18_64_threads_make_one_refresh(server, end, calls):
    client = client_of(server, expired_login(server, end), timeout=90.0)
    for n in range(1, 3):
        assert outcomes_of_threads(64, many_calls(client, calls)) == {"ok": 64}
        assert server.counts["refresh_token"] == n
        server.expire()


async def outcomes_of_tasks(server, oauth, number):
    """All of them wait for the refresh, and none for a connection."""
    options = {"auth": oauth, "max_retries": 0, "timeout": 90.0, "max_connections": number}
    async with bl.AsyncClient(server.base_url, **options) as client:
        calls = (quotes(client) for _ in range(number))
        results = await asyncio.gather(*calls, return_exceptions=True)
    return Counter(type(each).__name__ for each in results)


@pytest.mark.parametrize("tasks", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_security_18_many_tasks_make_one_refresh(server, tasks):
    oauth = expired_login(server, "found out")
    assert asyncio.run(outcomes_of_tasks(server, oauth, tasks)) == {"Records": tasks}
    assert server.counts["refresh_token"] == 1


def test_security_18_a_cancelled_task_does_not_take_the_refresh_with_it(server):
    allowed = threading.Event()
    server.faults["refresh_token"] = Fault(until=allowed)
    oauth = expired_login(server, "lifetime")

    async def use():
        async with bl.AsyncClient(server.base_url, auth=oauth, timeout=90.0) as client:
            tasks = [asyncio.ensure_future(quotes(client)) for _ in range(50)]
            await asyncio.to_thread(wait_until, lambda: server.counts["refresh_token"])
            for task in tasks[:25]:
                task.cancel()
            allowed.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(use())
    assert all(isinstance(each, asyncio.CancelledError) for each in results[:25])
    assert list(map(list, results[25:])) == [[]] * 25
    assert server.counts["refresh_token"] <= 2


def round_of(children):
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    return Counter(child.stdout.readline().strip() for child in children)


@pytest.mark.parametrize("processes", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_security_18_processes_make_one_refresh_and_share_its_failure(server, place, processes):
    # Each later round finds out by a 401.
    expired_login(server, "lifetime", bl.EncryptedFileStore(place, PASSPHRASE))
    (client_id,) = server.clients
    with contextlib.ExitStack() as stack:
        children = []
        for _ in range(processes):
            child = stack.enter_context(
                python(CALLING, server.base_url, client_id, place, PASSPHRASE)
            )
            stack.callback(child.kill)
            children.append(child)
        assert {child.stdout.readline() for child in children} == {"ready\n"}
        for n in range(1, 4):
            assert round_of(children) == {"0": processes}
            assert server.counts["refresh_token"] == n
            server.expire()
        server.faults["refresh_token"] = Fault(error="invalid_grant")
        assert round_of(children) == {"LoginRequired": processes}
        assert server.counts["refresh_token"] == 4


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Fault(error="invalid_grant"), bl.LoginRequired),
        (Fault(status=503), bl.ServiceError),
        (Fault(drop=True), bl.TransportError),
    ],
)
def test_security_18_those_that_wait_share_the_failure_each_with_an_error_of_its_own(
    server, failure, kind
):
    """A shared exception object would grow its traceback in every thread."""
    client = client_of(server, expired_login(server, "lifetime"), timeout=90.0)
    server.faults["refresh_token"], errors = failure, []

    def work():
        with pytest.raises(kind) as caught:
            quotes(client)
        errors.append(caught.value)

    assert outcomes_of_threads(64, work) == {None: 64}
    assert len({id(error) for error in errors}) == 64 and all(error.hint for error in errors)
    # One that comes when it has failed already begins another, unless that was final. That those
    # who wait make none is shown where their order is known: crates/client/src/auth/tests.rs.
    assert kind is not bl.LoginRequired or server.counts["refresh_token"] == 1
    assert server.counts["api"] == 0
