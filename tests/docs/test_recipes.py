"""The recipe of docs/paging.md, taken from the page: killed, run again, with errors that stay."""

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from itertools import count

import boardlot as bl
import pytest

from ..support.keys import uploaded_key
from ..support.threads import wait_until
from .test_pages import DOCS, blocks

(RECIPE,) = [
    block.source for block in blocks(DOCS / "paging.md") if "def download(" in block.source
]
SANDBOX = {"fills": 1_000}
MAIN = """
import sys

base_url, key_id, key_file, account = sys.argv[1:]
client = bl.Client(base_url, auth=bl.ApiKey(key_id, key_file))
download(client, account, "fills.db")
"""


def recipe():
    names = {"bl": bl}
    exec(RECIPE, names)
    return names["download"]


@pytest.fixture
def program(sandbox, tmp_path):
    """Starts the recipe as a process of its own."""
    key_id, key_file = uploaded_key(sandbox, tmp_path)
    script = tmp_path / "download_fills.py"
    script.write_text("import boardlot as bl\n" + RECIPE + MAIN)
    account = sandbox.accounts["trade"][0]
    words = [sandbox.base_url, key_id, key_file, account]
    return lambda: subprocess.Popen([sys.executable, str(script), *words], cwd=tmp_path)


def stored(path):
    with closing(sqlite3.connect(path)) as db:
        rows = [text for (text,) in db.execute("select fill from fills order by rowid")]
        return rows, db.execute("select count(*) from position").fetchone()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_download_that_is_killed_again_and_again_has_each_row_once(
    sandbox, program, tmp_path, how
):
    draw, kills = random.Random(int(how)), 0
    # Else a whole download may fit into a moment in which this process does not run.
    sandbox.faults = bl.Faults(latency=0.02)
    for _ in range(60):
        wanted = len(sandbox.requests) + draw.randrange(2, 9)
        with program() as process:
            wait_until(partial(reached, process, sandbox, wanted))
            process.send_signal(how)
        if process.returncode == 0:
            break
        kills += 1
    sandbox.faults = None
    assert process.returncode == 0 and kills >= 2
    rows, positions = stored(tmp_path / "fills.db")
    with sandbox.client() as client:
        expected = client.fills_history(sandbox.accounts["trade"][0], "HK").all()
    ids = [row["deal_id"] for row in expected]
    assert [row.partition('"deal_id": "')[2].partition('"')[0] for row in rows] == ids
    assert positions == 0, "the next run begins a new download"


def reached(process, sandbox, wanted):
    return process.poll() is not None or len(sandbox.requests) >= wanted


@pytest.fixture
def client(sandbox):
    with sandbox.client(max_retries=0) as client:
        yield client


def test_a_download_that_is_finished_is_replaced_by_the_next(sandbox, client, tmp_path):
    account, download = sandbox.accounts["trade"][0], recipe()
    expected = client.fills_history(account, "HK").all()
    for _ in range(3):
        assert download(client, account, tmp_path / "fills.db") == expected


def test_an_error_that_stays_is_raised_and_the_next_run_resumes(sandbox, client, tmp_path):
    account, download, path = sandbox.accounts["trade"][0], recipe(), tmp_path / "fills.db"
    expected = client.fills_history(account, "HK").all()
    before, requests = len(sandbox.requests), count()

    def fail(_event):
        if next(requests) == 3:
            sandbox.faults = bl.Faults(error_rate=1.0)

    with sandbox.client(max_retries=0, on_response=fail) as failing, pytest.raises(bl.ServiceError):
        download(failing, account, path)
    sandbox.faults = None
    assert sum(request.status != 200 for request in sandbox.requests[before:]) <= 5
    assert stored(path)[1] == 1
    before = len(sandbox.requests)
    assert download(client, account, path) == expected
    assert len(sandbox.requests) - before < 20, "the pages before are not fetched again"
