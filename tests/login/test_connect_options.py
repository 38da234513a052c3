"""Each option for connecting reaches clients, logins, registrations and web applications alike."""

import asyncio
import inspect
import pickle
import sys
import threading
import time

import boardlot as bl
import pytest
from boardlot import _core

from ..support.addresses import Unanswering
from ..support.applications import KINDS, REDIRECT, application, consent, fetch
from ..support.authorization_server import Client
from ..support.certificates import authority
from ..support.fixtures import opened, openers, server
from ..support.logins import in_a_thread
from ..support.proxy import Proxy
from ..support.service import Fault
from ..support.threads import wait_until

__all__ = ["opened", "openers", "server"]

NAME = "api.boardlot.test"
TRUSTING = {"ca_file": authority().ca_file}


def call_client(base_url, **options):
    with bl.Client(base_url, max_retries=0, **options) as client:
        return client.server_time()


def call_async_client(base_url, **options):
    async def call():
        async with bl.AsyncClient(base_url, max_retries=0, **options) as client:
            return await client.server_time()

    return asyncio.run(call())


def log_in(base_url, **options):
    return bl.login(base_url, store=bl.MemoryStore(), timeout=30.0, **options)


def begin_login(base_url, **options):
    bl.begin_login(base_url, store=bl.MemoryStore(), timeout=30.0, **options).cancel()


def register(base_url, **options):
    return bl.register_client(base_url, redirect_uris=[REDIRECT], **options)


def of_application(kind):
    def log_a_user_in(base_url, **options):
        store = bl.MemoryStore()
        app = kind(base_url, "client-1", redirect_uri=REDIRECT, store=store, **options)
        begun = app.authorization_url()
        return fetch(app, f"{REDIRECT}?code=code-1&state={begun.state}", begun)

    return log_a_user_in


# What takes the options, and calls that send a request each.
ENTRIES = {
    "Client": call_client,
    "AsyncClient": call_async_client,
    "login": log_in,
    "begin_login": begin_login,
    "register_client": register,
    "OAuthApp": of_application(bl.OAuthApp),
    "AsyncOAuthApp": of_application(bl.AsyncOAuthApp),
}
entries = pytest.mark.parametrize("name", ENTRIES)


@pytest.fixture
def service(server):
    """A service at which a user of the application has just agreed."""
    server.clients["client-1"] = Client("client-1", None)
    server.codes["code-1"] = "quote:read"
    return server


def use(name, service, base_url, **options):
    """Sends a request. A login would wait for its user, so its registration is refused."""
    if name != "login":
        ENTRIES[name](base_url, **options)
        return
    service.faults["register"] = Fault(error="enough")
    with pytest.raises(bl.OAuthError, match="enough"):
        log_in(base_url, **options)


@entries
def test_every_option_is_an_argument_with_the_same_default(name):
    shown = {}
    for entry in ("Client", name):
        parameters = inspect.signature(getattr(bl, entry)).parameters
        shown[entry] = {option: parameters[option].default for option in _core._CONNECT_OPTIONS}
    assert shown["Client"] == shown[name]
    # Each of them has a test below, and `client_cert` a file of tests in tests/security:
    # `ConnectOptions` has no others, as a test of the core shows.
    tested = ["connect_timeout", "max_connections", "proxy", "ca_file", "client_cert"]
    assert tested == _core._CONNECT_OPTIONS


@entries
def test_ca_file_is_trusted(name, service):
    with Proxy(service.port, authority().context()) as relay:
        with pytest.raises(bl.BoardlotError, match="certificate"):
            ENTRIES[name](relay.base_url)
        assert service.received == []
        use(name, service, relay.base_url, **TRUSTING)
    assert len(service.received) == 1


@entries
def test_proxy_carries_the_requests(name, service):
    with (
        Proxy(service.port, authority().context((NAME,)), host=NAME) as relay,
        Proxy(tunnels={f"{NAME}:443": relay.port}) as proxy,
    ):
        use(name, service, f"https://{NAME}", proxy=proxy.base_url, **TRUSTING)
        assert proxy.asked == [f"CONNECT {NAME}:443 HTTP/1.1"]
    assert len(service.received) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems respond for a full queue")
@entries
def test_connect_timeout_ends_connecting(name):
    def seconds():
        start = time.monotonic()  # time: it is the option
        error = pytest.raises(bl.BoardlotError, match=r"connecting to .* took too long")
        with Unanswering() as nowhere, error:
            ENTRIES[name](nowhere.base_url, connect_timeout=0.2)
        return time.monotonic() - start  # time: it is the option

    # Its default is 5 seconds, and that of an attempt more. A busy machine can make it late.
    assert any(seconds() < 4 for _ in range(3))


@entries
def test_max_connections_is_checked(name):
    for wrong in (0, 65_537, "1"):
        with pytest.raises(bl.ConfigError, match=r"max_connections is .* 1 to 65536"):
            ENTRIES[name]("http://127.0.0.1:1", max_connections=wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_max_connections_limits_an_application(server, kind):
    allowed = threading.Event()
    server.faults["authorization_code"] = Fault(until=allowed)
    app = application(server, kind=kind, max_connections=1)

    def log_in_as(user):
        begun = app.authorization_url()
        return in_a_thread(lambda: fetch(app, consent(server, begun.url), begun, user))

    first = log_in_as("alice")
    wait_until(lambda: server.counts["authorization_code"])
    second = log_in_as("bob")
    time.sleep(0.2)  # time: for a request that must not come
    assert server.counts["authorization_code"] == 1
    allowed.set()
    assert (first.result(90).user, second.result(90).user) == ("alice", "bob")


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_of_an_application_has_all_options(service, kind):
    with Proxy(service.port, authority().context()) as relay:
        options = {"timeout": 7.0, "connect_timeout": 3.0, "max_connections": 2, **TRUSTING}
        app = kind(
            relay.base_url,
            "client-1",
            redirect_uri=REDIRECT,
            store=bl.KeyringStore(),
            proxy="http://proxy.test:3128",
            **options,
        )
        _, (_, _, named) = pickle.loads(pickle.dumps(app)).__reduce__()
        assert {name: named[name] for name in options} == options
        assert named["proxy"] == "http://proxy.test:3128"
