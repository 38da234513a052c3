"""The doctor: what is between here and the service, its credentials, and the command."""

import json
import re
import socket
import sys
from contextlib import closing

import boardlot as bl
import pytest
from boardlot import doctor
from boardlot.cli import main

from ..support.addresses import held_port
from ..support.certificates import DAY, NOW, authority
from ..support.command_line import Service
from ..support.keys import uploaded_key
from ..support.logins import demo_login
from ..support.proxy import Proxy
from ..support.service import StandInService

WAY = ["settings", "proxy", "name", "connection", "TLS", "service", "clock"]
SECRET = "hush-hush"


def served(context):
    """A service that returns its time to every client that accepts its certificate."""
    return StandInService(clock=0.0, context=context)


def found(*arguments, **options):
    findings = list(doctor.examine(*arguments, **options))
    shown = repr(findings)
    assert SECRET not in shown and "PRIVATE" not in shown
    for finding in findings:
        assert finding.detail
        # Where a setting is wrong, the detail says what is expected.
        is_setting = finding.step in ("settings", "credentials")
        assert finding.hint or is_setting or finding.state != "failed", finding
    return {finding.step: finding for finding in findings}


def failed(findings):
    return [step for step, finding in findings.items() if finding.state == "failed"]


def fails(step, *arguments, **options):
    """The finding of the only step that fails."""
    findings = found(*arguments, **options)
    assert failed(findings) == [step]
    return findings[step]


@pytest.fixture
def closed_port():
    with held_port() as port:
        yield port


# The way to the service


def test_without_credentials_the_way_alone_is_gone(sandbox):
    findings = found(sandbox.base_url)
    assert failed(findings) == [] and list(findings) == [*WAY, "credentials"]
    skipped = [step for step, finding in findings.items() if finding.state == "skipped"]
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


def test_a_closed_port_is_found(closed_port):
    finding = fails("connection", f"https://127.0.0.1:{closed_port}")
    assert f"127.0.0.1, port {closed_port}" in finding.detail
    assert "No server is listening" in finding.hint


def test_a_silent_service_is_waited_for_until_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme in ("http", "https"):
            url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
            fails("service", url, timeout=0.3)


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
        assert "does not speak TLS" in fails("TLS", f"https://127.0.0.1:{server.port}").hint


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


def test_a_proxy_that_is_not_there_is_found(closed_port):
    address = f"http://u:{SECRET}@127.0.0.1:{closed_port}"
    finding = fails("proxy", "https://service.invalid", proxy=address)
    assert f"127.0.0.1, port {closed_port}" in finding.detail


