"""Promise 21: a proxy only by option, never to this machine; the same for API, login, refresh."""

import boardlot as bl
import pytest
from boardlot import _core

from ..support.addresses import Untouched
from ..support.certificates import Authority, authority
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.proxy import Proxy

NAME = "api.boardlot.test"
VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "SOCKS_PROXY"]


@pytest.fixture
def service(server):
    """The authorization server as a service with a name, which only a proxy can reach."""
    with Proxy(server.port, authority().context((NAME,)), host=NAME) as relay:
        server.base_url = f"https://{NAME}"
        server.known = {f"{NAME}:443": relay.port}
        yield server


@pytest.fixture
def environment(monkeypatch):
    """An environment whose proxies nobody may speak to."""
    with Untouched() as never:
        for name in VARIABLES:
            for spelled in (name, name.lower()):
                monkeypatch.setenv(spelled, never.base_url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield never


def test_security_21_proxies_of_the_environment_are_ignored(server, environment):
    client = client_of(server, sign_in(server))
    assert list(quotes(client)) == []
    server.expire()
    assert list(quotes(client)) == []


def test_security_21_proxies_of_the_environment_are_ignored_for_other_hosts_too(environment):
    # A name that never exists (RFC 6761): it is looked up, and no proxy is used.
    client = bl.Client("https://boardlot.invalid", max_retries=0, timeout=5.0)
    with pytest.raises(bl.TransportError):
        client.server_time()
    with pytest.raises(bl.TransportError):
        bl.begin_login("https://boardlot.invalid", store=bl.MemoryStore())


def test_security_21_the_proxy_of_the_option_carries_api_login_and_refresh(service, environment):
    with Proxy(tunnels=service.known) as proxy:
        options = {"proxy": proxy.base_url, "ca_file": authority().ca_file}
        oauth = sign_in(service, **options)
        assert proxy.asked and set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1"}
        with client_of(service, oauth, **options) as client:
            assert list(quotes(client)) == []
            service.expire()
            assert list(quotes(client)) == []
        assert set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1"}
    assert service.counts["refresh_token"] == 1


def test_security_21_no_proxy_is_used_for_this_machine(server):
    with Untouched() as never:
        oauth = sign_in(server, proxy=never.base_url)
        client = client_of(server, oauth, proxy=never.base_url)
        assert list(quotes(client)) == []
        server.expire()
        assert list(quotes(client)) == []


def test_security_21_no_proxy_is_used_for_this_machine_over_tls(server):
    options = {"ca_file": authority().ca_file}
    with Untouched() as never, Proxy(server.port, authority().context()) as relay:
        for host in ("127.0.0.1", "localhost"):
            address = f"https://{host}:{relay.port}"
            with bl.Client(address, proxy=never.base_url, **options) as client:
                assert client.server_time().tzinfo is not None


def test_security_21_a_proxy_does_not_lower_what_certificates_are_held_to(service):
    strange = Authority().context((NAME,))
    with Proxy(service.port, strange) as relay, Proxy(tunnels={f"{NAME}:443": relay.port}) as proxy:
        options = {"proxy": proxy.base_url, "ca_file": authority().ca_file}
        for work in (
            lambda: quotes(client_of(service, bl.BearerToken("token"), **options)),
            lambda: begin(service, **options),
        ):
            with pytest.raises(bl.TransportError):
                work()
    assert service.received == []


@pytest.mark.parametrize(
    "responses",
    [
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"<html>sign in to the Wi-Fi</html>\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_security_21_a_proxy_that_makes_no_tunnel_is_a_transport_error(service, responses):
    with Proxy(tunnels=service.known, refusal=responses) as proxy:
        options = {"proxy": proxy.base_url, "ca_file": authority().ca_file}
        with pytest.raises(bl.TransportError) as caught:
            quotes(client_of(service, bl.BearerToken("token"), timeout=3.0, **options))
        assert caught.value.hint
    assert service.received == []


def test_security_21_the_password_of_a_proxy_reaches_it_and_is_shown_nowhere(service):
    with Proxy(tunnels=service.known) as proxy:
        address = proxy.base_url.replace("http://", "http://user:hunter2@")
        client = bl.Client(service.base_url, proxy=address, ca_file=authority().ca_file)
        client.server_time()
        assert proxy.authorizations[-1] == "Basic dXNlcjpodW50ZXIy"
        proxy.refusal = b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"
        again = bl.Client(service.base_url, proxy=address, max_retries=0)
        with pytest.raises(bl.TransportError) as caught:
            again.server_time()
        shown = f"{caught.value!r} {caught.value.hint} {caught.value.__cause__!r} {client!r}"
        assert "hunter2" not in shown and "dXNlcjpodW50ZXIy" not in shown


@pytest.mark.parametrize(
    "address", ["ftp://127.0.0.1:1", "socks5://127.0.0.1:1", "nonsense", "", "http://", "http://[x"]
)
def test_security_21_a_proxy_of_another_kind_is_rejected(address):
    for make in (bl.Client, bl.AsyncClient):
        with pytest.raises(bl.ConfigError) as caught:
            make("https://api.example.com", proxy=address)
        assert "proxy" in str(caught.value)


@pytest.fixture
def named(monkeypatch):
    """Sets variables of the environment, and no others that name proxies."""
    for name in (*VARIABLES, "NO_PROXY"):
        for spelled in (name, name.lower()):
            monkeypatch.delenv(spelled, raising=False)
    return lambda **variables: [monkeypatch.setenv(*pair) for pair in variables.items()]


def hint_of(**options):
    """The hint of a call to a name that never exists (RFC 6761)."""
    with pytest.raises(bl.TransportError) as caught:
        bl.Client("https://boardlot.invalid", max_retries=0, **options).server_time()
    return caught.value.hint


def test_the_proxy_of_the_environment_carries_the_requests_when_it_is_asked_for(service, named):
    with Proxy(tunnels=service.known) as proxy:
        # As curl reads it, without a scheme.
        named(https_proxy=proxy.base_url.removeprefix("http://"))
        options = {"proxy": "environment", "ca_file": authority().ca_file}
        with client_of(service, sign_in(service, **options), **options) as client:
            assert list(quotes(client)) == []
        assert set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1"}


@pytest.mark.parametrize(
    ("variables", "used"),
    [
        ({"https_proxy": "lower", "HTTPS_PROXY": "upper", "ALL_PROXY": "all"}, "http://lower"),
        ({"https_proxy": "", "HTTPS_PROXY": "upper", "ALL_PROXY": "all"}, "http://upper"),
        ({"ALL_PROXY": "https://all:8443"}, "https://all:8443"),
        ({"HTTP_PROXY": "plain"}, None),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "other.example, .boardlot.test"}, None),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "api.boardlot.test other"}, None),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "pi.boardlot.test"}, "http://p"),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "p", "no_proxy": "*"}, None),
    ],
)
def test_the_variables_mean_what_they_mean_for_curl(named, variables, used):
    named(**variables)
    found = _core._environment_proxy(f"https://{NAME}")
    assert (found and found[1]) == used


