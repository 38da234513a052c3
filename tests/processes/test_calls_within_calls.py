"""Code that a call waits for, such as a signal handler, a hook or a log handler, makes calls of its
own: at once, whatever the call that waits for it holds."""

import asyncio
import contextlib
import logging
import signal
import threading
import time

import boardlot as bl
import pytest

from ..support.authorization_server import AuthorizationServer
from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.paged_service import CALLS, page
from ..support.service import StandInService, response
from ..support.stores import DictStore

# How long the service takes for the call that is interrupted. All others return at once.
SLOW = 30.0
DIVIDENDS = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
FILLS = page("fills_history", [{"code": "HK.00700", "n": 1}], None)

CALLS_WITHIN = {
    "server_time": lambda client: client.server_time(),
    "dividends": lambda client: client.dividends("HK.00700"),
    "an open range": lambda client: list(client.fills_history("281756", "HK")),
    "a frame of an open range": lambda client: client.fills_history("281756", "HK").to_arrow(),
    "many keys": lambda client: client.fetch_many("dividends", ["HK.00700", "US.AAPL"]),
}
INTERRUPTED = {
    "the service's time for an open range": lambda client: next(
        client.fills_history("281756", "HK")
    ),
    "a call": lambda client: client.dividends("HK.00001"),
    "a frame": lambda client: client.fills_history("281756", "HK").to_arrow(),
}


class Service:
    """Responds to the first request after `SLOW` seconds or on `go_on`, to others at once."""

    def __init__(self):
        self.arrived, self.go_on = threading.Event(), threading.Event()
        self.lock = threading.Lock()

    def __call__(self, received):
        with self.lock:
            is_first = not self.arrived.is_set()
            self.arrived.set()
        if is_first:
            self.go_on.wait(SLOW)
        if "server-time" in received.path:
            return response({"server_time_ms": str(int(time.time() * 1000))})
        return FILLS if "fills_history" in received.path else DIVIDENDS


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="signals of POSIX")
@pytest.mark.parametrize("connections", [1, 64])
@pytest.mark.parametrize("within", CALLS_WITHIN)
@pytest.mark.parametrize("interrupted", INTERRUPTED)
def test_security_38_a_signal_handler_calls_the_client_whose_call_it_interrupts(
    interrupted, within, connections
):
    service, outcomes = Service(), []

    def handler(*_):
        began = time.monotonic()
        outcomes.append(CALLS_WITHIN[within](client))
        outcomes.append(time.monotonic() - began)
        service.go_on.set()

    def send():
        service.arrived.wait(SLOW)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=send)
    try:
        options = {"max_connections": connections, "timeout": SLOW}
        with StandInService(service) as server, client_of(server, **options) as client:
            sender.start()
            INTERRUPTED[interrupted](client)
    finally:
        service.go_on.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert outcomes[1] < SLOW / 3


@pytest.mark.parametrize("connections", [1, 64])
@pytest.mark.parametrize("hook", ["on_request", "on_response"])
@pytest.mark.parametrize("within", CALLS_WITHIN)
def test_a_hook_calls_the_client_whose_call_waits_for_it(within, hook, connections):
    seconds = []

    def call(event):
        # Its own calls are announced too.
        if not seconds:
            seconds.append(None)
            began = time.monotonic()
            CALLS_WITHIN[within](client)
            seconds[0] = time.monotonic() - began

    service = Service()
    service.go_on.set()
    with StandInService(service) as server:
        options = {"max_connections": connections, "timeout": SLOW, hook: call}
        with client_of(server, **options) as client:
            # The service's time is requested under a lock.
            list(client.fills_history("281756", "HK"))
    assert seconds[0] < SLOW / 3


class Calling(logging.Handler):
    """Calls the client for each record, and holds its own lock meanwhile, as handlers do."""

    def __init__(self, client, work):
        super().__init__()
        self.client, self.work, self.records = client, work, []

    def emit(self, record):
        self.records.append(record)
        self.work(self.client)


