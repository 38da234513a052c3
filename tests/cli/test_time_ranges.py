"""Times on the command line: the client's own checks, and the range that was read."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from pathlib import Path

import pytest

pytest.importorskip("click")
from ..support.command_line import ACCOUNT, Service

FILLS = ["fills", ACCOUNT, "HK"]
RANGE = re.compile(r"^time range: (\S+Z) to (\S+Z)$", re.MULTILINE)


SANDBOX = {"fills": 300}


@pytest.mark.parametrize("resume", [[], ["--resume", "fills.checkpoint"]], ids=["", "resumable"])
def test_a_start_without_an_end_reads_until_now_and_says_so(
    resume: list[str], service: Service, tmp_path: Path
) -> None:
    done = service.run(*FILLS, "--start", "2001-01-01", "--out", "f.csv", *resume, cwd=tmp_path)
    said = done.stderr.decode()
    assert done.returncode == 0, said
    with (tmp_path / "f.csv").open() as file:
        rows = list(csv.DictReader(file))
    # The sandbox has 300, within the last 90 days.
    assert len(rows) == 300
    ((start, end),) = RANGE.findall(said)
    assert start == "2001-01-01T00:00:00Z"
    newest = max(int(row["updated_time"]) for row in rows)
    assert newest / 1_000_000 <= datetime.fromisoformat(end[:-1] + "+00:00").timestamp()


def test_a_list_without_a_range_says_nothing_of_one(service: Service) -> None:
    done = service.run("plate", "HK.BK1001", "--format", "jsonl")
    assert done.returncode == 0 and b"time range" not in done.stderr
