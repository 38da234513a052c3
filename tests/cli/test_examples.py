"""The examples of the command line's help, of its page and of docs/shell.md run as they stand."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import boardlot as bl
import click
import pytest
from boardlot.cli import application as app
from boardlot.cli.commands import endpoints

from ..docs.test_pages import blocks
from ..support import unusual_fills as unusual
from ..support.command_line import Service, program

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command-line.md"
RECIPES = blocks(ROOT / "docs" / "shell.md")
COMMANDS = [line for one in RECIPES if one.language == "sh" for line in one.source.splitlines()]
# Examples that need a browser, an assistant or missing files, do not end by themselves, or write
# into the user's folders.
NOT_RUN = re.compile(
    r" login| logout| --store | profile remove| status CLIENT_ID|boardlot (sandbox|demo|open)|~/"
    r"| mcp\b| archive (status|export|sql|follow) | call "
)
COMMAND_ALONE = re.compile(r"(boardlot ([^|<>&;$`\\*~'\"]|'[^']*')*)?")
# Acts like `duckdb -c SQL`, for machines that have only the Python package.
DUCKDB = """
import sys
import duckdb
assert sys.argv[1] == "-c"
for row in duckdb.sql(sys.argv[2]).fetchall():
    print(*row)
"""


@contextmanager
def serving(folder):
    """A sandbox, and programs that the examples need."""
    with closing(Service(folder, fills=120)) as service:
        service.install(folder / "bin")
        (folder / "run_sql.py").write_text(DUCKDB)
        if shutil.which("duckdb") is None:
            line = f'exec "{sys.executable}" "{folder}/run_sql.py" "$@"'
            program(folder / "bin" / "duckdb", line)
        yield service


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def run(service, boardlot, tmp_path, monkeypatch):
    return runner(service, boardlot, tmp_path, monkeypatch)


def runner(service, boardlot, tmp_path, monkeypatch):
    """Runs a script in the test's folder, which is its home, and returns what it prints: commands
    alone in this process, one after another, and what needs a shell in bash.
    """
    environment = {**service.environment, "HOME": str(tmp_path)}
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.chdir(tmp_path)

    def run(script, status=0, **more):
        # The examples name a service of their own, or the profile of a sandbox in another terminal.
        script = script.replace("https://api.example.com", service.sandbox.base_url)
        script = script.replace("--profile demo", "--profile live")
        # `head` would end what writes into it.
        script = script.replace("| head", "| sed -n 1,10p")
        # A prime number of 2,048 bits is found in a fifth of the time.
        script = script.replace("--bits 4096", "--bits 2048")
        if "--key-file key.pem" in script or "public-key key.pem" in script:
            Path("key.pem").touch(mode=0o600)
            Path("key.pem").write_text(service.key_file.read_text())
        if "keygen" in script and "--passphrase-file secret" in script:
            Path("secret").touch(mode=0o600)
            Path("secret").write_text("words\n")
        lines = script.replace("\\\n", " ").replace(" && ", "\n").splitlines()
        if all(COMMAND_ALONE.fullmatch(line) for line in lines):
            done = [boardlot(*shlex.split(line)[1:]) for line in filter(None, lines)]
            assert all((one.status != 0) == (status != 0) for one in done), done
            return "".join(one.out for one in done)
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, **more)
        assert (done.returncode != 0) == (status != 0), done.stderr
        return done.stdout

    return run


def need(*programs):
    for name in programs:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


def of_help(group=app.app):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from getattr(command, "examples", [])
        if isinstance(command, click.Group):
            yield from of_help(command)


def of_the_pages():
    # The README's other blocks of that kind are for make and pip.
    for page in (PAGE, ROOT / "README.md"):
        text = page.read_text(encoding="utf-8")
        for number, block in enumerate(re.findall(r"^```sh\n(boardlot.*?)^```", text, re.S | re.M)):
            yield pytest.param(block, id=f"{page.name} {number + 1}")


OF_HELP = list(of_help())


@pytest.mark.parametrize("line", [line for line in OF_HELP if not NOT_RUN.search(line)])
def test_an_example_of_the_help_runs(line, run):
    assert run(line) or "--out" in line or ">" in line or " profile " in line


@pytest.mark.parametrize("block", list(of_the_pages()))
def test_an_example_of_a_page_runs(block, run):
    for line in block.replace("\\\n", " ").splitlines():
        if not NOT_RUN.search(line) and line not in OF_HELP:
            run(line)


def test_the_page_names_every_command_and_every_global_option():
    text = PAGE.read_text(encoding="utf-8")
    for name in (*app.COMMANDS, *endpoints.ENDPOINTS):
        assert re.search(rf"`{name}`|boardlot (--\S+ \S+ )*{name}\b", text), name
    for option in app.global_options():
        assert option.opts[0] in text, option.opts[0]


# What sums is run for its sums, below.
SUMS = [line for line in COMMANDS if "add)" in line or line.startswith("duckdb")]


@pytest.mark.parametrize("command", [line for line in COMMANDS if line not in SUMS])
def test_a_recipe_runs(command, run):
    if "jq " in command:
        need("jq")
    assert run(command).strip() or "--out" in command


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.startswith("boardlot")])
def test_a_recipe_fails_in_an_outage_and_leaves_no_file(command, service, run, tmp_path):
    service.sandbox.faults = bl.Faults(error_rate=1.0)
    try:
        if "jq " in command:
            need("jq")
        run(command, status=1)
        assert not list(tmp_path.iterdir())
    finally:
        service.sandbox.faults = None


def titled(title):
    (source,) = [block.source for block in RECIPES if block.title == title]
    return source


def test_make_builds_what_is_missing_and_never_half_of_it(run, tmp_path):
    need("make", "jq")
    (tmp_path / "Makefile").write_text(titled("Makefile"))
    run("make")
    assert len((tmp_path / "fills.jsonl").read_text().splitlines()) == 120
    assert "up to date" in run("make")
    # A download that fails leaves nothing behind.
    (tmp_path / "fills.jsonl").unlink()
    run("make ACCOUNT=no-such-account", status=2)
    assert not (tmp_path / "fills.jsonl").exists()


@pytest.fixture
def run_on_unusual(tmp_path_factory, boardlot, tmp_path, monkeypatch):
    """The same, with fills that are corrected, late, cancelled, and of a side and a status that
    nobody knows."""
    with serving(tmp_path_factory.mktemp("unusual")) as service:
        service.sandbox.put("fills_history", unusual.AFTER)
        yield runner(service, boardlot, tmp_path, monkeypatch)


def test_the_sums_of_the_recipes_are_of_each_status(run_on_unusual, tmp_path):
    run = run_on_unusual
    need("make", "jq")
    of_jq, of_duckdb = SUMS
    sums = {(row["status"], row["code"]): row["qty"] for row in json.loads(run(of_jq))}
    assert sums == unusual.SHARES
    (tmp_path / "Makefile").write_text(titled("Makefile"))
    run("make")
    turnover = json.loads((tmp_path / "turnover.json").read_text())
    assert turnover == unusual.TURNOVER_BY_STATUS
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    run(*(line for line in COMMANDS if line.endswith("--out fills.parquet")))
    printed = run(of_duckdb)
    for (status, code), shares in unusual.SHARES.items():
        turnover = unusual.TURNOVER[status, code]
        assert re.search(rf"{status}\W+{code}\W+{shares}\.0\W+{turnover}\.0", printed), printed