def test_networks_are_exceptions_and_this_machine_always_is(named):
    named(HTTPS_PROXY="http://p", NO_PROXY="10.0.0.0/8")
    assert _core._environment_proxy("https://10.1.2.3") is None
    assert _core._environment_proxy("https://11.1.2.3") == ("HTTPS_PROXY", "http://p")
    for own in ("https://127.0.0.1:1", "https://localhost", "http://[::1]:1"):
        assert _core._environment_proxy(own) is None


def test_a_proxy_of_the_environment_that_is_not_used_is_what_the_hint_is_about(named):
    named(HTTPS_PROXY="http://user:hunter2@127.0.0.1:9")
    hint = hint_of()
    assert hint.startswith("HTTPS_PROXY is set, but not used") and 'proxy="environment"' in hint
    assert "hunter2" not in hint
    named(NO_PROXY="boardlot.invalid")
    assert "HTTPS_PROXY" not in hint_of()


def test_a_proxy_that_does_not_run_is_what_the_hint_is_about(named):
    assert hint_of(proxy="http://127.0.0.1:9").startswith("Check the address of the proxy")


@pytest.mark.parametrize("value", ["socks5://user:hunter2@p:1", "http://"])
def test_a_variable_without_a_usable_proxy_is_rejected_without_its_value(named, value):
    named(ALL_PROXY=value)
    with pytest.raises(
        bl.ConfigError, match="the value of ALL_PROXY is not a valid proxy"
    ) as caught:
        bl.Client(f"https://{NAME}", proxy="environment")
    assert "hunter2" not in f"{caught.value!r} {caught.value.hint}"


@pytest.mark.parametrize(
    "address", ["http://user:12/hunter2@proxy", "http://user:12#hunter2@proxy"]
)
def test_security_21_a_password_with_a_slash_is_not_taken_for_a_port(address, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", address)
    for proxy in (address, "environment"):
        with pytest.raises(bl.ConfigError, match=r"valid proxy|not valid") as caught:
            bl.Client("https://service.invalid", proxy=proxy)
        assert "hunter2" not in str(caught.value) and "user:" not in str(caught.value)
