"""An option that would have no effect is refused; what a command accepts, it uses."""

import sys

import pytest

pytest.importorskip("click")
import boardlot as bl
from boardlot.cli.application import app
from boardlot.cli.settings import OUTPUT_OPTIONS
from click.testing import CliRunner

COMMANDS = [
    ["completion", "bash"],
    ["demo"],
    ["keygen", "key.pem"],
    ["login"],
    ["logout"],
    ["mcp"],
    ["open", "docs"],
    ["profile", "add", "x"],
    ["profile", "remove", "x"],
    ["profile", "use", "x"],
    ["sandbox"],
]


def invoke(*words: str):
    return CliRunner().invoke(app, words, prog_name="boardlot")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("option", [["--where", "qty>1"], ["--limit", "3"], ["--columns", "code"]])
def test_an_option_about_rows_is_refused_where_there_are_none(command, option) -> None:
    done = invoke(*option, *command)
    assert done.exit_code == 2
    assert f"{option[0]} has no effect on `boardlot {command[0]}" in done.output


@pytest.mark.parametrize("command", [["doctor"], ["status"], ["profile", "show"]], ids=" ".join)
def test_text_has_no_rows_to_choose(command) -> None:
    done = invoke("--base-url", "http://127.0.0.1:9", *command, "--limit", "1")
    assert done.exit_code == 2 and "add one of them" in done.output


def test_every_option_about_rows_is_known() -> None:
    shown = invoke("--help").output
    assert all(option in shown for option in OUTPUT_OPTIONS)


def test_the_time_as_a_row() -> None:
    with bl.Sandbox(seed=7) as sandbox:
        done = invoke("--base-url", sandbox.base_url, "time", "--columns", "server_time")
    assert done.exit_code == 0 and done.output.startswith("server_time\n")


def test_a_column_that_does_not_exist_suggests_the_nearest(tmp_path) -> None:
    with bl.Sandbox(seed=7) as sandbox:
        key = bl.generate_key()
        (tmp_path / "key.pem").touch(mode=0o600)
        (tmp_path / "key.pem").write_text(key.private_pem)
        words = ["--base-url", sandbox.base_url, "--key-id", sandbox.upload_key(key.public_pem)]
        words += ["--key-file", str(tmp_path / "key.pem")]
        done = invoke(*words, "ipos", "hk", "--columns", "code,names")
    assert done.exit_code == 2 and "did you mean 'name'?" in done.output


def test_what_a_profile_cannot_keep_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME" if sys.platform != "win32" else "APPDATA", str(tmp_path))
    words = ["profile", "add", "x", "--base-url", "https://api.example.com"]
    for option in (["--header", "X-A: b"], ["--proxy", "http://user:hunter2@proxy:1"]):
        done = invoke(*words, *option)
        assert done.exit_code != 0 and "hunter2" not in done.output
    assert not list(tmp_path.rglob("config.toml"))
