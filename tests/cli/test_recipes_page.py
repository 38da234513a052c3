"""docs/recipes.md: its commands run as they stand, in a shell, as cron does, and from make."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a shell of POSIX")

from ..docs.test_pages import blocks
from ..support.command_line import Service, program

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
BLOCKS = blocks(PAGE)
COMMANDS = [
    line for block in BLOCKS if block.language == "sh" for line in block.source.splitlines()
]
# What `duckdb -c SQL` does, for machines that have only the Python package.
DUCKDB = """
import sys
import duckdb
assert sys.argv[1] == "-c"
for row in duckdb.sql(sys.argv[2]).fetchall():
    print(*row)
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    service = Service(folder, fills=120)
    service.install(folder / "bin")
    (folder / "run_sql.py").write_text(DUCKDB)
    if shutil.which("duckdb") is None:
        program(folder / "bin" / "duckdb", f'exec "{sys.executable}" "{folder}/run_sql.py" "$@"')
    yield service
    service.close()


def run(service: Service, command: list[str], folder: Path, **more: Any) -> str:
    environment = {**service.environment, "HOME": str(folder)}
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def need(*programs: str) -> None:
    for name in programs:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """One for all commands: a later one reads what an earlier one wrote."""
    return tmp_path_factory.mktemp("recipes")  # type: ignore[no-any-return]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str, service: Service, folder: Path) -> None:
    if "jq " in command:
        need("jq")
    if "duckdb" in command:
        pytest.importorskip("duckdb")
        if not (folder / "fills.parquet").exists():
            pytest.importorskip("pyarrow")
            (line,) = [line for line in COMMANDS if line.endswith("--out fills.parquet")]
            run(service, ["sh", "-c", line], folder)
    # The folder may have the file from another test.
    line = command.replace("--out", "--force --out")
    out = run(service, ["bash", "-e", "-o", "pipefail", "-c", line], folder)
    assert out.strip() or "--out" in command


def test_the_job_of_cron_runs_twice_without_a_terminal(service: Service, tmp_path: Path) -> None:
    (text,) = [block.source for block in BLOCKS if block.title == "crontab"]
    (line,) = [line for line in text.splitlines() if not line.startswith("#")]
    fields = re.fullmatch(r"(\S+\s+){5}(.*)", line)
    assert fields is not None
    # As cron: the shell is sh, a percent sign is a line break unless it is escaped.
    assert not re.search(r"(?<!\\)%", fields[2])
    command = ["sh", "-c", fields[2].replace(r"\%", "%")]
    for _ in range(2):
        run(service, command, tmp_path, stdin=subprocess.DEVNULL, start_new_session=True)
    (file,) = tmp_path.glob("fills-*.csv")
    assert file.read_text().startswith("trd_side,")


def test_make_builds_what_is_missing_and_never_half_of_it(service: Service, tmp_path: Path) -> None:
    need("make", "jq")
    (makefile,) = [block.source for block in BLOCKS if block.title == "Makefile"]
    (tmp_path / "Makefile").write_text(makefile)
    run(service, ["make"], tmp_path)
    fills = [json.loads(line) for line in (tmp_path / "fills.jsonl").read_text().splitlines()]
    assert len(fills) == 120
    turnover = sum(float(fill["qty"]) * float(fill["price"]) for fill in fills)
    assert json.loads((tmp_path / "turnover.json").read_text()) == pytest.approx(turnover)
    assert "up to date" in run(service, ["make"], tmp_path)
    # A download that fails leaves nothing behind.
    (tmp_path / "fills.jsonl").unlink()
    done = subprocess.run(
        ["make", "ACCOUNT=no-such-account"],
        env=service.environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert not (tmp_path / "fills.jsonl").exists()
