"""Where the command line's data go: as a stream, whole, and never half."""

import json
import os
import resource
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="pipes and limits of POSIX")
from ..support.command_line import ACCOUNT, COMMAND, FORMATS, TEXT_FORMATS, Service
from ..support.threads import wait_until

FILLS = ["fills", ACCOUNT, "HK"]
ALL = 2000
PAGES = ALL // 50


@pytest.fixture
def service(tmp_path_factory: Any) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"))
    yield service
    service.close()


def slow(service: Service) -> None:
    service.sandbox.faults = bl.Faults(latency=0.1)


@pytest.mark.parametrize("format_", TEXT_FORMATS)
def test_the_first_page_is_written_before_the_last_is_requested(
    format_: str, service: Service
) -> None:
    slow(service)
    with service.start(*FILLS, "--format", format_) as process:
        assert process.stdout is not None
        while b"HK." not in process.stdout.readline():
            pass
        assert len(service.sandbox.requests) < PAGES
        process.kill()


@pytest.mark.parametrize("format_", TEXT_FORMATS)
def test_a_pipe_that_is_closed_ends_the_command_in_silence(format_: str, service: Service) -> None:
    slow(service)
    command = subprocess.list2cmdline([*COMMAND, "--profile", "live", *FILLS, "--format", format_])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1; echo ${{PIPESTATUS[@]}}"],
        capture_output=True,
        text=True,
        env=service.environment,
    )
    assert done.stdout.splitlines()[-1] == "0 0"
    assert done.stderr == ""
    assert len(service.sandbox.requests) < PAGES


@pytest.mark.parametrize("name", [["time"], ["fills", "--help"], ["status"]])
def test_a_full_disk_behind_stdout_ends_with_1_and_one_line(
    name: list[str], service: Service
) -> None:
    base = ["--base-url", service.sandbox.base_url] if name == ["status"] else []
    with Path("/dev/full").open("wb") as full:
        done = service.run(*base, *name, stdout=full)
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


