"""Places that the command line writes to: refused before a request, and never left half written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="links and devices of POSIX")
from boardlot.cli import main

from ..support.command_line import ACCOUNT, COMMAND, FORMATS, TEXT_FORMATS, Service

CALL = ["fills", ACCOUNT, "HK"]


SANDBOX = {"fills": 120}


@pytest.fixture
def live(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The beginning of a command line, run in a folder of its own; no request may be sent."""
    monkeypatch.setenv("XDG_CONFIG_HOME", service.environment["XDG_CONFIG_HOME"])
    monkeypatch.chdir(tmp_path)
    asked = len(service.sandbox.requests)
    yield ["--profile", "live"]
    assert len(service.sandbox.requests) == asked


def content(folder: Path) -> dict[str, bytes | str]:
    return {
        path.name: str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() or path.is_symlink()
    }


def link_to_out(out: Path, where: Path) -> None:
    where.symlink_to(out)


def hard_link_to_out(out: Path, where: Path) -> None:
    out.write_text("")
    where.hardlink_to(out)


def link_to_the_part(out: Path, where: Path) -> None:
    where.symlink_to(f"{out}.boardlot-part")


def both_are_links(out: Path, where: Path) -> None:
    out.symlink_to("target")
    where.symlink_to("target")


@pytest.mark.parametrize("typed", ["f.csv", "./f.csv", "../{here}/f.csv", "{absolute}"])
def test_out_and_resume_are_two_files(
    typed: str, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    where = typed.format(here=tmp_path.name, absolute=tmp_path / "f.csv")
    assert main([*live, *CALL, "--out", "f.csv", "--resume", where, "--force"]) == 2
    assert "would write to the same file" in capsys.readouterr().err
    assert not content(tmp_path)


@pytest.mark.parametrize("links", [link_to_out, hard_link_to_out, link_to_the_part, both_are_links])
def test_out_and_resume_are_not_one_file_by_links(
    links: Any, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    links(Path("f.csv"), Path("where"))
    before = content(tmp_path)
    assert main([*live, *CALL, "--out", "f.csv", "--resume", "where", "--force"]) == 2
    assert "would write to the same file" in capsys.readouterr().err
    assert content(tmp_path) == before


def test_the_files_beside_out_and_resume_cannot_be_the_other_one(
    live: list[str], tmp_path: Path, capsys: Any
) -> None:
    for out, where in (("f.csv", "f.csv.boardlot-part"), (".where.part", "where")):
        files = ["--out", out, "--format", "csv", "--resume", where]
        assert main([*live, *CALL, *files]) == 2
        assert "would write to the same file" in capsys.readouterr().err
    assert not content(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", ""], "the path is empty"),
        (["--out", "folder", "--format", "csv"], "is a directory"),
        (["--out", "folder/", "--format", "csv"], "is a directory"),
        (["--out", "missing/f.csv"], "the folder missing does not exist"),
        (["--out", "dangling.csv"], "does not exist"),
        (["--out", "/proc/f.csv"], "cannot be written: /proc: "),
        (["--out", "f.csv", "--resume", ""], "the path is empty"),
        (["--out", "f.csv", "--resume", "-"], "'-' is not a file"),
        (["--out", "f.csv", "--resume", "folder"], "is a directory"),
        (["--out", "f.csv", "--resume", "missing/where"], "the folder missing does not exist"),
        (["--out", "f.csv", "--resume", "/proc/where"], "cannot be written: /proc: "),
        (["--out", "f.csv", "--resume", "/dev/null"], "needs a regular file for --resume"),
        (["--out", "f.csv", "--resume", "pipe"], "needs a regular file for --resume"),
        (["--out", "-", "--format", "csv", "--resume", "where"], "--resume needs --out FILE"),
        (["--columns", ""], "the value is empty"),
        (["--columns", ",", "--out", "f.csv"], "has an empty name"),
        (["--columns", "code,price,code", "--out", "f.parquet"], "names code twice"),
        (["--header", ""], "the value is empty"),
        (["--profile", ""], "the value is empty"),
        (["--proxy", ""], "the value is empty"),
        (["--key-file", "-", "--key-id", "x"], "'-' is not a file"),
        (["--format", "parquet", "--out", "-"], "add --out FILE"),
    ],
)
def test_what_cannot_be_done_is_rejected_before_a_request(
    options: list[str], said: str, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    Path("folder").mkdir()
    Path("dangling.csv").symlink_to(tmp_path / "nowhere" / "f.csv")
    os.mkfifo("pipe")
    before = sorted(tmp_path.iterdir())
    assert main([*live, *CALL, *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert sorted(tmp_path.iterdir()) == before


def test_data_do_not_replace_what_the_command_reads(
    service: Service, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    config = Path(service.environment["XDG_CONFIG_HOME"]) / "boardlot" / "config.toml"
    (tmp_path / "link").symlink_to(service.key_file)
    (tmp_path / "hard").hardlink_to(service.key_file)
    key = service.key_file.read_bytes()
    for out in (str(service.key_file), "link", "hard", str(config)):
        assert main([*live, *CALL, "--out", out, "--format", "csv", "--force"]) == 2
        assert "is a file that the command itself reads" in capsys.readouterr().err
    base = ["--base-url", service.sandbox.base_url, "--key-id", "x"]
    for option in ("--key-file", "--ca-file"):
        line = [*base, *CALL, option, "k.pem", "--out", "k.pem", "--format", "csv", "--force"]
        Path("k.pem").write_bytes(key)
        assert main(line) == 2
        assert "is a file that the command itself reads" in capsys.readouterr().err
        assert Path("k.pem").read_bytes() == key
    assert service.key_file.read_bytes() == key
    Path("body").write_text("{}")
    line = [*live, "request", "POST", "/x", "--body", "@body", "--out", "./body", "--force"]
    assert main(line) == 2
    assert "is a file that the command itself reads" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_rejected(live: list[str], capsys: Any) -> None:
    Path("folder").mkdir(mode=0o500)
    assert main([*live, *CALL, "--out", "folder/f.csv"]) == 2
    assert "cannot be written: " in capsys.readouterr().err


@pytest.mark.parametrize("to", ["stdout", "--out"])
@pytest.mark.parametrize("format_", FORMATS)
def test_a_full_disk_ends_with_1_in_every_format(format_: str, to: str, service: Service) -> None:
    if format_ == "parquet":
        pytest.importorskip("pyarrow")
        if to == "stdout":
            return
    line = [*CALL, "--format", format_]
    if to == "stdout":
        with Path("/dev/full").open("wb") as full:
            done = service.run(*line, stdout=full)
    else:
        done = service.run(*line, "--out", "/dev/full")
    place = b"stdout" if to == "stdout" else b"/dev/full"
    assert done.returncode == 1
    assert b"boardlot: " + place + b": No space left on device\n" in done.stderr
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


def test_a_key_whose_public_half_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "k.pem"
    line = [*COMMAND, "keygen", str(file)]
    quoted = subprocess.list2cmdline(line)
    for where in ("> /dev/full", ">&-", "| true"):
        script = f"{quoted} {where}; exit ${{PIPESTATUS[0]}}"
        if where == "| true":
            # The reader is gone for certain when the key is written.
            script = f"{{ sleep 0.5; {quoted}; echo $? > {tmp_path}/status; }} | true; "
            script += f"exit $(cat {tmp_path}/status)"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        assert done.returncode == 1, (where, done)
        assert "the public key cannot be written to stdout: " in done.stderr
        assert f"{file} was removed. Run the command again" in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
        assert not file.exists()
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0
    assert bl.ApiKey("id", file).public_key_pem() == done.stdout


def test_a_key_that_does_not_fit_on_the_disk_is_not_kept(tmp_path: Path) -> None:
    import resource

    file = tmp_path / "k.pem"
    command = [*COMMAND, "keygen", str(file)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40)),
    )
    assert done.returncode == 1
    assert f"boardlot: {file}: File too large" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("file", "said"), [("-", "'-' is not a file"), ("", "the path is empty")])
def test_a_key_needs_a_file(
    file: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["keygen", file]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and "PRIVATE" not in shown.out + shown.err
    assert main(["keygen", str(tmp_path / "missing" / "k.pem")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_sandbox_that_cannot_say_its_address_leaves_no_key(tmp_path: Path) -> None:
    file = tmp_path / "k.pem"
    with Path("/dev/full").open("wb") as full:
        command = [*COMMAND, "sandbox", "--key-file", str(file)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert not file.exists()


def test_two_downloads_to_one_file_do_not_replace_each_other(
    service: Service, tmp_path: Path
) -> None:
    out = tmp_path / "fills.csv"
    for _ in range(5):
        started = [service.start(*CALL, "--out", str(out)) for _ in range(3)]
        errors = [process.communicate(timeout=120)[1] for process in started]
        codes = [process.returncode for process in started]
        # One was first; the others found its file, or learned in time that it is there.
        assert codes.count(0) == 1, errors
        assert len(out.read_text().splitlines()) == 121
        assert [path.name for path in tmp_path.iterdir()] == ["fills.csv"]
        out.unlink()


@pytest.mark.parametrize("format_", TEXT_FORMATS)
@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": "dumb"},
        {"NO_COLOR": "1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "utf-16"},
    ],
    ids=lambda environment: next(iter(environment.items())),
)
def test_no_terminal_or_encoding_ends_a_command(
    format_: str, environment: dict[str, str], service: Service
) -> None:
    done = service.run("ipos", "cn", "--format", format_, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout
    done.stdout.decode()
