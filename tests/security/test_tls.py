"""Promise 20: https but to loopback literals, certificates always verified, TLS 1.2 or newer."""

import contextlib
import inspect
import shutil
import ssl
import sys

import boardlot as bl
import pytest

from ..support.browsers import opened_with
from ..support.certificates import Authority, authority, bad_contexts
from ..support.clients import client_of
from ..support.logins import begin, expired_login, quotes, sign_in
from ..support.proxy import Proxy
from ..support.threads import outcomes_of_threads
from ..support.vectors import table


@pytest.mark.parametrize("address", table("addresses")["unsafe"])
def test_security_20_an_address_that_is_not_safe_is_rejected(address, opened):
    makers = [
        lambda: bl.Client(address),
        lambda: bl.AsyncClient(address),
        lambda: bl.begin_login(address, store=bl.MemoryStore()),
        lambda: bl.login(address, store=bl.MemoryStore()),
    ]
    for make in makers:
        with pytest.raises(bl.ConfigError) as caught:
            make()
        assert "hunter2" not in f"{caught.value!r} {caught.value.hint}"
    assert opened_with(opened) == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "http://127.9.8.7:1", "http://[::1]:1"])
def test_security_20_loopback_literals_may_be_spoken_to_in_plain(address):
    with bl.Client(address):
        pass


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient, bl.login, bl.begin_login])
def test_security_20_there_is_no_switch_that_turns_verification_off(kind):
    switches = ("verify", "insecure", "ssl", "tls", "check", "trust", "danger")
    names = inspect.signature(kind).parameters
    assert not [name for name in names if any(word in name.lower() for word in switches)]


@contextlib.contextmanager
def behind(server, context):
    """The authorization server behind TLS; its own address is that of the relay meanwhile."""
    with Proxy(server.port, context) as relay:
        server.base_url = relay.base_url
        yield relay


def certify(relay, context):
    """The same origin, whose certificate is another one from now on."""
    relay.context = context
    relay.end_connections("closed")


TRUSTING = {"ca_file": authority().ca_file}


def test_security_20_a_custom_authority_holds_for_api_login_and_refresh(server):
    with behind(server, authority().context()):
        client = client_of(server, sign_in(server, **TRUSTING), **TRUSTING)
        assert list(quotes(client)) == []
        server.expire()
        assert list(quotes(client)) == []
    assert server.counts["refresh_token"] == 1


def refused(work, hint=""):
    with pytest.raises(bl.TransportError) as caught:
        work()
    assert not isinstance(caught.value, bl.RequestTimeout)
    text = f"{caught.value} {caught.value.hint}".lower()
    assert any(word in text for word in ("certificate", "tls", "fatal alert"))
    assert hint in caught.value.hint


def bad_context(name):
    return Authority(2).context() if name == "unknown authority" else bad_contexts()[name]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("expired", "renew its certificate"),
        ("self-signed", "`ca_file=`"),
        ("wrong host", "Check the host in the base URL"),
        ("unknown authority", "`ca_file=`"),
    ],
)
def test_security_20_a_bad_certificate_is_rejected(server, name, hint):
    """By the API, by each request of a login, and by the refresh: not a byte gets through."""
    with behind(server, authority().context()) as relay:
        oauth = sign_in(server, **TRUSTING)
        flow = begin(server, **TRUSTING)
        callback = server.authorize(flow.url)
        server.expire()
        seen = len(server.received)
        certify(relay, bad_context(name))
        refused(lambda: quotes(client_of(server, oauth, **TRUSTING)), hint)
        refused(lambda: begin(server, **TRUSTING), hint)
        with pytest.raises((bl.TransportError, bl.OAuthError)):
            flow.finish(callback)
    assert len(server.received) == seen


def test_security_20_a_bad_certificate_is_rejected_by_the_refresh(server):
    with behind(server, authority().context()) as relay:
        oauth = expired_login(server, "lifetime", **TRUSTING)
        certify(relay, bad_contexts()["self-signed"])
        refused(lambda: quotes(client_of(server, oauth, **TRUSTING)))
    assert server.counts["refresh_token"] == server.counts["api"] == 0


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
def test_security_20_tls_below_1_2_is_rejected(server, version):
    with behind(server, authority().context(version=ssl.TLSVersion[version])):
        refused(lambda: quotes(client_of(server, bl.BearerToken("token"), **TRUSTING)))
        refused(lambda: begin(server, **TRUSTING))
    assert server.received == []


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_security_20_tls_1_2_and_1_3_are_spoken(server, version):
    with behind(server, authority().context(version=ssl.TLSVersion[version])):
        client = client_of(server, sign_in(server, **TRUSTING), **TRUSTING)
        assert list(quotes(client)) == []


def test_security_20_the_environment_does_not_turn_verification_off(monkeypatch, server):
    for name in ("PYTHONHTTPSVERIFY", "NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSL_NO_VERIFY"):
        monkeypatch.setenv(name, "0")
    for name in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.setenv(name, authority().ca_file)
    with behind(server, authority().context()):
        refused(lambda: quotes(client_of(server, bl.BearerToken("token"))))


def test_security_20_an_https_server_is_never_spoken_to_in_plain(server):
    """A client for https sends nothing that can be read where nobody speaks TLS."""
    address = server.base_url.replace("http:", "https:")
    with bl.Client(address, max_retries=0) as client:
        refused(client.server_time, "does not speak TLS on this port")
    assert server.received == []


@pytest.mark.skipif(sys.platform != "linux", reason="the system's authorities are in a file")
def test_security_20_the_systems_authorities_are_read_once_by_a_client_of_many_threads(
    server, tmp_path, monkeypatch
):
    authorities = tmp_path / "authorities.pem"
    shutil.copy(authority().ca_file, authorities)
    monkeypatch.setenv("SSL_CERT_FILE", str(authorities))
    with behind(server, authority().context()), client_of(server) as client:
        authorities.unlink()
        called = outcomes_of_threads(8, lambda: client.server_time() is None)
    assert called == {False: 8}
