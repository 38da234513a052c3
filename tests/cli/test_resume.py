"""`boardlot fills --resume`: after a crash at any moment, every row once."""

import csv
import json
import os
import random
import signal
from functools import partial
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.cli.output import resume
from inline_snapshot import snapshot

from ..support.command_line import ACCOUNT
from ..support.processes import full_disk
from ..support.steps import Steps
from ..support.threads import wait_until
from ..support.words import assert_transcript, named

FILLS = 600
SANDBOX = {"fills": FILLS}
SPAN = ["--start", "2026-01-01", "--end", "2027-06-01T00:00Z"]
CALL = ["fills", ACCOUNT, "HK", *SPAN]


@pytest.fixture(scope="module")
def held(service):
    """The data of the service, by a client that nobody interrupts."""
    with service.sandbox.client() as client:
        rows = list(client.fills_history(ACCOUNT, "HK", start=SPAN[1], end=SPAN[3]))
    # Those of the last 90 days, and older ones.
    assert len(rows) > FILLS
    return rows


@pytest.fixture
def out(tmp_path):
    return tmp_path / "fills.csv"


@pytest.fixture
def where(tmp_path):
    return tmp_path / "where"


@pytest.fixture
def line(out, where):
    return [*CALL, "--out", str(out), "--resume", str(where)]


@pytest.fixture
def broken_off(live, line, sandbox):
    """A download that failed before its first row."""
    sandbox.faults = bl.Faults(drop_rate=1.0)
    assert live(*line).status == 1
    sandbox.faults = None


def read(out):
    text = out.read_text(encoding="utf-8").splitlines()
    return list(map(json.loads, text) if out.suffix == ".jsonl" else csv.DictReader(text))


def as_in(out, rows):
    if out.suffix == ".jsonl":
        return rows
    return [{name: str(value) for name, value in row.items()} for row in rows]


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def reached(process, sandbox, wanted):
    return process.poll() is not None or len(sandbox.requests) >= wanted


@pytest.mark.parametrize(("ending", "windows"), [("csv", []), ("jsonl", ["--windows", "4"])])
def test_after_kills_and_ctrl_c_at_any_moment_every_row_is_there_once(
    ending, windows, service, sandbox, held, where, tmp_path
):
    out = tmp_path / f"fills.{ending}"
    line = [*CALL, *windows, "--page-size", "10", "--out", str(out), "--resume", str(where)]
    sandbox.faults = bl.Faults(latency=0.003)
    dice = random.Random(7)
    kills, killed = 6, 0
    for _ in range(kills):
        # Each run comes some pages further before it is killed, in the middle of whatever it does.
        wanted = len(sandbox.requests) + dice.randrange(1, 2 * FILLS // 10 // kills)
        with service.start(*line) as process:
            wait_until(partial(reached, process, sandbox, wanted))
            process.send_signal(dice.choice([signal.SIGKILL, signal.SIGINT]))
            _, err = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL, -signal.SIGINT, 130), err
        assert process.returncode != 130 or b"Traceback" not in err
        killed += process.returncode != 0
        assert out.exists() <= (process.returncode == 0)
    assert killed > kills // 2
    last = service.run(*line)
    assert last.returncode == 0, last.stderr.decode()
    assert read(out) == as_in(out, held)
    assert sorted(content(tmp_path)) == [out.name, "where"]


class Crash(BaseException):
    """The process ends here, as far as the files are concerned."""


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_after_a_crash_before_each_single_step_every_row_is_there_once(
    ending, live, held, tmp_path, monkeypatch
):
    def crash():
        raise Crash

    functions = [(resume, "_record"), (resume, "replace_file"), (os, "fsync")]
    steps = Steps(monkeypatch, functions, crash)
    start, end = held[149]["updated_time"], held[0]["updated_time"]
    some = [row for row in held if row["updated_time"] >= start]
    crashed = 0
    for number in range(1, 200):
        out = tmp_path / f"{number}.{ending}"
        span = ["--start", start, "--end", end]
        line = ["fills", ACCOUNT, "HK", *span, "--out", out, "--resume", f"{out}.where"]
        steps.start(number)
        try:
            assert live(*line).status == 0
            break
        except Crash:
            crashed += 1
            assert not out.exists()
        assert live(*line).status == 0
        assert read(out) == as_in(out, some)
    assert crashed > 10


