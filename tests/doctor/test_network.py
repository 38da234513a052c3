"""The doctor between here and the service: settings, proxy, name, connection, TLS, clock."""

import re
import socket

import boardlot as bl
import pytest

from ..support.certificates import DAY, NOW, authority
from ..support.proxy import Proxy
from .findings import SECRET, WAY, closed_port, failed, found, served, states

# The way to the service


def test_without_credentials_the_way_alone_is_gone(sandbox):
    findings = found(sandbox.base_url)
    assert failed(findings) == [] and list(findings) == [*WAY, "credentials"]
    skipped = [step for step, state in states(findings).items() if state == "skipped"]
    assert skipped == ["proxy", "TLS", "credentials"]
    assert "stays on this machine" in findings["TLS"].detail


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("http://example.com", {}, "base_url is "),
        (f"https://user:{SECRET}@example.com", {}, "base_url is "),
        ("https://nosuch.invalid", {"ca_file": "/nowhere/ca.pem"}, "ca_file"),
        ("https://nosuch.invalid", {"proxy": f"ftp://user:{SECRET}@proxy"}, "proxy"),
        ("https://nosuch.invalid", {"headers": {"a": "b\n"}}, "header"),
    ],
)
def test_a_setting_that_no_client_accepts_is_named_and_ends_the_checks(url, options, said):
    findings = found(url, **options)
    assert failed(findings) == ["settings"] and said in findings["settings"].detail
    assert {findings[step].detail for step in WAY[1:]} == {"not tried: settings failed"}


@pytest.mark.parametrize("host", ["nosuch.invalid", f"{'a' * 70}.invalid"])
def test_a_name_that_does_not_exist_is_found(host):
    findings = found(f"https://{host}")
    assert failed(findings) == ["name"] and host in findings["name"].detail
    assert findings["connection"].detail == "not tried: name failed"


def test_a_closed_port_is_found():
    port = closed_port()
    findings = found(f"https://127.0.0.1:{port}")
    assert failed(findings) == ["connection"]
    assert f"127.0.0.1, port {port}" in findings["connection"].detail
    assert "No server is listening" in findings["connection"].hint


def test_a_silent_service_is_waited_for_until_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme in ("http", "https"):
            url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
            assert failed(found(url, timeout=0.3)) == ["service"]


def test_a_response_that_is_not_the_services_is_found():
    with bl.Sandbox(faults=bl.Faults(html_rate=1.0)) as portal:
        findings = found(portal.base_url, auth=portal.api_key())
    assert failed(findings) == ["service"] and "login page" in findings["service"].hint
    assert findings["signature"].detail == "not tried: service failed"
    assert findings["clock"].state == "skipped"


@pytest.mark.parametrize(("offset", "which"), [(60.0, "behind"), (-60.0, "ahead of")])
def test_a_wrong_clock_is_found_and_the_key_still_accepted(offset, which):
    with bl.Sandbox(clock_offset=offset) as sandbox:
        findings = found(sandbox.base_url, auth=sandbox.api_key())
    assert failed(findings) == ["clock"] and "clock" in findings["clock"].hint
    assert f"s {which} the service's" in findings["clock"].detail
    assert "beyond 5 s" in findings["clock"].detail
    # Measured at the middle of a round trip: a little more or less than the sandbox's offset.
    corrected = re.search(r"corrected the time by (\S+) s", findings["signature"].detail)
    assert float(corrected[1]) == pytest.approx(offset, abs=5.0)


# TLS


def test_a_trusted_certificate_is_accepted():
    with served(authority().context()) as server:
        findings = found(server.base_url, ca_file=authority().ca_file)
    assert failed(findings) == []
    assert findings["TLS"].detail == "the client accepts the certificate"


@pytest.mark.parametrize(
    ("wrong", "trusted", "said", "advised"),
    [
        ({"ends": NOW - DAY}, True, "certificate expired", "renew"),
        ({"names": ("10.0.0.1",)}, True, "not valid for name", "base URL"),
        ({}, False, "UnknownIssuer", "--ca-file"),
    ],
)
def test_a_certificate_that_is_rejected_is_explained(wrong, trusted, said, advised):
    ca_file = authority().ca_file if trusted else None
    with served(authority().context(**wrong)) as server:
        findings = found(server.base_url, ca_file=ca_file)
    assert failed(findings) == ["TLS"]
    assert said in findings["TLS"].detail and advised in findings["TLS"].hint
    assert findings["service"].detail == "not tried: TLS failed"


def test_what_speaks_no_tls_is_found():
    with served(None) as server:
        findings = found(f"https://127.0.0.1:{server.port}")
    assert failed(findings) == ["TLS"]
    assert "does not speak TLS" in findings["TLS"].hint


# The proxy


def test_a_proxy_is_gone_through():
    name = "service.invalid"
    with (
        served(authority().context((name,))) as server,
        Proxy(tunnels={f"{name}:443": server.port}) as proxy,
    ):
        address = f"http://user:{SECRET}@127.0.0.1:{proxy.port}"
        findings = found(f"https://{name}", proxy=address, ca_file=authority().ca_file)
    assert failed(findings) == []
    assert f"127.0.0.1, port {proxy.port}" in findings["proxy"].detail
    assert findings["name"].detail == f"the proxy resolves {name}"
    assert findings["connection"].state == "skipped"
    assert findings["TLS"].detail == "the client accepts the certificate"


@pytest.mark.parametrize(
    ("refusal", "advised"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "NAME:PASSWORD@HOST:PORT"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "what the proxy allows"),
    ],
)
def test_a_proxy_that_leads_nowhere_is_found(refusal, advised):
    with Proxy(tunnels={}, refusal=refusal) as proxy:
        address = f"http://u:{SECRET}@127.0.0.1:{proxy.port}"
        findings = found("https://service.invalid", proxy=address)
    assert failed(findings) == ["TLS"]
    assert advised in findings["TLS"].hint


def test_a_proxy_that_is_not_there_is_found():
    port = closed_port()
    findings = found("https://service.invalid", proxy=f"http://u:{SECRET}@127.0.0.1:{port}")
    assert failed(findings) == ["proxy"]
    assert f"127.0.0.1, port {port}" in findings["proxy"].detail


@pytest.mark.parametrize(
    "url",
    [f"user:{SECRET}/x@proxy:3128", f"http://user:{SECRET}@proxy:99999", f"{SECRET}#x@proxy"],
)
def test_a_proxy_whose_url_is_not_valid_is_a_finding_without_its_password(monkeypatch, url):
    assert failed(found("https://service.invalid", proxy=url)) in (["settings"], ["proxy"])
    monkeypatch.setenv("https_proxy", url)
    said = found("https://service.invalid")["proxy"].detail
    assert "the environment names one with an invalid URL" in said


@pytest.mark.parametrize("url", [f"http://user:{SECRET}@proxy.invalid:3128", "proxy.invalid:3128"])
def test_a_proxy_of_the_environment_is_named_but_not_used(url, sandbox, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", url)
    proxy = found("https://nosuch.invalid")["proxy"]
    assert proxy.state == "skipped" and "--proxy" in proxy.hint
    assert "the environment names proxy.invalid, port 3128, which is not used" in proxy.detail
    # This machine needs none.
    for options in ({}, {"proxy": "http://nosuch.invalid:3128"}):
        assert found(sandbox.base_url, **options)["proxy"].state == "skipped"
