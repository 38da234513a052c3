"""`boardlot archive`: the same as commands."""

import json
import shlex
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.archive.lists import LISTS
from boardlot.cli import main
from boardlot.cli.commands.archive import LIST_OPTIONS

from ..support.processes import ROOT
from ..support.service import response
from ..support.words import assert_transcript, unbroken
from .service import HK, fill, fills_path, path_of, unavailable


@pytest.fixture
def run(service, file, capfd):
    """Runs a command on the archive, and returns what it printed to `out` and `err`."""

    def boardlot(action, *arguments, status=0):
        line = ["--base-url", service.base_url, "archive", action, str(file), *arguments]
        ended = main(line)
        printed = capfd.readouterr()
        assert ended == status, printed.err
        return printed

    return boardlot


def test_an_archive_is_updated_shown_queried_and_exported(run, book, file, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    book.put_fills(60)
    book.lists[path_of("ipos", "hk")] = [{"code": "HK.02799"}]
    done = run("update", "--fills", "281756:HK", "--ipos", "hk", "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["list"], row["key"], row["new"]) for row in rows] == [
        ("fills", "281756 HK", 60),
        ("ipos", "hk", 1),
    ]
    done = run("status", "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["list"], row["records"], row["unfinished"]) for row in rows] == [
        ("fills", 60, False),
        ("ipos", 1, False),
    ]
    done = run("sql", "select code, sum(qty) as qty from fills group by 1", "--format", "json")
    assert json.loads(done.out) == [{"code": "HK.00700", "qty": 6000.0}]
    run("export", "fills", str(tmp_path / "fills.parquet"))
    assert parquet.read_table(tmp_path / "fills.parquet").num_rows == 60
    again = run("export", "fills", str(tmp_path / "fills.parquet"), status=2)
    assert "already exists" in again.err


# Values that psycopg returns for the types of PostgreSQL, and their conversions.
OF_POSTGRESQL = json.loads(Path(__file__).with_name("types_of_postgresql.json").read_text())


def test_every_type_of_postgresql_can_be_written(address, tmp_path, capfd):
    pytest.importorskip("pyarrow")
    bl.Archive(address).close()
    columns = ", ".join(f"{value} as c{index}" for index, value in enumerate(OF_POSTGRESQL))
    for ending in ("json", "jsonl", "csv", "parquet"):
        query = ["archive", "sql", address, f"select {columns}"]
        assert main([*query, "--out", str(tmp_path / f"values.{ending}")]) == 0, capfd.readouterr()
    (row,) = json.loads((tmp_path / "values.json").read_text())
    assert list(row.values()) == list(OF_POSTGRESQL.values())


def test_wrong_usage_ends_with_2_and_creates_nothing(service, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refusal(line):
        assert main(["--base-url", service.base_url, "archive", *shlex.split(line)]) == 2, line
        printed = capfd.readouterr()
        assert not printed.out and not list(tmp_path.iterdir()) and not service.received, line
        # The name of a file is shown, but not what may contain a password.
        assert "s3cret" not in printed.err
        return unbroken(printed.err)

    assert_transcript(Path(__file__).with_name("refusals") / "commands.txt", refusal)


def test_fills_are_followed_as_lines_of_json_until_ctrl_c(book, service, file):
    book.put_fills(3)
    line = [sys.executable, "-m", "boardlot", "--base-url", service.base_url, "archive", "follow"]
    command = [*line, str(file), "--fills", "281756:HK", "--every", "0.05"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as child:
        rows = [json.loads(child.stdout.readline()) for _ in range(3)]
        assert rows == book.expected()[::-1]
        book.fills[HK].append(fill(4, book.now() - 1))
        assert json.loads(child.stdout.readline())["deal_id"] == "4"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    # An end that the user requested is not an error.
    assert child.returncode == 0 and errors == ""


@pytest.mark.parametrize(("log_format", "end"), [("text", signal.SIGTERM), ("json", signal.SIGINT)])
def test_an_outage_is_reported_when_it_begins_and_when_it_ends(
    log_format, end, book, service, file
):
    book.put_fills(1)
    line = [sys.executable, "-m", "boardlot", "--base-url", service.base_url, "--log-format"]
    command = [*line, log_format, "archive", "follow", str(file)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    options = ["--fills", "281756:HK", "--every", "0.05"]
    with subprocess.Popen([*command, *options], cwd=ROOT, **pipes) as child:
        assert json.loads(child.stdout.readline())["deal_id"] == "1"
        # More failures than the client itself retries.
        book.failures[fills_path()] = [unavailable() for _ in range(6)]
        began, over = child.stderr.readline(), child.stderr.readline()
        child.send_signal(end)
        _, rest = child.communicate(timeout=60)
    assert child.returncode == 0 and rest == ""
    if log_format == "json":
        began, over = json.loads(began), json.loads(over)
        assert (began["level"], began["error"], began["retryable"]) == (
            "warning", "ServiceError", True,
        )  # fmt: skip
        assert began["code"] == -5 and "error" not in over
        began, over = began["message"], over["message"]
    assert "following fills 281756 HK is interrupted" in began and "later (code -5" in began
    assert "following fills 281756 HK works again after " in over


def test_an_error_that_ends_a_follower_is_reported_once(run, book):
    book.put_fills(1)
    refused = response({"s": "error", "errcode": -1, "errmsg": "no"}, 403)
    book.failures[fills_path()] = [refused]
    said = run("follow", "--fills", "281756:HK", status=3).err
    assert said.count("no (code -1") == 1 and "interrupted" not in said


def test_every_option_works_or_is_refused(run, book, tmp_path):
    book.put_fills(3)
    run("update", "--fills", "281756:HK")
    out = str(tmp_path / "fills.parquet")
    for options in (
        ["--format", "csv"], ["--where", "qty>1"], ["--limit", "1"], ["--sort", "code"],
        ["--columns", "code"], ["--out", out],
    ):  # fmt: skip
        unused = f"{options[0]} has no effect on"
        assert unused in run("export", "fills", out, *options, status=2).err
        assert unused in run("follow", "--fills", "281756:HK", *options, status=2).err
    query = ["sql", "select code, qty, deal_id from fills", "--format", "jsonl"]
    assert len(run(*query, "--where", "deal_id>1").out.splitlines()) == 2
    assert len(run(*query, "--limit", "1").out.splitlines()) == 1


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_the_archive_is_never_the_output(ending, run, book, file, tmp_path):
    book.put_fills(3)
    run("update", "--fills", "281756:HK")
    file.with_name(file.name + ending).touch()
    before = file.read_bytes()
    out = str(file) + ending
    wanted = ["--out", out, "--force", "--format", "csv"]
    for command in (["status"], ["sql", "select 1"], ["update", "--ipos", "hk"], ["check"]):
        assert "is a file that the command itself reads" in run(*command, *wanted, status=2).err
    assert "is the archive itself" in run("export", "fills", out, "--force", status=2).err
    assert file.read_bytes() == before
    with bl.Archive(file) as archive:
        assert len(archive.fills(*HK).all()) == 3


def test_names_of_columns_and_infinities_are_written(run):
    run("update", "--ipos", "hk")
    twice = run("sql", "select 1 as a, 2 as a", "--format", "csv")
    assert twice.out == "a,a_2\n1,2\n"
    nothing = "select code, market from ipos where code = 'no'"
    assert run("sql", nothing, "--format", "csv").out == "code,market\n"
    assert run("sql", nothing, "--format", "json").out == "[]\n"
    infinite = "select 9e999 as a, -9e999 as b, 1.5 as c"
    row = {"a": None, "b": None, "c": 1.5}
    assert json.loads(run("sql", infinite, "--format", "json").out) == [row]
    assert json.loads(run("sql", infinite, "--format", "jsonl").out) == row
    assert "code" in run("sql", nothing).out


def test_a_list_that_was_read_lately_is_not_read_again(run, service):
    run("update", "--ipos", "hk", "--max-age-minutes", "60")
    sent = len(service.received)
    run("update", "--ipos", "hk", "--max-age-minutes", "60")
    assert len(service.received) == sent
    run("update", "--ipos", "hk", "--max-age-minutes", "0")
    assert len(service.received) > sent


def test_what_is_wrong_makes_the_status_1(run, book):
    book.put_fills(3)
    run("update", "--fills", "281756:HK")
    assert run("check", "--format", "jsonl").out == ""
    served = book.fills[HK]
    served[0] = {**served[0], "qty": "5"}
    run("update", "--fills", "281756:HK")
    found = json.loads(run("check", "--format", "jsonl", status=3).out)
    assert (found["kind"], found["list"], found["key"]) == ("twice", "fills", "281756 HK")


def test_fills_are_verified(run, book):
    book.put_fills(30)
    run("update", "--fills", "281756:HK")
    del book.fills[HK][5]
    row = json.loads(run("verify", "--fills", "281756:HK", "--format", "jsonl").out)
    assert (row["gone"], row["unchanged"], row["error"]) == (1, 29, "")
    book.fills[HK] = []
    refused = run("verify", "--fills", "281756:HK", status=3).err
    assert "no longer lists 29" in refused and "--accept-gone" in refused
    run("verify", "--fills", "281756:HK", "--accept-gone")
    changes = run(
        "sql", "select change, count(*) as n from fills_history group by 1", "--format", "csv"
    )
    assert sorted(changes.out.splitlines()) == ["change,n", "gone,30", "new,30"]


def test_the_period_that_is_covered_is_shown(run, book):
    book.put_fills(3)
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    row = json.loads(run("update", "--fills", "281756:HK", "--format", "jsonl").out)
    assert row["from"] < row["until"] and row["until"] >= today
    assert json.loads(run("status", "--format", "jsonl").out)["until"] >= today
    said = run("check").err
    assert f"fills 281756 HK are covered from {row['from']} until {row['until']}" in said


def test_every_list_has_an_option_that_says_what_it_stores():
    assert list(LIST_OPTIONS) == list(LISTS)