@pytest.mark.parametrize(
    "url", [f"user:{SECRET}/x@proxy:3128", f"http://user:{SECRET}@proxy:99999", f"{SECRET}#x@proxy"]
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


# A key


@pytest.mark.parametrize(
    ("algorithm", "kind"), [("Ed25519", "Ed25519;"), ("RSA-SHA256", "RSA-SHA256 with 3,072 bits;")]
)
def test_a_key_is_described_and_accepted(algorithm, kind, sandbox, tmp_path):
    key_id, file = uploaded_key(sandbox, tmp_path, algorithm)
    key = bl.ApiKey(key_id, file)
    findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == []
    assert {step: finding.detail for step, finding in findings.items() if step not in WAY} == {
        "credentials": f"the key {key.key_id}",
        "key": f"{kind} its file is {file}",
        "signature": "the service accepts the key",
    }


def test_a_key_that_does_not_fit_is_found(sandbox):
    for key_id, said, hint in (
        ("my-app-key", "X-Api-Key is not known", "Compare the key id with the developer page"),
        (sandbox.api_key().key_id, "", "Sign with the private key whose public key"),
    ):
        wrong = bl.ApiKey(key_id, bl.generate_key().private_pem)
        finding = fails("signature", sandbox.base_url, auth=wrong)
        assert said in finding.detail and finding.hint.startswith(hint)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.filterwarnings("ignore:the key file")
def test_a_key_that_others_can_read_is_found(sandbox, tmp_path):
    file = tmp_path / "key.pem"
    file.write_text(bl.generate_key().private_pem)
    file.chmod(0o644)
    findings = found(sandbox.base_url, auth=lambda: bl.ApiKey("k", file))
    assert "key" in failed(findings)
    assert "can be read by other users" in findings["key"].detail
    assert findings["key"].hint == f"Run: chmod 600 {file}"


def test_a_key_that_cannot_be_read_does_not_stop_the_way(sandbox):
    findings = found(sandbox.base_url, auth=lambda: bl.ApiKey("k", "/nowhere/key.pem"))
    assert failed(findings) == ["credentials"] and list(findings) == [*WAY, "credentials"]
    assert "/nowhere/key.pem" in findings["credentials"].detail


def test_a_key_is_checked_if_the_service_is_away(closed_port):
    key = bl.ApiKey("k", bl.generate_key().private_pem)
    findings = found(f"https://127.0.0.1:{closed_port}", auth=key)
    assert findings["key"].state == "ok"
    assert findings["signature"].detail == "not tried: connection failed"


# A login


def test_a_login_is_described_and_accepted(sandbox, tmp_path):
    store = bl.EncryptedFileStore(tmp_path / "tokens", SECRET)
    login = demo_login(sandbox, store=store)
    findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == []
    assert list(findings)[len(WAY) :] == ["credentials", "login", "token", "scopes"]
    for said in (str(tmp_path / "tokens"), login.expires_at.isoformat(timespec="seconds")):
        assert said in findings["login"].detail
    assert findings["token"].detail == "the service accepts the token"
    assert "quote:read" in findings["scopes"].detail

    wrong = bl.EncryptedFileStore(tmp_path / "tokens", "another passphrase")
    fails("login", sandbox.base_url, auth=bl.OAuth(login.client_id, store=wrong))


def test_what_the_scopes_do_not_open_is_reported(sandbox):
    account = sandbox.accounts["trade"][0]
    login = demo_login(sandbox, scopes=["trade:read", f"accid:{account}"])
    trade = found(sandbox.base_url, auth=login)
    assert failed(trade) == []
    assert "the service accepts the token, but not for this request" in trade["token"].detail

    nothing = fails("scopes", sandbox.base_url, auth=demo_login(sandbox, scopes=["trade:write"]))
    assert "log in again" in nothing.hint


def test_a_token_that_is_no_longer_valid_is_refreshed_and_a_revoked_login_found():
    with bl.Sandbox() as sandbox:
        login = demo_login(sandbox)
        sandbox.revoke_tokens()
        refreshed = found(sandbox.base_url, auth=login)
        sandbox.revoke_grants()
        revoked = found(sandbox.base_url, auth=login)
    assert failed(refreshed) == []
    assert "it was refreshed and expires" in refreshed["token"].detail
    assert failed(revoked) == ["token"]
    assert "boardlot login" in revoked["token"].hint
    assert revoked["scopes"].detail == "not tried: token failed"


def test_a_login_that_was_forgotten_is_found(sandbox):
    login = demo_login(sandbox)
    login.logout()
    assert "boardlot login" in fails("login", sandbox.base_url, auth=login).hint


def test_credentials_of_another_service_are_found(sandbox):
    key = sandbox.api_key()
    with bl.Sandbox() as other:
        other.client(key)
        fails("credentials", sandbox.base_url, auth=key)


def test_a_bearer_token_is_tried(sandbox):
    findings = found(sandbox.base_url, auth=bl.BearerToken(SECRET))
    assert failed(findings) == ["token"] and list(findings) == [*WAY, "credentials", "token"]
    assert "get a new one for this base URL" in findings["token"].hint


def test_a_service_has_to_be_named():
    with pytest.raises(bl.ConfigError, match="base_url is missing"):
        doctor.examine()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with closing(Service(tmp_path_factory.mktemp("service"))) as service:
        yield service


def test_the_command_ends_with_0_where_all_is_well(service):
    done = service.run("doctor")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert [line.split()[1] for line in lines] == [*WAY, "credentials", "key", "signature"]
    assert "\x1b" not in done.stdout.decode()
    assert "\x1b[32mok" in service.terminal("doctor").text
    assert "\x1b[" not in service.terminal("doctor", NO_COLOR="1").text


def test_the_command_says_which_rate_limit_applies_and_how_much_is_free(service):
    last = service.rows("doctor", "--rate-limit", "20", "--shared").decode().splitlines()[-1]
    assert last.startswith("ok       rate limit")
    assert "20 requests per second, shared by all processes of this user" in last
    assert "free now" in last


def test_the_command_ends_with_3_where_a_step_failed(service):
    with served(authority().context(self_signed=True)) as server:
        done = service.run("doctor", "--base-url", server.base_url)
    assert (done.returncode, done.stderr) == (3, b"failed: TLS\n")
    assert "failed   TLS" in done.stdout.decode()
    assert "skipped  signature    not tried: TLS failed" in done.stdout.decode()


def test_the_command_prints_rows_as_data(service, tmp_path):
    rows = json.loads(service.rows("doctor", "--format", "json"))
    assert [row["step"] for row in rows] == [*WAY, "credentials", "key", "signature"]
    assert {tuple(row) for row in rows} == {("step", "state", "detail", "hint")}
    out = tmp_path / "doctor.csv"
    assert service.rows("doctor", "--out", str(out)) == b""
    assert out.read_text().startswith("step,state,detail,hint\nsettings,ok,")


def test_the_command_says_what_to_pass(capsys):
    assert main(["doctor"]) == 2
    assert "pass --base-url URL, or --profile NAME" in capsys.readouterr().err


def test_the_command_shows_a_key_file_that_is_missing(capsys, closed_port):
    line = ["doctor", "--key-id", "k", "--key-file", "/nowhere/key.pem"]
    assert main([*line, "--base-url", f"https://127.0.0.1:{closed_port}"]) == 3
    seen = capsys.readouterr()
    assert "failed   credentials  private_key /nowhere/key.pem" in seen.out
    assert seen.err == "failed: connection, credentials\n"
