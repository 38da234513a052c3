"""Commands in docs, help and errors can be pasted into a shell, which takes `>` for a file."""

import re
import shlex
from pathlib import Path

import pytest
from boardlot.cli.output.conditions import CONDITION
from inline_snapshot import snapshot

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "python/boardlot/SKILL.md"]
# A comparison with what a shell takes for a file, as docs, help and messages write it.
COMPARISON = re.compile(r"(?<![\w.])[a-z_]+(?:>=|<=|>|<)[\w.:+-]+")


def commands():
    """The lines of the pages that have a condition."""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            if "--where " in line and "boardlot " in line:
                yield pytest.param(line.strip("` |"), id=f"{page.name}: {line[:60]}")


@pytest.mark.parametrize("line", [*commands()])
def test_a_command_of_the_docs_gives_each_condition_whole(line):
    # Operators of a shell are tokens of their own.
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    conditions = [words[index + 1] for index, word in enumerate(words) if word == "--where"]
    assert conditions and all(CONDITION.fullmatch(one) for one in conditions)


def test_a_condition_in_a_page_is_in_quotes():
    """Also in the middle of a sentence."""
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if "--where" not in line:
                continue
            for found in COMPARISON.finditer(line):
                around = line[found.start() - 1] + line[found.end() : found.end() + 1]
                assert around == "''", f"{page.name}:{number}: {found.group()}"


def test_the_error_for_half_a_condition_says_to_quote(live):
    """`--where qty>=100` without quotes is `--where qty`, and a file named =100."""
    said = live("fills", "281756", "HK", "--where", "qty").refusal
    assert said == snapshot(
        "Error: --where 'qty' is not a condition; expected one such as 'qty>=100', "
        "'code=HK.00700' or 'stock_name~bank', in quotes: a shell takes > and < for files"
    )
