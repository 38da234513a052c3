"""Code that a call waits for, such as a signal handler, a hook or a log handler, makes calls of its
own: at once, whatever the call that waits for it holds."""

import contextlib
import logging
import signal
import threading
import time

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.paged_service import page
from ..support.service import StandInService, response
from ..support.stores import DictStore

DIVIDENDS = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
FILLS = page("fills_history", [{"code": "HK.00700", "n": 1}], None)

CALLS_WITHIN = {
    "dividends": lambda client: client.dividends("HK.00700"),
    "an open range": lambda client: list(client.fills_history("281756", "HK")),
    "many keys": lambda client: client.fetch_many("dividends", ["HK.00700", "US.AAPL"]),
}
within_each = pytest.mark.parametrize("within", CALLS_WITHIN)
INTERRUPTED = ["an open range", "dividends"]


class Service:
    """Responds to the first request on `go_on`, to others at once."""

    def __init__(self):
        self.arrived, self.go_on = threading.Event(), threading.Event()

    def __call__(self, received):
        if not self.arrived.is_set():
            self.arrived.set()
            self.go_on.wait(90)
        if "server-time" in received.path:
            return response({"server_time_ms": str(int(time.time() * 1000))})
        return FILLS if "fills_history" in received.path else DIVIDENDS


@pytest.fixture
def service():
    """Responds to all requests at once."""
    service = Service()
    service.go_on.set()
    with StandInService(service) as server:
        yield server


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="signals of POSIX")
@pytest.mark.parametrize("connections", [1, 64])
@within_each
@pytest.mark.parametrize("interrupted", INTERRUPTED)
def test_security_38_a_signal_handler_calls_the_client_whose_call_it_interrupts(
    interrupted, within, connections
):
    service, outcomes = Service(), []

    def handler(*_):
        # The call that it interrupts has no response yet.
        outcomes.append(CALLS_WITHIN[within](client))
        service.go_on.set()

    def send():
        service.arrived.wait(90)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=send)
    try:
        with StandInService(service) as server:
            client = client_of(server, max_connections=connections, timeout=60.0)
            sender.start()
            # Of an open range, the first request is for the service's time.
            CALLS_WITHIN[interrupted](client)
    finally:
        service.go_on.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert len(outcomes) == 1


@pytest.mark.parametrize("connections", [1, 64])
@pytest.mark.parametrize("hook", ["on_request", "on_response"])
@within_each
def test_a_hook_calls_the_client_whose_call_waits_for_it(service, within, hook, connections):
    outcomes = []

    def call(event):
        # Its own calls are announced too.
        if not outcomes:
            outcomes.append(None)
            outcomes[0] = CALLS_WITHIN[within](client)

    client = client_of(service, max_connections=connections, timeout=60.0, **{hook: call})
    # The service's time is requested under a lock.
    assert len(list(client.fills_history("281756", "HK"))) == 1
    assert outcomes != [None]


class Calling(logging.Handler):
    """Calls for each record, and holds its own lock meanwhile, as handlers do."""

    def __init__(self, work):
        super().__init__()
        self.work, self.records = work, []

    def emit(self, record):
        self.records.append(record.getMessage())
        self.work()


@pytest.fixture
def log():
    logger = logging.getLogger("boardlot.http")
    handlers, level = logger.handlers[:], logger.level
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


@within_each
def test_a_log_handler_calls_the_client_whose_call_it_logs(log, service, within):
    client = client_of(service, timeout=60.0)
    handler = Calling(lambda: CALLS_WITHIN[within](client))
    log.addHandler(handler)
    client.dividends("HK.00001")
    # A record of its own calls would be handled by it again, without end.
    (record,) = handler.records
    assert record.startswith("GET /api/v1.0/quote/HK.00001/corporate-actions/dividends ->")


class CallingStore(DictStore):
    """Calls a client of the same login each time that the tokens are loaded."""

    calls = staticmethod(lambda: None)

    def load(self, key):
        self.calls()
        return super().load(key)


@pytest.mark.parametrize("place", ["on_request", "on_response", "log handler", "store"])
def test_code_that_a_refresh_waits_for_calls_a_client_of_the_same_login(server, log, place):
    """The refresh is under way, so the call has the token in use or an error, at once."""
    outcomes, armed = [], threading.Event()

    def call(_event=None):
        if armed.is_set():
            armed.clear()
            with contextlib.suppress(bl.BoardlotError):
                quotes(client)
            outcomes.append("ended")

    store = CallingStore()
    options = {place: call} if place.startswith("on_") else {}
    if place == "log handler":
        log.addHandler(Calling(call))
    if place == "store":
        store.calls = call
    client = client_of(server, sign_in(server, store=store), timeout=60.0, **options)
    quotes(client)
    server.expire()
    armed.set()
    quotes(client)
    assert outcomes == ["ended"]
    assert server.counts["refresh_token"] == 1
