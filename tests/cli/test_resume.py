"""`boardlot fills --resume`: after a crash at any moment, every row once."""

import csv
import io
import json
import os
import random
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="signals and locks of POSIX")
from boardlot.cli import main
from boardlot.cli.output import resume

from ..support.command_line import ACCOUNT, Service

FILLS = 1_500
SPAN = ["--start", "2026-01-01", "--end", "2027-06-01"]
CALL = ["fills", ACCOUNT, "HK", *SPAN]


@pytest.fixture
def service(tmp_path_factory: Any) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"), fills=FILLS)
    yield service
    service.close()


def held(service: Service) -> list[dict[str, Any]]:
    """What the service holds, by a client that nobody breaks off."""
    with service.sandbox.client() as client:
        return list(client.fills_history(ACCOUNT, "HK", start=SPAN[1], end=SPAN[3]))


def read(out: Path) -> list[dict[str, Any]]:
    text = out.read_text(encoding="utf-8")
    if out.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text)))


def as_csv(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: str(value) for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("kills", [10, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("ending", "windows"), [("csv", []), ("jsonl", []), ("jsonl", ["--windows", "4"])]
)
def test_after_kills_and_ctrl_c_at_any_moment_every_row_is_there_once(
    ending: str, windows: list[str], kills: int, service: Service, tmp_path: Path
) -> None:
    rows = held(service)
    assert len(rows) == FILLS
    out = tmp_path / f"fills.{ending}"
    line = [*CALL, *windows, "--page-size", "10", "--out", str(out)]
    line += ["--resume", str(tmp_path / "where")]
    service.sandbox.faults = bl.Faults(latency=0.003)
    dice = random.Random(7)
    killed = 0
    for _ in range(kills):
        seen = len(service.sandbox.requests)
        # Each run comes some pages further before it is killed, in the middle of whatever it does.
        wanted = dice.randrange(1, 2 * FILLS // 10 // kills)
        with service.start(*line) as process:
            while process.poll() is None and len(service.sandbox.requests) < seen + wanted:
                time.sleep(0.0005)
            time.sleep(dice.random() * 0.01)
            process.send_signal(dice.choice([signal.SIGKILL, signal.SIGINT]))
            _, err = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL, -signal.SIGINT, 130), err
        assert process.returncode != 130 or b"Traceback" not in err
        killed += process.returncode != 0
        assert out.exists() <= (process.returncode == 0)
    assert killed > kills // 2
    last = service.run(*line)
    assert last.returncode == 0, last.stderr.decode()
    assert read(out) == (as_csv(rows) if ending == "csv" else rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, "where"]


class Crash(BaseException):
    """The process ends here, as far as the files are concerned."""


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_after_a_crash_before_each_single_step_every_row_is_there_once(
    ending: str, service: Service, live: list[str], tmp_path: Path, monkeypatch: Any
) -> None:
    """Each step to the disk fails once, after the one before it was done."""
    rows = held(service)
    steps = {"count": 0, "fails": 0}

    def counted(step: Any) -> Any:
        def run(*arguments: Any, **more: Any) -> Any:
            steps["count"] += 1
            if steps["count"] == steps["fails"]:
                raise Crash
            return step(*arguments, **more)

        return run

    for name in ("_record", "replace_file"):
        monkeypatch.setattr(resume, name, counted(getattr(resume, name)))
    monkeypatch.setattr(resume.os, "fsync", counted(os.fsync))
    span = ["fills", ACCOUNT, "HK", "--start", "2026-11-01", "--end", "2026-11-20"]
    some = [row for row in rows if 1793491200000000 <= row["updated_time"] <= 1795132800000000]
    assert 100 < len(some) < 700
    for fails in range(1, 200):
        out = tmp_path / f"{fails}.{ending}"
        line = [*live, *span, "--out", str(out), "--resume", str(tmp_path / f"{fails}.where")]
        steps.update(count=0, fails=fails)
        try:
            assert main(line) == 0
            crashed = False
        except Crash:
            crashed = True
            assert not out.exists()
        steps["fails"] = 0
        assert main(line) == 0
        assert read(out) == (as_csv(some) if ending == "csv" else some)
        if not crashed:
            break
    assert not crashed
    assert fails > 20


def test_what_is_whole_is_left_alone_and_what_was_changed_is_an_error(
    service: Service, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    out, where = tmp_path / "fills.jsonl", tmp_path / "where"
    line = [*live, *CALL, "--out", str(out), "--resume", str(where)]
    assert main(line) == 0
    written = out.read_bytes()
    asked = len(service.sandbox.requests)
    capsys.readouterr()
    assert main(line) == 0
    assert capsys.readouterr().err == f"{out} is complete: 1,500 rows; nothing to do\n"
    assert (len(service.sandbox.requests), out.read_bytes()) == (asked, written)

    out.unlink()
    assert main(line) == 2
    assert f"delete {where} to start again" in capsys.readouterr().err
    where.unlink()
    assert main(line) == 0
    assert out.read_bytes() == written


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ["fills", "281757", "HK", *SPAN],
            "other arguments: ACC_ID is 281757 but was 281756. Pass the earlier",
        ),
        (
            ["fills", ACCOUNT, "US", *SPAN[:2]],
            "other arguments: TRD_MARKET is US but was HK; --end is not given but was 2027-06-01.",
        ),
        (["fills", ACCOUNT, "HK", "--start", "2026-01-02", *SPAN[2:]], "--start is 2026-01-02 but"),
        ([*CALL, "--code", "HK.00700"], "--code is HK.00700 but was not given."),
        ([*CALL, "--windows", "4"], "--windows is 4 but was not given."),
        ([*CALL, "--page-size", "20"], "--page-size is 20 but was not given."),
        ([*CALL, "--out", "other.jsonl"], "--out fills.jsonl"),
        ([*CALL, "--format", "csv"], "--format jsonl"),
        ([*CALL, "--columns", "code"], "a download without --columns"),
    ],
)
@pytest.mark.parametrize("done", [False, True], ids=["broken off", "whole"])
def test_a_checkpoint_of_another_call_is_rejected(
    change: list[str],
    expected: str,
    done: bool,
    service: Service,
    live: list[str],
    tmp_path: Path,
    monkeypatch: Any,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    line = [*live, "--out", "fills.jsonl"]
    if not done:
        service.sandbox.faults = bl.Faults(drop_rate=1.0)
    assert main([*line, *CALL, "--resume", "where"]) == (0 if done else 1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main([*line, *change, "--resume", "where"]) == 2
    said = capsys.readouterr().err
    assert "--resume where belongs to " in said and expected in said
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_same_call_in_other_words_resumes(
    service: Service, live: list[str], tmp_path: Path
) -> None:
    out, where = tmp_path / "fills.csv", tmp_path / "where"
    files = ["--out", str(out), "--resume", str(where)]
    service.sandbox.faults = bl.Faults(drop_rate=1.0)
    assert main([*live, *CALL, *files]) == 1
    service.sandbox.faults = None
    span = ["--start", "2026-01-01T08:00:00+08:00", "--end", "2027-06-01T00:00:00Z"]
    assert main([*live, "fills", ACCOUNT, "HK", *span, *files]) == 0
    assert read(out) == as_csv(held(service))


def test_a_link_to_the_checkpoint_file_stays_a_link(
    service: Service, live: list[str], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    where = tmp_path / "where"
    where.symlink_to(tmp_path / "elsewhere" / "state")
    line = [*live, *CALL, "--out", str(tmp_path / "fills.csv"), "--resume", str(where)]
    assert main(line) == 0
    assert where.is_symlink()
    assert resume.State.load(tmp_path / "elsewhere" / "state") is not None


def test_a_checkpoint_of_another_service_is_rejected(
    service: Service, tmp_path: Path, capsys: Any
) -> None:
    key = ["--key-id", service.key_id, "--key-file", str(service.key_file)]
    line = [*key, *CALL, "--out", str(tmp_path / "f.csv"), "--resume", str(tmp_path / "where")]
    assert main([*line, "--base-url", service.sandbox.base_url]) == 0
    with bl.Sandbox(seed=7) as other:
        assert main([*line, "--base-url", other.base_url]) == 2
        assert not other.requests
    assert "belongs to --base-url http://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--format", "csv"], "--resume needs --out FILE"),
        (["--out", "fills.parquet"], "`boardlot archive export` writes Parquet"),
        (["--out", "fills"], "works with csv and jsonl, not table"),
        (["--out", "/dev/null", "--format", "csv"], "needs a regular file for --out"),
        (["--out", "no/folder/fills.csv"], "does not exist"),
        (["--out", "there.csv"], "there.csv already exists"),
        (["--out", "fills.csv", "--page-size", "9"], "page_size is 9"),
    ],
)
def test_what_cannot_be_resumed_is_rejected_before_anything_is_written(
    arguments: list[str],
    expected: str,
    service: Service,
    live: list[str],
    tmp_path: Path,
    monkeypatch: Any,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    assert main([*live, *CALL, *arguments, "--resume", "where"]) == 2
    assert expected in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert not service.sandbox.requests


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 1}', '{"a": 1}', "[" * 100_000, "\xff", "1"]
)
def test_a_file_that_is_not_a_checkpoint_is_rejected_and_unchanged(
    content: str, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    where = tmp_path / "where"
    where.write_text(content, encoding="latin-1")
    line = [*live, *CALL, "--out", str(tmp_path / "fills.csv"), "--resume", str(where)]
    assert main(line) == 2
    assert "was not written by `boardlot fills --resume`, or was changed" in capsys.readouterr().err
    assert where.read_text(encoding="latin-1") == content


def test_a_checkpoint_file_that_was_cut_or_changed_is_rejected(
    service: Service, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    out, where = tmp_path / "fills.csv", tmp_path / "where"
    line = [*live, *CALL, "--out", str(out), "--resume", str(where)]
    service.sandbox.faults = bl.Faults(drop_rate=1.0)
    assert main(line) == 1
    service.sandbox.faults = None
    good = where.read_text()
    asked = len(service.sandbox.requests)
    dice = random.Random(7)
    cuts = [good[:end] for end in dice.sample(range(len(good) - 1), 20)]
    changes = []
    for place in dice.sample(range(len(good)), 60):
        letter = "0" if good[place] != "0" else "1"
        changes.append(f"{good[:place]}{letter}{good[place + 1 :]}")
    for content in [*cuts, *changes]:
        where.write_text(content)
        assert main(line) == 2, content
        assert where.read_text() == content
    assert len(service.sandbox.requests) == asked
    where.write_text(good)
    assert main(line) == 0
    assert read(out) == as_csv(held(service))


def test_a_part_that_was_cut_meanwhile_is_an_error(
    service: Service, live: list[str], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    out = tmp_path / "fills.csv"
    line = [*live, *CALL, "--out", str(out), "--resume", str(tmp_path / "where")]
    with monkeypatch.context() as patch:
        patch.setattr(resume, "_finish", lambda *_: None)
        assert main(line) == 0
    state = resume.State.load(tmp_path / "where")
    assert state is not None and state.done
    state.done = False
    state.save(tmp_path / "where")
    part = tmp_path / "fills.csv.boardlot-part"
    part.write_bytes(part.read_bytes()[:100])
    assert main(line) == 2
    assert "has 100 bytes, fewer than the" in capsys.readouterr().err


def test_two_processes_do_not_write_one_output(service: Service, tmp_path: Path) -> None:
    service.sandbox.faults = bl.Faults(latency=0.05)
    line = [*CALL, "--out", str(tmp_path / "fills.csv"), "--resume", str(tmp_path / "where")]
    with service.start(*line) as first:
        while not (tmp_path / "where").exists():
            assert first.poll() is None
            time.sleep(0.005)
        second = service.run(*line)
        assert second.returncode == 2
        assert b"another process is writing" in second.stderr
        _, err = first.communicate(timeout=60)
    assert first.returncode == 0, err.decode()
    assert len(read(tmp_path / "fills.csv")) == FILLS


def test_two_processes_do_not_use_one_checkpoint_file(service: Service, tmp_path: Path) -> None:
    where = ["--resume", str(tmp_path / "where")]
    # The first one waits for a page, and is stopped until the others have ended.
    service.sandbox.faults = bl.Faults(latency=2.0)
    with service.start(*CALL, "--out", str(tmp_path / "a.csv"), *where) as first:
        while not (tmp_path / "where").exists():
            assert first.poll() is None
            time.sleep(0.005)
        first.send_signal(signal.SIGSTOP)
        service.sandbox.faults = None
        for out in ("b.csv", "a.csv"):
            second = service.run(*CALL, "--out", str(tmp_path / out), *where)
            assert second.returncode == 2, second.stderr.decode()
        first.send_signal(signal.SIGCONT)
        _, err = first.communicate(timeout=120)
    assert first.returncode == 0, err.decode()
    assert len(read(tmp_path / "a.csv")) == FILLS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "where"]


def test_many_processes_at_once_write_one_whole_file(service: Service, tmp_path: Path) -> None:
    out = tmp_path / "fills.csv"
    for number in range(3):
        # Some with the same checkpoint file, some with their own.
        checkpoints = [str(tmp_path / f"where-{number}-{name}") for name in ("a", "a", "b", "c")]
        started = [service.start(*CALL, "--out", str(out), "--resume", w) for w in checkpoints]
        done = [(process.communicate(timeout=120)[1], process.returncode) for process in started]
        assert {status for _, status in done} <= {0, 1, 2}
        assert 0 in {status for _, status in done}, done
        assert read(out) == as_csv(held(service))
        out.unlink()


def test_a_link_in_the_place_of_the_part_is_not_followed(
    service: Service, live: list[str], tmp_path: Path, capsys: Any
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious")
    out, where = tmp_path / "fills.csv", tmp_path / "where"
    line = [*live, *CALL, "--out", str(out), "--resume", str(where)]
    (tmp_path / "fills.csv.boardlot-part").symlink_to(mine)
    assert main(line) == 1
    (tmp_path / "fills.csv.boardlot-part").unlink()
    (tmp_path / ".where.part").symlink_to(mine)
    assert main(line) == 0
    assert mine.read_text() == "precious"


def test_an_interruption_or_a_full_disk_says_where_it_resumes(
    service: Service, tmp_path: Path
) -> None:
    import resource

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    out = tmp_path / "fills.jsonl"
    line = [*CALL, "--out", str(out), "--resume", str(tmp_path / "where")]
    done = service.run(*line, preexec_fn=limited)
    assert done.returncode == 1
    assert f"boardlot: {out}: File too large".encode() in done.stderr
    hint = "hint: Run the same command again to resume after row 50."
    assert f"{hint}\n  boardlot --profile live {shlex.join(line)}\n" in done.stderr.decode()
    assert not out.exists()
    done = service.run(*line)
    assert done.returncode == 0, done.stderr.decode()
    assert read(out) == held(service)