def test_a_whole_download_is_not_done_again(live, line, sent, out, where, held):
    assert live(*line).status == 0
    written, asked = out.read_bytes(), len(sent())
    said = named(live(*line).err, FOLDER=out.parent, ROWS=f"{len(held):,}")
    assert said == snapshot(
        "FOLDER/fills.csv is complete: ROWS rows; nothing to do\n"
        "FOLDER/fills.csv ends at 2027-06-01 00:00 UTC: it has no later rows. For later "
        "rows, use another --out and --resume, or `boardlot archive update` every night\n"
    )
    assert (len(sent()), out.read_bytes()) == (asked, written)

    out.unlink()
    said = live(*line).refusal
    assert named(said, FOLDER=out.parent) == snapshot(
        "Error: FOLDER/fills.csv is not the file that --resume FOLDER/where records: "
        "delete FOLDER/where to start again"
    )
    # In how many windows it is read does not matter.
    assert live(*line, "--windows", "4").refusal == said
    where.unlink()
    assert live(*line).status == 0
    assert out.read_bytes() == written


def test_a_checkpoint_of_another_call_is_rejected(sandbox, live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sandbox.faults = bl.Faults(drop_rate=1.0)
    assert live(*CALL, "--out", "fills.jsonl", "--resume", "where").status == 1
    before = content(tmp_path)

    def refusal(change):
        said = live("--out", "fills.jsonl", *change.split(), "--resume", "where").refusal
        assert content(tmp_path) == before, change
        return said

    assert_transcript(Path(__file__).with_name("refusals") / "checkpoints.txt", refusal)


def test_a_checkpoint_of_another_service_is_rejected(service, boardlot, line, tmp_path):
    key = ["--key-id", service.key_id, "--key-file", service.key_file]
    assert boardlot(*key, *line, "--base-url", service.sandbox.base_url).status == 0
    with bl.Sandbox(seed=7) as other:
        done = boardlot(*key, *line, "--base-url", other.base_url)
        assert done.status == 2 and not other.requests
    here = {"FOLDER": tmp_path, "URL": service.sandbox.base_url, "OTHER": other.base_url}
    assert named(done.said, **here) == snapshot(
        "Error: --resume FOLDER/where belongs to other arguments: --base-url is OTHER but"
        " was URL. Pass the earlier ones, or use another file"
    )


def test_the_same_call_in_other_words_resumes(broken_off, live, held, line, out):
    span = ["--start", "2026-01-01T08:00:00+08:00", "--end", "2027-06-01T00:00:00Z"]
    assert live(*line[:3], *span, *line[len(CALL) :]).status == 0
    assert read(out) == as_in(out, held)


def test_a_complete_file_that_is_old_says_so_with_quiet_too(live, out, where):
    span = ["--start", "2026-01-01", "--end", "2026-02-01T00:00Z"]
    old = ["--quiet", *CALL[:3], *span, "--out", out, "--resume", where]
    assert live(*old).err == ""
    assert named(live(*old).err, FOLDER=out.parent) == snapshot(
        "FOLDER/fills.csv ends at 2026-02-01 00:00 UTC: it has no later rows. For later "
        "rows, use another --out and --resume, or `boardlot archive update` every night\n"
    )


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', "[" * 100_000, "\xff"])
def test_a_file_that_is_not_a_checkpoint_is_rejected_and_unchanged(text, live, line, where):
    where.write_text(text, encoding="latin-1")
    assert named(live(*line).refusal, FOLDER=where.parent) == snapshot(
        "Error: --resume FOLDER/where was not written by `boardlot fills --resume`, or "
        "was changed: use another file, or delete it"
    )
    assert where.read_text(encoding="latin-1") == text


def test_a_checkpoint_file_that_was_cut_or_changed_is_rejected(
    broken_off, live, held, line, out, where, sent
):
    good, asked, dice = where.read_text(), len(sent()), random.Random(7)
    for place in dice.sample(range(len(good) - 1), 20):
        letter = "0" if good[place] != "0" else "1"
        for text in (good[:place], f"{good[:place]}{letter}{good[place + 1 :]}"):
            where.write_text(text)
            assert live(*line).status == 2 and where.read_text() == text, text
    assert len(sent()) == asked
    where.write_text(good)
    assert live(*line).status == 0
    assert read(out) == as_in(out, held)


def test_a_part_that_was_cut_meanwhile_is_an_error(live, line, out, where, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(resume, "_finish", lambda *_: None)
        assert live(*line).status == 0
    state = resume.State.load(where)
    state.done = False
    state.save(where)
    part = out.with_name("fills.csv.boardlot-part")
    part.write_bytes(part.read_bytes()[:100])
    assert "has 100 bytes, fewer than the" in live(*line).refusal


def test_two_processes_use_neither_one_output_nor_one_checkpoint_file(
    service, sandbox, line, out, where, tmp_path, held
):
    # The first one waits for a page, and is stopped until the others have ended.
    sandbox.faults = bl.Faults(latency=2.0)
    with service.start(*line) as first:
        wait_until(lambda: where.exists() or first.poll() is not None)
        first.send_signal(signal.SIGSTOP)
        sandbox.faults = None
        second = service.run(*line)
        assert second.returncode == 2 and b"another process is writing" in second.stderr
        other = [*CALL, "--out", str(tmp_path / "b.csv"), "--resume", str(where)]
        assert service.run(*other).returncode == 2
        first.send_signal(signal.SIGCONT)
        _, err = first.communicate(timeout=120)
    assert first.returncode == 0, err.decode()
    assert len(read(out)) == len(held)
    assert sorted(content(tmp_path)) == ["fills.csv", "where"]


def test_a_link_in_the_place_of_the_part_is_not_followed(live, line, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("precious")
    part = tmp_path / "fills.csv.boardlot-part"
    part.symlink_to(mine)
    assert live(*line).status == 3
    part.unlink()
    (tmp_path / ".where.part").symlink_to(mine)
    assert live(*line).status == 0
    assert mine.read_text() == "precious"


def test_a_full_disk_says_where_it_resumes(service, held, where, tmp_path):
    out = tmp_path / "fills.jsonl"
    line = [*CALL, "--out", str(out), "--resume", str(where)]
    with full_disk(20_000):
        done = service.run(*line)
    assert done.returncode == 3 and not out.exists()
    hint = b"hint: Run the same command again to resume after row 50."
    assert f"boardlot: {out}: File too large".encode() in done.stderr and hint in done.stderr
    assert service.run(*line).returncode == 0
    assert read(out) == held


def test_what_the_service_rejects_is_not_to_be_resumed(live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = live("fills", "999", "HK", "--out", "fills.csv", "--resume", "where")
    assert done.status == 3 and "not a known account" in done.err
    assert "resume" not in done.err


@pytest.mark.parametrize(("out", "advice"), [("f.csv", ""), ("f", ", and --out as csv or jsonl")])
def test_the_advice_to_resume_asks_for_what_is_missing(live, sandbox, out, advice, tmp_path):
    sandbox.faults = bl.Faults(drop_rate=1.0)
    said = live(*CALL, "--out", str(tmp_path / out)).said
    assert f"With --resume FILE{advice}, it can" in said and not list(tmp_path.iterdir())
