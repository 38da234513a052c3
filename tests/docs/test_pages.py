"""Every example of the README and the docs runs, page by page, and shows what the page says.

In the long form a page that leaves files behind runs twice again beside them, and its Python blocks
print the same again but for times. How a fenced block is read, from the top of a page to its end:

- `python` runs, all blocks of a page in one namespace; `await` works at its top level;
- `text` right below it is what it prints, word by word; below tabs, what each of them prints. Only
  numbers and times may differ, for the sandbox's data move with the date: of them, sign, separators
  and decimals are compared;
- `title="name"` makes it a file of that name, which is not run by itself;
- `console` runs in a shell: lines with `$` are commands, lines below them what they print;
- `sh` needs a person or does not end: of its `boardlot` commands the options are checked;
- anything else is shown only.
"""

import asyncio
import functools
import inspect
import logging
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import boardlot as bl
import griffe
import pytest
from boardlot.cli.application import app
from click.testing import CliRunner
from run_notebooks import NOTEBOOKS

from ..support.printed import printed_by

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages for agents are tried like those for people.
AGENTS = [ROOT / "AGENTS.md", ROOT / "python" / "boardlot" / "SKILL.md"]
PAGES = [ROOT / "README.md", *sorted([*DOCS.glob("*.md"), *DOCS.glob("api/*.md")])]
# Within tabs, blocks are indented.
FENCE = re.compile(r"^( *)```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
TAB = re.compile(r'=== "[^"]+"')
TIME = re.compile(r"\b1\d{12}(\d{3})?\b|\d+:\d+:\d+[\d.]*|[\d.]+ m?s\b|127\.0\.0\.1:\d+")
NUMBER = re.compile(r"\d[\d,]*(\.\d+)?")
SHELL = """
boardlot() { "$PYTHON" -m boardlot "$@"; }
python() { "$PYTHON" "$@"; }
"""


class Block(NamedTuple):
    language: str
    title: str | None
    source: str
    line: int
    follows: bool
    """True if there is only space between this block and the one before."""
    alternative: bool
    """True if this block is in the tab next to that of the one before."""


def blocks(page):
    text, found, end, in_tab = page.read_text(encoding="utf-8"), [], 0, False
    for match in FENCE.finditer(text):
        line = text[: match.start()].count("\n") + 2
        between = text[end : match.start()].strip()
        follows = bool(found) and not between
        alternative, in_tab = in_tab and bool(TAB.fullmatch(between)), bool(match[1])
        source = textwrap.dedent(match[4])
        found.append(Block(match[2], match[3], source, line, follows, alternative))
        end = match.end()
    return found


@pytest.fixture
def home(tmp_path, tmp_path_factory, monkeypatch):
    """An empty folder to work in, which is the user's home as well."""
    temporary = str(tmp_path_factory.mktemp("temporary"))
    monkeypatch.setattr("tempfile.tempdir", temporary)
    monkeypatch.setenv("TMPDIR", temporary)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / ".config"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHON", sys.executable)
    # To load all plugins takes longer than what the pages test.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p boardlot.pytest_plugin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Of a cluster whose dashboard has another port than usual.
@pytest.mark.filterwarnings("ignore:\\s*Port 8787 is already in use")
@pytest.mark.parametrize("runs", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("page", [*PAGES, *AGENTS], ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, runs, home):
    """Run again in the same folder, beside what it has written there, it shows the same."""
    first = run_page(page, home)
    for _ in range(1, runs if any(home.iterdir()) else 1):
        again = run_page(page, home)
        assert [timeless(printed) for printed in again] == [timeless(printed) for printed in first]


# In the short form, the pages with recipes.
@pytest.mark.parametrize(
    "page",
    [
        page if page.stem in ("cookbook", "archive") else pytest.param(page, marks=pytest.mark.slow)
        for page in PAGES
        if "\nsandbox = bl.Sandbox(" in page.read_text("utf-8")
    ],
    ids=lambda page: page.stem,
)
def test_a_page_fails_in_an_outage_and_runs_after_it(page, home, monkeypatch):
    with monkeypatch.context() as during, bl.Sandbox(seed=7) as sandbox:
        sandbox.faults = bl.Faults(error_rate=1.0)
        during.setattr(bl, "Sandbox", lambda **_: sandbox)
        with pytest.raises(bl.BoardlotError):
            run_page(page, home)
    run_page(page, home)


def timeless(printed):
    """The output without times, durations and ports: all else is the same in each run."""
    return TIME.sub("0", printed)


def run_page(page, home):
    """The output of each of its Python blocks."""
    names = {"__name__": "__main__"}
    printed, all_printed = [], []
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.title:
            save(block, home)
        elif block.language == "python":
            printed = [*(printed if block.alternative else []), run(block, page, names)]
            all_printed.append(printed[-1])
        elif block.language == "console":
            run_console(block.source, where)
        elif block.language == "sh":
            for command in re.findall(r"^boardlot .*", joined(block.source), re.MULTILINE):
                check_options(command, where)
        elif block.language == "text" and block.follows:
            for one in printed:
                compare(block.source, one, where)
    close(names)
    return all_printed


def close(names):
    """Closes what the blocks of a page have opened; sandboxes last."""
    for logger in filter(lambda value: isinstance(value, logging.Logger), names.values()):
        logger.setLevel(logging.NOTSET)
        for handler in logger.handlers[:]:
            logger.removeHandler(handler)
    for value in sorted(names.values(), key=lambda value: isinstance(value, bl.Sandbox)):
        if callable(getattr(type(value), "close", None)) and not inspect.isclass(value):
            closing = value.close()
            if inspect.isawaitable(closing):
                asyncio.run(wait_for(closing))


async def wait_for(awaitable):
    await awaitable


def run(block, page, names):
    # As many empty lines as stand above it: a traceback then names the page's own line.
    source = "\n" * (block.line - 1) + block.source
    return printed_by(source, str(page), "exec", names)


def joined(source):
    """The lines as the shell takes them: one that ends with a backslash continues in the next."""
    return source.replace("\\\n", " ")


def check_options(command, where):
    """Its command and all of its options are known: with `--help` behind them it does no more."""
    # Without where its output goes.
    words = shlex.split(re.split(" [|>]+ ", command)[0], comments=True)
    done = CliRunner().invoke(app, [*words[1:], "--help"])
    assert done.exit_code == 0, f"{where}: {command}\n{done.output}"


def run_console(source, where):
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed = shell(command, where)
        if expected.strip():
            compare(expected, printed, where)


def shell(command, where):
    done = subprocess.run(
        ["sh", "-c", SHELL + command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{where}: {command}\n{done.stdout}"
    return done.stdout


def save(block, home):
    folder = home / ".config" / "boardlot" if block.title == "config.toml" else home
    folder.mkdir(parents=True, exist_ok=True)
    (folder / block.title).write_text(block.source, encoding="utf-8")


def compare(expected, printed, where):
    assert [form(line) for line in expected.strip().splitlines()] == [
        form(line) for line in printed.strip().splitlines()
    ], f"{where} shows another output than\n{printed}"


def form(line):
    """The words of a line, in each of them 0 for every number: with its decimals, if it has some.

    So `2026-11-21` is any date in that notation, and `-1.50` any negative number of two decimals.
    Addresses in memory, and the long words of cursors and digests, are any of their kind.
    """
    line = re.sub(r"0x[0-9a-f]+", "0x", line)
    # A time of a whole second is written without its fraction.
    line = re.sub(r"datetime\((?:\d+, )+", "datetime(0, ", line)
    line = re.sub(r"(\d\d:\d\d:\d\d)\.\d+", r"\1", line)
    line = re.sub(r"[\w+/=&%?#.-]{24,}", "...", line) if '"at":' in line else line
    line = re.sub("[─═-]{2,}", "──", re.sub("[│┆]", " ", line))
    return NUMBER.sub(lambda number: "0" + re.sub(r"\d", "0", number[1] or ""), line).split()


def test_the_navigation_names_every_page_and_no_other():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": (\S+\.md)$", text, re.MULTILINE)
    pages = [page.relative_to(DOCS).as_posix() for page in PAGES[1:]]
    assert sorted(named) == sorted([*pages, *(f"notebooks/{path.stem}.md" for path in NOTEBOOKS)])


def test_every_public_name_has_its_place_in_the_api_pages():
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    named = set(re.findall(r"^::: boardlot\.(\w+)$", text, re.MULTILINE))
    errors = set(bl.errors.__all__)
    assert "errors" in named
    assert set(bl.__all__) - errors - {"__version__"} <= named


@functools.cache
def api():
    """The package as the API pages see it: read, not imported, as its libraries may be missing."""
    extension = griffe.load_extensions(str(ROOT / "tools" / "documented.py"))
    folder = Path(bl.__file__).parents[1]
    return griffe.load("boardlot", search_paths=[folder], extensions=extension)


@pytest.fixture(scope="module")
def package():
    return api()


@pytest.mark.parametrize("module", ["calendar", "dask", "otel", "plots"])
def test_every_name_beside_the_clients_has_its_place_in_the_api_pages(package, module):
    text = (DOCS / "api" / f"{module}.md").read_text(encoding="utf-8")
    named = re.findall(rf"^::: boardlot\.{module}\.(?:\w+\.)?(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(package[module].exports)


def test_the_table_of_errors_is_that_of_the_package():
    """Each row says of an error what its docstring says, and what to do about it."""
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| \S.* \|$", text, re.MULTILINE))
    assert rows == {
        name: inspect.getdoc(getattr(bl, name)).splitlines()[0] for name in bl.errors.__all__
    }


def test_every_promise_has_a_row_with_a_figure_and_tests_of_its_number():
    text = (DOCS / "reliability.md").read_text(encoding="utf-8")
    numbers = {int(one) for one in re.findall(r"^\| (\d+)\. \S", text, re.MULTILINE)}
    assert numbers == set(range(1, 55)) | set(range(57, 62))
    sources = [path for folder in ("tests", "crates", "src") for path in (ROOT / folder).rglob("*")]
    tests = "".join(
        path.read_text(encoding="utf-8") for path in sources if path.suffix in (".py", ".rs")
    )
    # Fuzzers and audits are commands: CONTRIBUTING.md has them.
    assert [one for one in numbers - {33, 36} if f"security_{one:02}" not in tests] == []
