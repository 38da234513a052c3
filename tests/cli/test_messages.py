"""What goes to stderr: everything, errors alone, also each request, or one object a line."""

import json
import os
from pathlib import Path

import boardlot as bl
import pytest
from boardlot import _core
from inline_snapshot import snapshot

ACCOUNT = "281756"


@pytest.mark.parametrize("options", [["-q"], ["--quiet", "-v"], ["--log-format", "json", "-q"]])
def test_quiet_leaves_errors_alone(options, live):
    done = live(*options, "fills", ACCOUNT, "HK", "--limit", "1", "--format", "jsonl")
    assert (done.status, done.err) == (0, "") and len(done.out.splitlines()) == 1
    assert "not a known account" in live(*options, "sim-orders", ACCOUNT).err


def test_verbose_shows_each_request_and_no_longer_than_the_command(live):
    done = live("dividends", "HK.00700", "-v", "--format", "json")
    (line,) = done.err.splitlines()
    assert line.startswith("boardlot.http: GET ") and "/dividends -> 200 in " in line
    assert live("dividends", "HK.00700", "--format", "json").err == ""


def test_json_is_one_object_a_line_without_secrets(live, service, tmp_path):
    out = tmp_path / "fills.csv"
    done = live("--log-format", "json", "-v", "fills", ACCOUNT, "HK", "--out", out)
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert done.status == 0 and {line["level"] for line in lines} == {"debug", "info"}
    requests = [line for line in lines if line.get("logger") == "boardlot.http"]
    assert requests[0]["status"] == 200 and requests[0]["attempt"] == 1
    assert lines[-1]["message"].startswith("wrote ")
    assert not any(word in done.err for word in ("Bearer", "X-Signature", "PRIVATE", "query"))


@pytest.mark.parametrize(
    ("command", "status", "level", "says"),
    [
        (["sim-orders", ACCOUNT], 3, "error", "acc_id 281756 is not a known account"),
        (["dividends"], 2, "error", "Missing argument"),
        (["archive", "update", "a.db", "--dividends", "HK.99999"], 3, "error", "HK.99999"),
    ],
)
def test_a_failure_in_json_says_why(command, status, level, says, live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = live("--log-format", "json", *command)
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert done.status == status
    ((found, hint),) = [
        (line["level"], line.get("hint")) for line in lines if says in line["message"]
    ]
    assert found == level and (hint or status == 2), lines
    assert "Traceback" not in done.err


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_table_in_a_file_is_not_data(quiet, service, tmp_path):
    def err(*arguments):
        with (tmp_path / "fills.csv").open("wb") as out:
            return service.run("fills", ACCOUNT, "HK", *quiet, *arguments, stdout=out).stderr

    said = b"for data add --format csv, or write --out fills.csv"
    assert said in err()
    assert said not in err("--format", "table") + err("--out", tmp_path / "other.csv")


@pytest.mark.filterwarnings("always:end is the date")
def test_an_end_that_is_a_date_is_pointed_out(live):
    said = live("fills", ACCOUNT, "HK", "--end", "2026-01-05", "--format", "csv").said
    assert said == snapshot(
        "boardlot: warning: end is the date 2026-01-05, the beginning of that day "
        "(midnight UTC): its fills are not read; to read them, pass "
        "end='2026-01-06T00:00Z', otherwise end='2026-01-05T00:00Z' time range: "
        "2025-10-07T00:00:00Z to 2026-01-05T00:00:00Z"
    )


@pytest.mark.filterwarnings("always:boardlot does not read")
def test_variables_that_are_not_read_are_named(boardlot, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("BOARDLOT_BASE_URL", "https://api.example.com")
    monkeypatch.setenv("BOARDLOT_API_KEY", "secret")
    said = boardlot("time").refusal
    assert "boardlot does not read these variables: BOARDLOT_API_KEY, BOARDLOT_BASE_URL" in said
    assert "secret" not in said
    # Neither beside a default profile.
    monkeypatch.setenv("BOARDLOT_PROFILE", "live")
    boardlot("profile", "add", "paper", "--base-url", "http://127.0.0.1:1")
    boardlot("profile", "use", "paper")
    said = boardlot("time").said
    assert "BOARDLOT_BASE_URL, BOARDLOT_PROFILE; the profile is paper, the default" in said
    assert "BOARDLOT_PROFILE" not in boardlot("--profile", "paper", "time").said


def test_a_key_file_that_may_not_be_read_is_named(boardlot, monkeypatch, tmp_path):
    unreadable = "/proc/sys/net/ipv4/route/flush"
    if not Path(unreadable).exists():
        pytest.skip("a file of Linux that not even root may read")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    entry = {"base_url": "https://api.example.com", "kind": "api_key", "key_id": "k"}
    _core._save_profile("job", {**entry, "private_key": unreadable})
    said = boardlot("--profile", "job", "fills", ACCOUNT, "HK").failure
    assert f"private_key {unreadable} cannot be read: Permission denied" in said
    assert "Run the job as the owner of the key file" in said and "relative" not in said
    key = ["--base-url", "https://api.example.com", "--key-id", "k", "--key-file", unreadable]
    said = boardlot(*key, "fills", ACCOUNT, "HK").refusal
    assert f"'--key-file': File '{unreadable}' is not readable" in said


def test_a_key_that_cannot_be_written_has_no_public_key(boardlot):
    done = boardlot("keygen", "/proc/key.pem")
    assert (done.status, done.out) == (3, "") and "/proc: " in done.err


def test_a_new_key_is_encrypted_with_the_passphrase_of_a_file(boardlot, tmp_path):
    file, passphrase = tmp_path / "key.pem", tmp_path / "passphrase"
    passphrase.write_text("correct horse\n")
    passphrase.chmod(0o600)
    done = boardlot("keygen", file, "--passphrase-file", passphrase)
    assert done.status == 0 and file.read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY")
    with pytest.raises(bl.ConfigError, match="encrypted"):
        bl.ApiKey("app-key", file)
    assert bl.ApiKey("app-key", file, password="correct horse").public_key_pem() == done.out
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