def test_a_closed_stream_does_not_crash(service: Service, tmp_path: Path) -> None:
    def run(command: str) -> subprocess.CompletedProcess[str]:
        line = subprocess.list2cmdline([*COMMAND, "--profile", "live", "time"])
        return subprocess.run(
            ["sh", "-c", f"{line} {command}"],
            capture_output=True,
            text=True,
            env=service.environment,
        )

    done = run(">&-")
    assert (done.returncode, done.stderr) == (1, "boardlot: stdout: Bad file descriptor\n")
    out = tmp_path / "time"
    assert run(f"--out {out} >&-").returncode == 0
    assert out.read_text()
    done = run("2>&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def limited() -> None:
    """What a full disk is like, for files only."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("before", [None, b"as it was"])
def test_a_file_that_cannot_be_written_whole_is_not_put_in_its_place(
    format_: str, before: bytes | None, service: Service, tmp_path: Path
) -> None:
    if format_ == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / "fills"
    if before is not None:
        out.write_bytes(before)
    options = ["--format", format_, "--out", str(out), "--force"]
    done = service.run(*FILLS, *options, preexec_fn=limited)
    assert done.returncode == 1
    assert f"boardlot: {out}: File too large".encode() in done.stderr
    assert f"hint: {out} was not written: run the command again.".encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == (
        {} if before is None else {"fills": before}
    )


@pytest.mark.parametrize(
    ("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "kill"]
)
def test_an_interrupted_download_leaves_no_file_and_says_how_to_resume(
    how: int, status: int, service: Service, tmp_path: Path
) -> None:
    slow(service)
    out = tmp_path / "my fills.csv"
    with service.start(*FILLS, "--out", str(out)) as process:
        wait_until(lambda: len(service.sandbox.requests) > 2)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert not list(tmp_path.iterdir())
    assert b"my fills.csv was not written: run the command again." in err
    assert b"Traceback" not in err
    line = f"boardlot --profile live fills {ACCOUNT} HK --out '{out}' --resume '{out}.checkpoint'"
    assert err.decode().splitlines()[-1] == f"  {line}"
    service.sandbox.faults = None
    assert service.run(*shlex.split(line)[3:]).returncode == 0
    assert len(out.read_text().splitlines()) == ALL + 1


def test_a_failure_midway_leaves_no_file_and_says_how_to_resume(
    service: Service, tmp_path: Path
) -> None:
    slow(service)
    with service.start(*FILLS, "--out", str(tmp_path / "fills.json")) as process:
        wait_until(lambda: len(service.sandbox.requests) > 2)
        service.sandbox.faults = bl.Faults(drop_rate=1.0)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert not list(tmp_path.iterdir())
    jsonl = tmp_path / "fills.jsonl"
    assert f"--out {jsonl} --resume {jsonl}.checkpoint\n".encode() in err


def test_a_failure_midway_leaves_an_array_on_stdout_open(service: Service) -> None:
    slow(service)
    with service.start(*FILLS, "--format", "json") as process:
        wait_until(lambda: len(service.sandbox.requests) > 2)
        service.sandbox.faults = bl.Faults(drop_rate=1.0)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    with pytest.raises(ValueError):
        json.loads(out)


def test_an_existing_file_is_rejected_before_anything_is_requested(
    service: Service, tmp_path: Path
) -> None:
    out = tmp_path / "days.csv"
    out.write_text("mine")
    out.chmod(0o640)
    call = ["trading-days", "HK", "2026-01-01", "2026-01-31", "--out", str(out)]
    done = service.run(*call)
    assert done.returncode == 2
    assert f"{out} already exists: choose another --out, or add --force".encode() in done.stderr
    assert not service.sandbox.requests
    assert out.read_text() == "mine"

    link = tmp_path / "link.csv"
    link.symlink_to(out)
    assert service.run(*call[:-1], str(link), "--force").returncode == 0
    assert link.is_symlink()
    assert out.read_text().startswith("time,")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_a_file_that_comes_into_being_meanwhile_is_not_replaced(
    service: Service, tmp_path: Path
) -> None:
    slow(service)
    out = tmp_path / "fills.csv"
    with service.start(*FILLS, "--out", str(out)) as process:
        wait_until(lambda: len(service.sandbox.requests) > 2)
        out.write_text("mine")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"was created in the meantime" in err
    assert [path.name for path in tmp_path.iterdir()] == ["fills.csv"]
    assert out.read_text() == "mine"


def test_a_device_or_a_pipe_is_written_to_and_never_replaced(
    service: Service, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with service.start(*FILLS, "--out", str(pipe)) as process:
        assert len(pipe.read_bytes().splitlines()) == ALL
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err.startswith(b"time range: ")
    assert err.splitlines()[1:] == [f"wrote 2,000 rows to {pipe}".encode()]
    assert pipe.is_fifo()
    assert service.run("time", "--out", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_a_named_pipe_whose_reader_goes_away_did_not_get_all(
    service: Service, tmp_path: Path
) -> None:
    slow(service)
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with service.start(*FILLS, "--out", str(pipe)) as process:
        with pipe.open("rb") as reader:
            assert reader.readline()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"boardlot: {pipe}: the reader closed it before the end".encode() in err
    assert b"--out fills.jsonl --resume fills.jsonl.checkpoint\n" in err


@pytest.mark.parametrize("before", [[], ["--out", "fills.csv"]], ids=["", "instead of a file"])
def test_a_dash_is_stdout(before: list[str], service: Service, tmp_path: Path) -> None:
    call = ["trading-days", "HK", "2026-01-02", "2026-01-05", "--format", "csv"]
    done = service.run(*before, *call, "--out", "-", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == service.rows(*call)
    assert service.run("request", "GET", "/api/v1.0/server-time", "--out", "-").stdout[:1] == b"{"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["fills.foo", "fills.csv.gz", "fills.2026"])
def test_an_unknown_extension_is_rejected(name: str, service: Service, tmp_path: Path) -> None:
    out = tmp_path / name
    for more in ([], ["--resume", str(tmp_path / "where")]):
        done = service.run(*FILLS, "--out", str(out), *more)
        assert done.returncode == 2
        assert f"--out {out} has no known extension".encode() in done.stderr
        assert b"one of .txt, .json, .jsonl, .csv, .parquet" in done.stderr
    assert not service.sandbox.requests and not list(tmp_path.iterdir())
    assert service.run("time", "--out", str(out), "--format", "json").returncode == 0
    # The response to any request is written as it came.
    html = ["request", "GET", "/api/v1.0/server-time", "--out", str(tmp_path / "response.html")]
    assert service.run(*html).returncode == 0


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "CSV", "txt"])
def test_the_extension_of_a_file_determines_the_format(
    ending: str, service: Service, tmp_path: Path
) -> None:
    out = tmp_path / f"days.{ending}"
    done = service.run("trading-days", "HK", "2026-01-02", "2026-01-05", "--out", str(out))
    assert done.stderr.decode() == f"wrote 2 rows to {out}\n"
    first = {"json": "[", "jsonl": '{"time":"2026-01-02"', "txt": "time        trade_date"}
    assert out.read_text().startswith(first.get(ending, "time,trade_date_type,"))


def test_python_m_boardlot_is_the_command(service: Service) -> None:
    done = subprocess.run([sys.executable, "-m", "boardlot", "--version"], capture_output=True)
    assert done.stdout.decode() == f"boardlot, version {bl.__version__}\n"