@pytest.fixture
def log():
    logger = logging.getLogger("boardlot.http")
    handlers, level = logger.handlers[:], logger.level
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.mark.parametrize("within", CALLS_WITHIN)
def test_a_log_handler_calls_the_client_whose_call_it_logs(log, within):
    service = Service()
    service.go_on.set()
    with StandInService(service) as server, client_of(server, timeout=SLOW) as client:
        handler = Calling(client, CALLS_WITHIN[within])
        log.addHandler(handler)
        began = time.monotonic()
        client.dividends("HK.00001")
    # A record of its own calls would be handled by it again, without end.
    assert [record.getMessage().split(" ->")[0] for record in handler.records] == [
        "GET /api/v1.0/quote/HK.00001/corporate-actions/dividends"
    ]
    assert time.monotonic() - began < SLOW / 3


def test_a_log_handler_calls_a_client_that_is_awaited_elsewhere(log):
    service = Service()
    service.go_on.set()

    async def main():
        async with bl.AsyncClient(server.base_url, timeout=SLOW) as client:
            return await asyncio.gather(*(client.dividends("HK.00001") for _ in range(20)))

    with StandInService(service) as server, client_of(server, timeout=SLOW) as client:
        handler = Calling(client, CALLS_WITHIN["dividends"])
        log.addHandler(handler)
        assert len(asyncio.run(asyncio.wait_for(main(), SLOW))) == 20
    assert len(handler.records) == 20


class CallingStore(DictStore):
    """Calls a client of the same login each time that the tokens are loaded."""

    client = None
    is_calling = False

    def load(self, key):
        if self.client is not None and not self.is_calling:
            self.is_calling = True
            try:
                self.outcomes.append(outcome_of(self.client))
            finally:
                self.is_calling = False
        return super().load(key)


def outcome_of(client):
    """The seconds that a call took, whether it has a result or an error of the library."""
    began = time.monotonic()
    with contextlib.suppress(bl.BoardlotError):
        quotes(client)
    return time.monotonic() - began


@pytest.mark.parametrize("place", ["on_request", "on_response", "log handler", "store"])
def test_code_that_a_refresh_waits_for_calls_a_client_of_the_same_login(log, place):
    """The refresh is under way, so the call has the token in use or an error, at once."""
    outcomes = []
    store = CallingStore()
    store.outcomes = outcomes

    def call(_event):
        if store.client is not None and not store.is_calling:
            store.is_calling = True
            outcomes.append(outcome_of(store.client))
            store.is_calling = False

    with AuthorizationServer() as server:
        options = {"timeout": SLOW}
        if place.startswith("on_"):
            options[place] = call
        if place == "log handler":
            handler = logging.Handler()
            handler.emit = call
            log.addHandler(handler)
        client = client_of(server, sign_in(server, store=store), **options)
        with client:
            quotes(client)
            server.expire()
            store.client = client
            quotes(client)
        store.client = None
    assert outcomes
    assert max(outcomes) < SLOW / 3
    assert server.counts["refresh_token"] == 1


def test_a_loop_takes_over_from_one_that_stopped_while_it_fetched():
    """Two event loops share a pager; the one whose page is under way stops for good."""
    service = Service()
    args, kwargs = CALLS["fills_history"]

    waiting = threading.Event()

    async def fetch(pager):
        return await pager.__anext__()

    async def wait_for(pager):
        row = asyncio.ensure_future(fetch(pager))
        await asyncio.sleep(0)
        # By now it has begun to wait for the other loop's page.
        waiting.set()
        return await row

    with StandInService(service) as server:
        client = bl.AsyncClient(server.base_url, timeout=SLOW)
        pager = client.fills_history(*args, **kwargs)
        stopped, taken = asyncio.new_event_loop(), []
        task = stopped.create_task(fetch(pager))
        first = threading.Thread(target=stopped.run_forever)
        first.start()
        service.arrived.wait(SLOW)
        second = threading.Thread(target=lambda: taken.append(asyncio.run(wait_for(pager))))
        second.start()
        assert waiting.wait(SLOW)
        stopped.call_soon_threadsafe(stopped.stop)
        first.join()
        service.go_on.set()
        second.join(SLOW / 2)
        assert [row["n"] for row in taken] == [1]
        task.cancel()
        stopped.run_until_complete(asyncio.gather(task, return_exceptions=True))
        stopped.close()
