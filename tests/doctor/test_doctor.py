"""The doctor finds what is broken between here and the service, and says what to do."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
from boardlot import doctor
from boardlot.doctor import identity

pytest.importorskip("cryptography")
from ..support.certificates import DAY, NOW, Authority
from ..support.connect_proxy import ConnectProxy
from ..support.scripted_server import Scripted, answer

WAY = ["settings", "proxy", "name", "connection", "TLS", "service", "clock"]
SECRET = "hush-hush"


@pytest.fixture(autouse=True)
def no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[bl.Sandbox]:
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


@pytest.fixture
def authority() -> Authority:
    return Authority()


def served(context: Any) -> Scripted:
    """A service that returns its time to every client that accepts its certificate."""
    return Scripted(clock=0.0, context=context)


def found(*arguments: Any, **options: Any) -> dict[str, doctor.Finding]:
    findings = list(doctor.examine(*arguments, **options))
    shown = repr(findings)
    assert SECRET not in shown and "PRIVATE" not in shown
    for finding in findings:
        assert finding.detail
        # The names of earlier versions.
        assert (finding.fact, finding.advice) == (finding.detail, finding.hint)
        assert finding.hint or finding.state != "failed", finding
    return {finding.step: finding for finding in findings}


def states(findings: dict[str, doctor.Finding]) -> dict[str, str]:
    return {step: finding.state for step, finding in findings.items()}


def failed(findings: dict[str, doctor.Finding]) -> list[str]:
    return [step for step, state in states(findings).items() if state == "failed"]


def logged_in(sandbox: bl.Sandbox, scopes: list[str] | None = None, store: Any = None) -> bl.OAuth:
    flow = bl.begin_login(sandbox.base_url, store=store or bl.MemoryStore())
    return flow.finish(sandbox.authorize_demo_user(flow.url, scopes=scopes))


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


# The way to the service


def test_without_credentials_the_way_alone_is_gone(sandbox: bl.Sandbox) -> None:
    findings = found(sandbox.base_url)
    assert list(findings) == [*WAY, "credentials"]
    assert failed(findings) == []
    assert findings["TLS"].state == "skipped"
    assert "stays on this machine" in findings["TLS"].detail
    assert findings["credentials"].state == "skipped"


@pytest.mark.parametrize("url", ["http://example.com", f"https://user:{SECRET}@example.com", "x"])
def test_a_base_url_that_no_client_takes_ends_the_way(url: str) -> None:
    findings = found(url)
    assert failed(findings) == ["settings"]
    assert findings["settings"].detail.startswith("base_url is ")
    assert SECRET not in findings["settings"].detail
    assert {findings[step].detail for step in WAY[1:]} == {"not tried: settings failed"}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"ca_file": "/nowhere/ca.pem"}, "ca_file"),
        ({"proxy": f"ftp://user:{SECRET}@proxy"}, "proxy"),
        ({"headers": {"a": "b\n"}}, "header"),
    ],
)
def test_an_option_that_no_client_takes_is_named(option: dict[str, Any], said: str) -> None:
    findings = found("https://nosuch.invalid", **option)
    assert failed(findings) == ["settings"]
    assert said in findings["settings"].detail


def test_a_name_that_does_not_exist_is_found() -> None:
    findings = found("https://nosuch.invalid")
    assert failed(findings) == ["name"]
    assert "nosuch.invalid cannot be resolved" in findings["name"].detail
    assert findings["connection"].detail == "not tried: name failed"


def test_a_name_no_resolver_takes_is_found() -> None:
    assert failed(found(f"https://{'a' * 70}.invalid")) == ["name"]


def test_a_closed_port_is_found() -> None:
    port = closed_port()
    findings = found(f"https://127.0.0.1:{port}")
    assert failed(findings) == ["connection"]
    assert f"127.0.0.1, port {port}" in findings["connection"].detail
    assert "Nothing listens there" in findings["connection"].hint


def test_a_service_that_says_nothing_is_waited_for_as_long_as_was_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme, step in (("http", "service"), ("https", "TLS")):
            url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
            assert failed(found(url, timeout=0.3)) == [step]


def test_an_answer_that_is_none_of_the_service_is_found() -> None:
    with bl.Sandbox(faults=bl.Faults(html_rate=1.0)) as portal:
        findings = found(portal.base_url, auth=portal.api_key())
    assert failed(findings) == ["service"]
    assert findings["signature"].state == "skipped"
    assert findings["signature"].detail == "not tried: service failed"
    assert "login page" in findings["service"].hint
    assert findings["clock"].state == "skipped"


@pytest.mark.parametrize(
    ("location", "body", "place"),
    [
        (
            None,
            '<meta http-equiv="refresh" content="0; url=https://login.hotel.example/?a=1">',
            "at login.hotel.example;",
        ),
        (
            "http://user@portal.example:8080/start",
            "<a href='https://other.example'>",
            "at portal.example:8080;",
        ),
        (None, "<html>Log in first</html>", "which it shows for any address"),
        (None, '<a href="http://127.0.0.1/">', "which it shows for any address"),
        (None, '<a href="https://evil\x1b[2J.example/">', "at evil"),
    ],
)
def test_the_login_page_of_a_network_is_named(location: str | None, body: str, place: str) -> None:
    headers = {} if location is None else {"Location": location}
    with Scripted(lambda _: answer(body, 511, headers)) as network:
        findings = found(network.base_url)
    assert failed(findings) == ["service"]
    assert "requires a login of its own" in findings["service"].detail
    hint = findings["service"].hint
    assert place in hint and "login page in a browser" in hint
    assert "call again later" not in hint.lower()


@pytest.mark.parametrize(("offset", "which"), [(60.0, "behind"), (-60.0, "ahead of")])
def test_a_wrong_clock_is_found_and_the_key_still_accepted(offset: float, which: str) -> None:
    with bl.Sandbox(clock_offset=offset) as sandbox:
        findings = found(sandbox.base_url, auth=sandbox.api_key())
    assert failed(findings) == ["clock"]
    assert f"s {which} the service's" in findings["clock"].detail
    assert "beyond 5 s" in findings["clock"].detail
    assert "clock" in findings["clock"].hint
    assert findings["signature"].state == "ok"
    # Measured at the middle of a round trip: a little more or less than the sandbox's offset.
    told = re.search(r"corrected the time by ([+-]\d+\.\d{3}) s", findings["signature"].detail)
    assert told is not None and abs(float(told[1]) - offset) < 5.0


# TLS


def test_a_trusted_certificate_is_described(authority: Authority) -> None:
    with served(authority.context()) as server:
        findings = found(server.base_url, ca_file=authority.ca_file)
    assert failed(findings) == []
    detail = findings["TLS"].detail
    assert detail.startswith("TLS 1.3; the certificate expires ")
    assert f"{NOW + 30 * DAY:%Y-%m-%d}" in detail
    assert "issuer is The tests' authority" in detail


@pytest.mark.parametrize(
    ("wrong", "trusted", "said", "advised"),
    [
        ({"ends": NOW - DAY}, True, f"expired {NOW - DAY:%Y-%m-%d}", "renew"),
        (
            {"starts": NOW + DAY},
            True,
            f"before {NOW + DAY:%Y-%m-%d}",
            "this machine's date",
        ),
        ({"names": ("one.example", "two.example")}, True, "for one.example, two.example, not", ""),
        ({"names": ("10.0.0.1",)}, True, "for 10.0.0.1, not for 127.0.0.1", "base URL"),
        ({"self_signed": True, "subject": "Own"}, True, "self-signed (Own)", "--ca-file"),
        ({}, False, "issuer, The tests' authority, is not trusted", "--ca-file"),
        ({"self_signed": True, "subject": "a\x1b[31mb"}, True, "self-signed", "--ca-file"),
    ],
)
def test_a_certificate_that_is_refused_is_explained(
    wrong: dict[str, Any], trusted: bool, said: str, advised: str, authority: Authority
) -> None:
    ca_file = authority.ca_file if trusted else None
    with served(authority.context(**wrong)) as server:
        findings = found(server.base_url, ca_file=ca_file, auth=bl.BearerToken(SECRET))
    assert failed(findings) == ["TLS"]
    assert said in findings["TLS"].detail
    assert advised in findings["TLS"].hint
    assert findings["service"].detail == "not tried: TLS failed"
    assert findings["token"].state == "skipped"


def test_what_speaks_no_tls_is_found() -> None:
    with served(None) as server:
        findings = found(f"https://127.0.0.1:{server.port}")
    assert failed(findings) == ["TLS"]
    assert "does not speak TLS" in findings["TLS"].detail


# The proxy


def test_a_proxy_is_gone_through(authority: Authority) -> None:
    name = "service.invalid"
    with (
        served(authority.context((name,))) as server,
        ConnectProxy({f"{name}:443": server.port}) as proxy,
    ):
        findings = found(
            f"https://{name}",
            proxy=f"http://user:{SECRET}@127.0.0.1:{proxy.port}",
            ca_file=authority.ca_file,
        )
    assert failed(findings) == []
    assert f"127.0.0.1, port {proxy.port}" in findings["proxy"].detail
    assert findings["name"].detail == f"the proxy resolves {name}"
    assert findings["connection"].detail == f"the proxy connects to {name}, port 443"
    assert "The tests' authority" in findings["TLS"].detail
    # It was told the same by the client and by the doctor's own connections.
    assert len(proxy.asked) > 1
    assert {line.rsplit(" ", 1)[0] for line in proxy.asked} == {f"CONNECT {name}:443"}
    assert len(set(proxy.authorizations)) == 1


@pytest.mark.parametrize(
    ("refusal", "said", "advised"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "407", "rejects this name and password"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "403", "what the proxy allows"),
        (b"something else\r\n\r\n", "does not speak HTTP", "what the proxy allows"),
    ],
)
def test_a_proxy_that_leads_nowhere_is_found(refusal: bytes, said: str, advised: str) -> None:
    with ConnectProxy({}, refusal) as proxy:
        address = f"http://u:{SECRET}@127.0.0.1:{proxy.port}"
        findings = found("https://service.invalid", proxy=address)
    assert failed(findings) == ["connection"]
    assert said in findings["connection"].detail
    assert advised in findings["connection"].hint


def test_a_proxy_that_requires_a_password_is_told_from_one_that_rejects_it() -> None:
    with ConnectProxy({}, b"HTTP/1.1 407 Who are you\r\n\r\n") as proxy:
        without = found("https://service.invalid", proxy=proxy.base_url)
    assert failed(without) == ["connection"]
    assert "requires a name and a password" in without["connection"].hint
    assert "NAME:PASSWORD@HOST:PORT" in without["connection"].hint


def test_a_proxy_that_is_not_there_is_found() -> None:
    port = closed_port()
    findings = found("https://service.invalid", proxy=f"http://u:{SECRET}@127.0.0.1:{port}")
    assert failed(findings) == ["proxy"]
    assert f"127.0.0.1, port {port}" in findings["proxy"].detail


def test_a_proxy_is_not_used_for_this_machine(sandbox: bl.Sandbox) -> None:
    findings = found(sandbox.base_url, proxy="http://nosuch.invalid:3128")
    assert failed(findings) == []
    assert findings["proxy"].state == "skipped"


@pytest.mark.parametrize("url", [f"http://user:{SECRET}@proxy.invalid:3128", "proxy.invalid:3128"])
def test_a_proxy_of_the_environment_is_named_but_not_used(
    url: str, sandbox: bl.Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    proxy = found("https://nosuch.invalid")["proxy"]
    assert proxy.state == "skipped"
    assert "the environment names proxy.invalid, port 3128, which is not used" in proxy.detail
    assert "--proxy" in proxy.hint
    assert found(sandbox.base_url)["proxy"].detail == "none was given"


# A key


def test_a_key_is_described_and_accepted(sandbox: bl.Sandbox, tmp_path: Path) -> None:
    for algorithm, kind in (("Ed25519", "Ed25519;"), ("RSA-SHA256", "RSA-SHA256 with 3,072 bits;")):
        made = bl.generate_key(algorithm)  # type: ignore[arg-type]
        file = tmp_path / f"{algorithm}.pem"
        file.touch(0o600)
        file.write_text(made.private_pem)
        key = bl.ApiKey(sandbox.upload_key(made.public_pem), file)
        findings = found(sandbox.base_url, auth=key)
        assert list(findings) == [*WAY, "credentials", "key", "signature"]
        assert failed(findings) == []
        assert findings["credentials"].detail == f"the key {key.key_id}"
        assert findings["key"].detail == f"{kind} its file is {file}"
        assert findings["signature"].detail == "the service accepts the key"


def test_a_key_that_was_not_uploaded_is_found(sandbox: bl.Sandbox) -> None:
    made = bl.generate_key()
    findings = found(sandbox.base_url, auth=bl.ApiKey("my-app-key", made.private_pem))
    assert failed(findings) == ["signature"]
    assert "X-Api-Key is not known" in findings["signature"].detail
    assert findings["signature"].hint.startswith("Compare the key id with the developer page")
    assert "Sign with" not in findings["signature"].hint


def test_another_private_key_than_the_one_uploaded_is_found(sandbox: bl.Sandbox) -> None:
    key_id = sandbox.api_key().key_id
    key = bl.ApiKey(key_id, bl.generate_key().private_pem)
    findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == ["signature"]
    assert findings["signature"].hint.startswith("Sign with the private key whose public key")
    assert "Compare the key id" not in findings["signature"].hint


def test_what_the_answer_does_not_tell_apart_gets_the_hint_for_both() -> None:
    made = bl.ApiKey("k", bl.generate_key().private_pem)
    hint = identity._hint_for(made, "unauthenticated")
    assert "Compare the key id" in hint and "Sign with the private key" in hint


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.filterwarnings("ignore:the key file")
def test_a_key_that_others_can_read_is_found(
    opened: bool, sandbox: bl.Sandbox, tmp_path: Path
) -> None:
    file = tmp_path / "key.pem"
    made = bl.generate_key()
    file.write_text(made.private_pem)
    file.chmod(0o644)
    key_id = sandbox.upload_key(made.public_pem)
    auth = bl.ApiKey(key_id, file) if opened else (lambda: bl.ApiKey(key_id, file))
    findings = found(sandbox.base_url, auth=auth)
    assert failed(findings) == ["key"]
    assert "can be read by other users" in findings["key"].detail
    assert findings["key"].hint == f"Run: chmod 600 {file}"
    assert findings["signature"].state == "ok"


def test_a_key_that_cannot_be_read_does_not_stop_the_way(sandbox: bl.Sandbox) -> None:
    findings = found(sandbox.base_url, auth=lambda: bl.ApiKey("k", "/nowhere/key.pem"))
    assert failed(findings) == ["credentials"]
    assert "/nowhere/key.pem" in findings["credentials"].detail
    assert list(findings) == [*WAY, "credentials"]


def test_a_key_is_looked_at_where_the_service_is_away() -> None:
    key = bl.ApiKey("k", bl.generate_key().private_pem)
    findings = found(f"https://127.0.0.1:{closed_port()}", auth=key)
    assert states(findings)["key"] == "ok"
    assert findings["signature"].detail == "not tried: connection failed"


# A login


def test_a_login_is_described_and_accepted(sandbox: bl.Sandbox, tmp_path: Path) -> None:
    store = bl.EncryptedFileStore(tmp_path / "tokens", SECRET)
    login = logged_in(sandbox, store=store)
    findings = found(sandbox.base_url, auth=login)
    assert list(findings)[len(WAY) :] == [
        *("credentials", "login", "token", "scopes", "quotes", "accounts")
    ]
    assert failed(findings) == []
    assert str(tmp_path / "tokens") in findings["login"].detail
    assert login.expires_at.isoformat(timespec="seconds") in findings["login"].detail
    assert findings["token"].detail == "the service accepts the token"
    assert "quote:read" in findings["scopes"].detail
    assert "service document does not show" in findings["scopes"].detail
    assert findings["accounts"].detail.endswith("of all accounts")


def test_what_the_scopes_do_not_open_is_told(sandbox: bl.Sandbox) -> None:
    quotes = found(sandbox.base_url, auth=logged_in(sandbox, ["quote:read"]))
    assert failed(quotes) == []
    assert states(quotes)["quotes"] == "ok"
    assert quotes["accounts"].state == "skipped"
    assert "trade:read was not granted" in quotes["accounts"].detail

    account = sandbox.accounts["trade"][0]
    trade = found(sandbox.base_url, auth=logged_in(sandbox, ["trade:read", f"accid:{account}"]))
    assert failed(trade) == []
    assert "the service accepts the token, but not for this request" in trade["token"].detail
    assert trade["quotes"].state == "skipped"
    assert trade["accounts"].detail.endswith(f"of account {account}")

    nothing = found(sandbox.base_url, auth=logged_in(sandbox, ["trade:write"]))
    assert failed(nothing) == ["scopes"]
    assert "Log in again" in nothing["scopes"].hint


def test_a_token_that_is_no_longer_good_is_refreshed() -> None:
    with bl.Sandbox() as sandbox:
        login = logged_in(sandbox)
        sandbox.revoke_tokens()
        findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == []
    assert "it was refreshed and expires" in findings["token"].detail


def test_a_revoked_login_is_found() -> None:
    with bl.Sandbox() as sandbox:
        login = logged_in(sandbox)
        sandbox.revoke_grants()
        findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == ["token"]
    assert "boardlot login" in findings["token"].hint
    assert findings["scopes"].detail == "not tried: token failed"


def test_a_login_that_was_forgotten_is_found(sandbox: bl.Sandbox) -> None:
    login = logged_in(sandbox)
    login.logout()
    findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == ["login"]
    assert "boardlot login" in findings["login"].hint


def test_a_store_that_cannot_be_opened_is_found(sandbox: bl.Sandbox, tmp_path: Path) -> None:
    login = logged_in(sandbox, store=bl.EncryptedFileStore(tmp_path / "tokens", SECRET))
    wrong = bl.EncryptedFileStore(tmp_path / "tokens", "another passphrase")
    findings = found(sandbox.base_url, auth=bl.OAuth(login.client_id, store=wrong))
    assert failed(findings) == ["login"]


def test_credentials_of_another_service_are_found(sandbox: bl.Sandbox) -> None:
    key = sandbox.api_key()
    with bl.Sandbox() as other:
        other.client(key)
        findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == ["credentials"]


def test_a_bearer_token_is_tried(sandbox: bl.Sandbox) -> None:
    findings = found(sandbox.base_url, auth=bl.BearerToken(SECRET))
    assert list(findings) == [*WAY, "credentials", "token"]
    assert failed(findings) == ["token"]
    assert "get a new one for this base URL" in findings["token"].hint
    assert "key" not in findings["token"].hint


def test_a_service_has_to_be_named() -> None:
    with pytest.raises(bl.ConfigError, match="base_url is missing"):
        doctor.examine()


def test_importing_boardlot_loads_no_doctor() -> None:
    code = "import boardlot, sys; sys.exit('boardlot.doctor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# The command


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("click")
    pytest.importorskip("fcntl", reason="a terminal of POSIX")
    from ..support.command_line import Service

    service = Service(tmp_path_factory.mktemp("service"))
    yield service
    service.close()


def test_the_command_ends_with_0_where_all_is_well(service: Any) -> None:
    done = service.run("doctor")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert [line.split()[1] for line in lines] == [*WAY, "credentials", "key", "signature"]
    assert "\x1b" not in done.stdout.decode()


def test_the_command_ends_with_1_where_a_step_failed(service: Any, authority: Authority) -> None:
    context = authority.context(self_signed=True, subject="a\x1b[31mb")
    with served(context) as server:
        done = service.run("doctor", "--base-url", server.base_url)
    assert (done.returncode, done.stderr) == (1, b"failed: TLS\n")
    shown = done.stdout.decode()
    assert "failed   TLS" in shown
    assert "a\\x1b[31mb" in shown and "\x1b" not in shown
    assert "skipped  signature    not tried: TLS failed" in shown


def test_the_command_gives_rows_as_data(service: Any, tmp_path: Path) -> None:
    rows = json.loads(service.rows("doctor", "--format", "json"))
    assert [row["step"] for row in rows] == [*WAY, "credentials", "key", "signature"]
    assert {tuple(row) for row in rows} == {("step", "state", "detail", "hint")}
    out = tmp_path / "doctor.csv"
    assert service.rows("doctor", "--out", str(out)) == b""
    assert out.read_text().startswith("step,state,detail,hint\nsettings,ok,")


def test_the_command_takes_a_proxy_and_certificates(service: Any, authority: Authority) -> None:
    name = "service.invalid"
    with (
        served(authority.context((name,))) as server,
        ConnectProxy({f"{name}:443": server.port}) as proxy,
    ):
        way = ["--base-url", f"https://{name}", "--ca-file", authority.ca_file]
        way += ["--proxy", proxy.base_url]
        rows = json.loads(service.run("doctor", *way, "--format", "json").stdout)
        told = service.run("time", *way)
    assert {row["step"]: row["state"] for row in rows}["service"] == "ok"
    assert told.returncode == 0, told.stderr
    assert proxy.asked


def test_the_command_shows_colours_on_a_terminal_only(service: Any) -> None:
    assert "\x1b[32mok" in service.terminal("doctor").text
    assert "\x1b[" not in service.terminal("doctor", NO_COLOR="1").text


def test_the_command_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("click")
    from boardlot.cli import main

    assert main(["doctor"]) == 2
    assert "Add --base-url URL, or --profile NAME" in capsys.readouterr().err
    both = ["--key-id", "k", "--key-file", "key.pem", "--client-id", "c"]
    assert main(["doctor", "--base-url", "https://127.0.0.1:9", *both]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_the_command_shows_a_key_file_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("click")
    from boardlot.cli import main

    line = ["doctor", "--key-id", "k", "--key-file", "/nowhere/key.pem"]
    assert main([*line, "--base-url", f"https://127.0.0.1:{closed_port()}"]) == 1
    seen = capsys.readouterr()
    assert "failed   credentials  private_key /nowhere/key.pem" in seen.out
    assert seen.err == "failed: connection, credentials\n"
