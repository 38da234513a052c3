"""Promise 21: a proxy only by option, never to this machine; the same for API, login, refresh."""

import boardlot as bl
import pytest
from boardlot import _core
from boardlot.cli.application import run

from ..support.addresses import Untouched
from ..support.certificates import Authority, authority
from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.proxy import Proxy
from ..support.vectors import table

NAME = "api.boardlot.test"
VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
TRUSTING = {"ca_file": authority().ca_file}


@pytest.fixture
def service(server):
    """The server as a service with a name, which only a proxy can reach."""
    with Proxy(server.port, authority().context((NAME,)), host=NAME) as relay:
        server.base_url = f"https://{NAME}"
        server.known = {f"{NAME}:443": relay.port}
        yield server


@pytest.fixture
def named(monkeypatch):
    """Sets variables of the environment, and no others that name proxies."""
    for name in VARIABLES:
        for spelled in (name, name.lower()):
            monkeypatch.delenv(spelled, raising=False)
    return lambda **variables: [monkeypatch.setenv(*pair) for pair in variables.items()]


@pytest.fixture
def environment(named):
    """An environment whose proxies nobody may speak to."""
    with Untouched() as never:
        for name in VARIABLES[:-1]:
            named(**{name: never.base_url, name.lower(): never.base_url})
        yield never


def test_security_21_proxies_of_the_environment_are_ignored(server, environment):
    client = client_of(server, sign_in(server))
    for _ in range(2):
        assert list(quotes(client)) == []
        server.expire()
    # A name that never exists (RFC 6761): it is looked up, and no proxy is used.
    hint_of()
    with pytest.raises(bl.TransportError):
        bl.begin_login("https://boardlot.invalid", store=bl.MemoryStore())


def test_security_21_the_proxy_of_the_option_carries_api_login_and_refresh(service, environment):
    with Proxy(tunnels=service.known) as proxy:
        options = {"proxy": proxy.base_url, **TRUSTING}
        oauth = sign_in(service, **options)
        assert set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1"}
        client = client_of(service, oauth, **options)
        for _ in range(2):
            assert list(quotes(client)) == []
            service.expire()
        assert set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1"}
    assert service.counts["refresh_token"] == 1


def test_security_21_no_proxy_is_used_for_this_machine(server):
    with Untouched() as never, Proxy(server.port, authority().context()) as relay:
        client = client_of(server, sign_in(server, proxy=never.base_url), proxy=never.base_url)
        for _ in range(2):
            assert list(quotes(client)) == []
            server.expire()
        for host in ("127.0.0.1", "localhost"):
            address = f"https://{host}:{relay.port}"
            with bl.Client(address, proxy=never.base_url, **TRUSTING) as client:
                assert client.server_time().tzinfo is not None


def test_security_21_a_proxy_does_not_lower_what_certificates_are_held_to(service):
    strange = Authority(2).context((NAME,))
    with Proxy(service.port, strange) as relay, Proxy(tunnels={f"{NAME}:443": relay.port}) as proxy:
        options = {"proxy": proxy.base_url, **TRUSTING}
        for work in (
            lambda: quotes(client_of(service, bl.BearerToken("token"), **options)),
            lambda: begin(service, **options),
        ):
            with pytest.raises(bl.TransportError):
                work()
    assert service.received == []


NONE = b"\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("refusal", "hint"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required" + NONE, "http://NAME:PASSWORD@HOST:PORT"),
        (b"HTTP/1.1 403 Forbidden" + NONE, "the hosts that the proxy allows"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/" + NONE, ""),
        (b"<html>sign in to the Wi-Fi</html>\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ""),
    ],
    ids=["407", "403", "302", "a page", "a body"],
)
def test_security_21_a_proxy_that_makes_no_tunnel_is_a_transport_error(service, refusal, hint):
    with Proxy(tunnels=service.known, refusal=refusal) as proxy:
        options = {"proxy": proxy.base_url, "timeout": 3.0, **TRUSTING}
        with pytest.raises(bl.TransportError) as caught:
            quotes(client_of(service, bl.BearerToken("token"), **options))
        assert caught.value.hint and hint in caught.value.hint
    assert service.received == []


def test_security_21_the_password_of_a_proxy_reaches_it_and_is_shown_nowhere(service):
    with Proxy(tunnels=service.known) as proxy:
        address = proxy.base_url.replace("http://", "http://user:hunter2@")
        client = client_of(service, proxy=address, **TRUSTING)
        client.server_time()
        assert proxy.authorizations[-1] == "Basic dXNlcjpodW50ZXIy"
        proxy.refusal = b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"
        again = client_of(service, proxy=address)
        with pytest.raises(bl.TransportError) as caught:
            again.server_time()
        shown = f"{caught.value!r} {caught.value.hint} {caught.value.__cause__!r} {client!r}"
        assert "hunter2" not in shown and "dXNlcjpodW50ZXIy" not in shown


def hint_of(**options):
    """The hint of a call to a name that never exists (RFC 6761)."""
    with (
        bl.Client("https://boardlot.invalid", max_retries=0, timeout=5.0, **options) as client,
        pytest.raises(bl.TransportError) as caught,
    ):
        client.server_time()
    return caught.value.hint


def test_the_proxy_of_the_environment_carries_the_requests_when_it_is_asked_for(
    service, named, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with Proxy(tunnels=service.known) as proxy:
        # As curl reads it, without a scheme.
        named(https_proxy=proxy.base_url.removeprefix("http://"))
        options = {"proxy": "environment", **TRUSTING}
        assert list(quotes(client_of(service, sign_in(service, **options), **options))) == []
        assert set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1"}
        # A profile keeps the way, and not the address of the proxy.
        way = ["--base-url", service.base_url, "--proxy", "environment", "--ca-file"]
        assert run(["profile", "add", "office", *way, str(TRUSTING["ca_file"])]) == 0
        assert run(["--profile", "office", "time"]) == 0
    kept = (tmp_path / "boardlot" / "config.toml").read_text()
    assert 'proxy = "environment"' in kept and proxy.base_url not in kept


@pytest.mark.parametrize(("variables", "used"), table("addresses")["proxy variables"])
def test_the_variables_mean_what_they_mean_for_curl(named, variables, used):
    named(**variables)
    for host in (NAME, f"{NAME}."):
        found = _core._environment_proxy(f"https://{host}")
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


@pytest.mark.parametrize("value", table("addresses")["proxies that are not valid"])
def test_security_21_a_proxy_that_is_not_valid_is_rejected_without_its_value(named, value):
    named(HTTPS_PROXY=value)
    for proxy in (value, "environment"):
        with pytest.raises(bl.ConfigError, match=r"valid|expected an http:") as caught:
            bl.Client(f"https://{NAME}", proxy=proxy)
        assert "hunter2" not in f"{caught.value!r} {caught.value.hint}"
        assert "user:" not in str(caught.value)
