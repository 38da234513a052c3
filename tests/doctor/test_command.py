"""`boardlot doctor`: its exit statuses, formats and options."""

import json
from contextlib import closing

import pytest
from boardlot.cli import main

from ..support.certificates import authority
from ..support.command_line import Service
from ..support.proxy import Proxy
from .findings import WAY, closed_port, served


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


def test_the_command_ends_with_1_where_a_step_failed(service):
    with served(authority().context(self_signed=True)) as server:
        done = service.run("doctor", "--base-url", server.base_url)
    assert (done.returncode, done.stderr) == (1, b"failed: TLS\n")
    assert "failed   TLS" in done.stdout.decode()
    assert "skipped  signature    not tried: TLS failed" in done.stdout.decode()


def test_the_command_prints_rows_as_data(service, tmp_path):
    rows = json.loads(service.rows("doctor", "--format", "json"))
    assert [row["step"] for row in rows] == [*WAY, "credentials", "key", "signature"]
    assert {tuple(row) for row in rows} == {("step", "state", "detail", "hint")}
    out = tmp_path / "doctor.csv"
    assert service.rows("doctor", "--out", str(out)) == b""
    assert out.read_text().startswith("step,state,detail,hint\nsettings,ok,")


def test_the_command_takes_a_proxy_and_certificates(service):
    name = "service.invalid"
    with (
        served(authority().context((name,))) as server,
        Proxy(tunnels={f"{name}:443": server.port}) as proxy,
    ):
        way = ["--base-url", f"https://{name}", "--ca-file", authority().ca_file]
        rows = json.loads(
            service.run("doctor", *way, "--proxy", proxy.base_url, "--format", "json").stdout
        )
    assert {row["step"]: row["state"] for row in rows}["service"] == "ok" and proxy.asked


def test_the_command_says_what_to_pass(capsys):
    assert main(["doctor"]) == 2
    assert "pass --base-url URL, or --profile NAME" in capsys.readouterr().err


def test_the_command_shows_a_key_file_that_is_missing(capsys):
    line = ["doctor", "--key-id", "k", "--key-file", "/nowhere/key.pem"]
    assert main([*line, "--base-url", f"https://127.0.0.1:{closed_port()}"]) == 1
    seen = capsys.readouterr()
    assert "failed   credentials  private_key /nowhere/key.pem" in seen.out
    assert seen.err == "failed: connection, credentials\n"
