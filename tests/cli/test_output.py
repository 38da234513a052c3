"""Output of the command line's data: as a stream, whole, and never half."""

import json
import os
import shlex
import signal
import stat
import subprocess
from pathlib import Path

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.command_line import ACCOUNT, COMMAND, FORMATS, TEXT_FORMATS
from ..support.processes import full_disk
from ..support.threads import wait_until
from ..support.words import named

FILLS = ["fills", ACCOUNT, "HK"]
DAYS = ["trading-days", "HK", "2026-01-02", "2026-01-05"]
# What formats need beside the command line itself.
PACKAGES = {"parquet": "pyarrow", "xlsx": "xlsxwriter"}
ALL = 2000
PAGES = ALL // 50


@pytest.fixture
def halfway(service, sandbox, sent):
    """Starts a download, and returns when it has received some of the rows."""

    def start(*arguments):
        sandbox.faults = bl.Faults(latency=0.5)
        process = service.start(*arguments)
        wait_until(lambda: len(sent()) > 2)
        return process

    return start


def stopped(process):
    """The stderr of a process that ends now."""
    with process:
        _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    return err.decode()


@pytest.mark.parametrize("format_", TEXT_FORMATS)
def test_rows_are_written_as_they_come_until_the_reader_goes_away(format_, service, sent):
    with service.start(*FILLS, "--format", format_) as process:
        while b"HK." not in process.stdout.readline():
            pass
        # A pipe that is not read holds a few pages; then the command waits.
        assert len(sent()) < PAGES
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, b"")
    assert len(sent()) < PAGES


@pytest.mark.parametrize(
    ("command", "to_file"),
    [
        (["time"], False),
        ([*FILLS, "--format", "json"], False),
        ([*FILLS, "--format", "jsonl"], True),
    ],
)
def test_a_full_disk_ends_with_3_and_one_line(command, to_file, service):
    with Path("/dev/full").open("wb") as full:
        out = ["--out", "/dev/full"] if to_file else []
        done = service.run(*command, *out, stdout=subprocess.PIPE if to_file else full)
    assert done.returncode == 3
    assert b"No space left on device\n" in done.stderr
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("format_", PACKAGES)
def test_a_full_disk_ends_with_3_and_one_line_in_a_format_of_a_package(format_, live):
    pytest.importorskip(PACKAGES[format_])
    done = live(*FILLS, "--format", format_, "--out", "/dev/full")
    assert done.status == 3
    assert "No space left on device\n" in done.err and "Traceback" not in done.err


@pytest.mark.parametrize(
    ("redirected", "status", "err"),
    [
        (">&-", 3, "boardlot: stdout: Bad file descriptor\n"),
        ("--out time >&-", 0, "wrote 1 row to time\n"),
        ("2>&-", 0, ""),
    ],
)
def test_a_closed_stream_does_not_crash(redirected, status, err, service, tmp_path):
    line = f"{shlex.join([*COMMAND, '--profile', 'live', 'time'])} {redirected}"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, env=service.environment
    )
    assert (done.returncode, done.stderr) == (status, err)
    assert bool(done.stdout) is redirected.startswith("2")


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("before", [{}, {"fills": b"as it was"}], ids=["new", "replaced"])
def test_a_file_that_cannot_be_written_whole_is_not_put_in_its_place(
    format_, before, live, tmp_path
):
    if format_ in PACKAGES:
        pytest.importorskip(PACKAGES[format_])
    out = tmp_path / "fills"
    for content in before.values():
        out.write_bytes(content)
    with full_disk(20_000):
        done = live(*FILLS, "--format", format_, "--out", out, "--force")
    assert done.status == 3 and "Traceback" not in done.err
    assert f"boardlot: {out}: File too large" in done.err
    assert f"hint: {out} was not written: run the command again." in done.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_download_leaves_no_file_and_says_how_to_resume(
    how, status, service, sandbox, halfway, tmp_path
):
    out = tmp_path / "my fills.csv"
    process = halfway(*FILLS, "--out", str(out))
    process.send_signal(how)
    err = stopped(process)
    assert process.returncode == status
    assert not list(tmp_path.iterdir())
    hint = named(err.partition("hint: ")[2], FOLDER=tmp_path)
    assert hint == snapshot(
        "FOLDER/my fills.csv was not written: run the command again. With --resume FILE, "
        "it can be resumed.\n"
    )


def test_a_failure_midway_leaves_an_array_on_stdout_open(sandbox, halfway):
    with halfway(*FILLS, "--format", "json") as process:
        sandbox.faults = bl.Faults(drop_rate=1.0)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    with pytest.raises(ValueError):
        json.loads(out)


def test_a_file_that_comes_into_being_meanwhile_is_not_replaced(sandbox, halfway, tmp_path):
    out = tmp_path / "fills.csv"
    process = halfway(*FILLS, "--out", str(out))
    out.write_text("mine")
    sandbox.faults = None
    assert "was created in the meantime" in stopped(process)
    assert process.returncode == 3
    assert [path.name for path in tmp_path.iterdir()] == ["fills.csv"]
    assert out.read_text() == "mine"


def test_an_existing_file_is_replaced_on_request_with_its_mode_and_through_a_link(live, tmp_path):
    out, link = tmp_path / "days.csv", tmp_path / "link.csv"
    out.write_text("mine")
    out.chmod(0o640)
    link.symlink_to(out)
    assert live(*DAYS, "--out", link, "--force").status == 0
    assert link.is_symlink()
    assert out.read_text().startswith("time,")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_a_device_or_a_pipe_is_written_to_and_never_replaced(service, live, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    process = service.start(*FILLS, "--out", str(pipe))
    assert len(pipe.read_bytes().splitlines()) == ALL
    assert stopped(process).splitlines()[1:] == [f"wrote 2,000 rows to {pipe}"]
    assert process.returncode == 0 and pipe.is_fifo()
    assert live("time", "--out", "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


def test_a_named_pipe_whose_reader_goes_away_did_not_get_all(service, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    process = service.start(*FILLS, "--out", str(pipe))
    with pipe.open("rb") as reader:
        assert reader.readline()
    assert f"boardlot: {pipe}: the reader closed it before the end" in stopped(process)
    assert process.returncode == 3


def test_a_dash_is_stdout(live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = live(*DAYS, "--format", "csv").out
    for before in ([], ["--out", "fills.csv"]):
        done = live(*before, *DAYS, "--format", "csv", "--out", "-")
        assert done == (0, expected, "")
    assert live("request", "GET", "/api/v1.0/server-time", "--out", "-").json
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("ending", "first"),
    [
        ("json", "["),
        ("jsonl", '{"time":"2026-01-02"'),
        ("CSV", "time,trade_date_type,"),
        ("txt", "time        trade_date"),
    ],
)
def test_the_extension_of_a_file_determines_the_format(ending, first, live, tmp_path):
    out = tmp_path / f"days.{ending}"
    assert live(*DAYS, "--out", out).err == f"wrote 2 rows to {out}\n"
    assert out.read_text().startswith(first)


@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": "dumb"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""},
        {"PYTHONIOENCODING": "utf-16"},
    ],
    ids=str,
)
def test_no_terminal_or_encoding_ends_a_command(environment, service):
    done = service.run("ipos", "cn", env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() and b"\x1b" not in done.stdout
