"""Promise 18: one refresh for all threads, tasks and processes, and one failure for all."""

import asyncio
import contextlib
from collections import Counter

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import expired_login, quotes
from ..support.processes import python
from ..support.service import Fault
from ..support.stores import PASSPHRASE, DictStore
from ..support.threads import outcomes_of_threads

# How the token runs out: as its lifetime says (it is refreshed ahead), or found out by a 401.
ends = pytest.mark.parametrize("end", ["lifetime", "found out"])
CALLING = """
    import sys, traceback
    import boardlot as bl
    base_url, client_id, path, passphrase, calls = sys.argv[1:]
    store = bl.EncryptedFileStore(path, passphrase)
    oauth = bl.OAuth(client_id, store=store)
    with bl.Client(base_url, auth=oauth, max_retries=0, timeout=60.0) as client:
        print("ready", flush=True)
        while sys.stdin.readline():
            results = set()
            for _ in range(int(calls)):
                try:
                    results.add(str(len(client.reference_futures("HK.HSImain"))))
                except bl.BoardlotError as error:
                    results.add(type(error).__name__)
                    break
            print(*sorted(results), flush=True)
    """


def many_calls(client, calls):
    def work():
        for _ in range(calls):
            assert list(quotes(client)) == []
        return "ok"

    return work


@ends
def test_security_18_64_threads_make_one_refresh(server, end):
    server.faults["refresh_token"] = Fault(delay=0.3)
    oauth = expired_login(server, end)
    client = client_of(server, oauth, timeout=60.0)
    assert outcomes_of_threads(64, many_calls(client, 5)) == {"ok": 64}
    assert server.counts["refresh_token"] == 1
    for n in range(2, 4):
        server.expire()
        assert outcomes_of_threads(64, many_calls(client, 3)) == {"ok": 64}
        assert server.counts["refresh_token"] == n


@pytest.mark.slow
@ends
def test_security_18_64_threads_with_1000_calls_make_one_refresh(server, end):
    oauth = expired_login(server, end)
    client = client_of(server, oauth, timeout=120.0)
    assert outcomes_of_threads(64, many_calls(client, 1000)) == {"ok": 64}
    assert server.counts["refresh_token"] == 1


@ends
def test_security_18_many_clients_of_one_store_make_one_refresh(server, end):
    store = DictStore()
    expired_login(server, end, store)
    (client_id,) = server.clients
    server.faults["refresh_token"] = Fault(delay=0.3)

    def work():
        client = client_of(server, bl.OAuth(client_id, store=store), timeout=60.0)
        return many_calls(client, 3)()

    assert outcomes_of_threads(32, work) == {"ok": 32}
    assert server.counts["refresh_token"] == 1


@ends
def test_security_18_1000_tasks_make_one_refresh(server, end):
    server.faults["refresh_token"] = Fault(delay=0.3)
    oauth = expired_login(server, end)

    async def use():
        options = {"auth": oauth, "max_retries": 0, "timeout": 60.0}
        async with bl.AsyncClient(server.base_url, **options) as client:
            for n in range(1, 3):
                got = await asyncio.gather(*(quotes(client) for _ in range(1000)))
                assert {len(rows) for rows in got} == {0}
                assert server.counts["refresh_token"] == n
                server.expire()

    asyncio.run(use())


def test_security_18_a_cancelled_task_does_not_take_the_refresh_with_it(server):
    server.faults["refresh_token"] = Fault(delay=0.5)
    oauth = expired_login(server, "found out")

    async def use():
        options = {"auth": oauth, "max_retries": 0, "timeout": 30.0}
        async with bl.AsyncClient(server.base_url, **options) as client:
            tasks = [asyncio.create_task(one(client)) for _ in range(50)]
            await asyncio.sleep(0.25)
            for task in tasks[:25]:
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

    async def one(client):
        return list(await quotes(client))

    results = asyncio.run(use())
    assert all(isinstance(each, asyncio.CancelledError) for each in results[:25])
    assert results[25:] == [[]] * 25
    assert server.counts["refresh_token"] <= 2


@contextlib.contextmanager
def processes(server, place, end):
    """8 processes that share a store whose token has run out; each waits for its word."""
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    expired_login(server, end, store)
    (client_id,) = server.clients
    arguments = (server.base_url, client_id, place, PASSPHRASE, 10)
    children = [python(CALLING, *arguments) for _ in range(8)]
    try:
        assert {child.stdout.readline() for child in children} == {"ready\n"}
        yield children
    finally:
        for child in children:
            child.kill()
            child.communicate()


@ends
def test_security_18_8_processes_make_one_refresh_and_share_its_failure(server, end, place):
    with processes(server, place, end) as children:
        server.faults["refresh_token"] = Fault(delay=0.3)
        for n in range(1, 4):
            assert round_of(children) == {"0": 8}
            assert server.counts["refresh_token"] == n
            server.expire()
        server.faults["refresh_token"] = Fault(error="invalid_grant", delay=3.0)
        assert round_of(children) == {"LoginRequired": 8}
        assert server.counts["refresh_token"] == 4


def round_of(children):
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    return Counter(child.stdout.readline().strip() for child in children)


FAILURES = {
    "invalid_grant": (Fault(error="invalid_grant", delay=2.0), "LoginRequired"),
    "no form of RFC 6749": (Fault(status=401, body=b"", delay=2.0), "LoginRequired"),
    "503": (Fault(status=503, delay=2.0), None),
    "dropped": (Fault(drop=True, delay=2.0), None),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_security_18_threads_that_wait_share_the_failure(server, failure):
    fault, name = FAILURES[failure]
    oauth = expired_login(server, "found out")
    client = client_of(server, oauth, timeout=60.0)
    server.faults["refresh_token"] = fault
    results = outcomes_of_threads(64, many_calls(client, 1))
    assert "ok" not in results and sum(results.values()) == 64 and len(results) == 1, results
    assert name is None or name in results
    assert server.counts["refresh_token"] == 1
    server.faults.clear()


@pytest.mark.parametrize("failure", FAILURES)
def test_security_18_tasks_that_wait_share_the_failure(server, failure):
    fault, name = FAILURES[failure]
    # By its lifetime: 1,000 tasks would need longer than the refresh to find it out by a 401.
    oauth = expired_login(server, "lifetime")
    server.faults["refresh_token"] = fault

    async def use():
        # All of them wait for the refresh, and none for a connection.
        options = {"auth": oauth, "max_retries": 0, "timeout": 60.0, "max_connections": 1000}
        async with bl.AsyncClient(server.base_url, **options) as client:
            results = await asyncio.gather(
                *(quotes(client) for _ in range(1000)), return_exceptions=True
            )
        return Counter(type(each).__name__ for each in results)

    results = asyncio.run(use())
    assert len(results) == 1 and name in (None, *results), results
    assert server.counts["refresh_token"] == 1
    assert server.counts["api"] == 0


def test_security_18_each_of_those_that_wait_has_an_error_of_its_own(server):
    """A shared exception object would grow its traceback in every thread."""
    oauth = expired_login(server, "lifetime")
    client = client_of(server, oauth, timeout=60.0)
    server.faults["refresh_token"] = Fault(error="invalid_grant", delay=1.0)
    errors = []

    def work():
        with pytest.raises(bl.LoginRequired) as caught:
            quotes(client)
        errors.append(caught.value)
        return "refused"

    assert outcomes_of_threads(16, work) == {"refused": 16}
    assert len({id(error) for error in errors}) == 16
    assert all(error.hint for error in errors)
