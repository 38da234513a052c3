"""The command line in a real terminal: tables as wide as it is, colors, and progress."""

import json
import random
import re

import boardlot as bl
import pytest
from boardlot._support.tables import text_and_html as tables
from boardlot._support.tables.cell_format import truncated, width_of
from boardlot.cli.commands import request
from boardlot.cli.output.terminal import colored_json

from ..support.command_line import ACCOUNT

FILLS = ["fills", ACCOUNT, "HK"]
DIVIDENDS = ["dividends", "HK.00700"]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
SANDBOX = {"fills": 300}


def plain(screen):
    """The lines of the table, without colors; the range of time that was read goes to stderr."""
    lines = ESCAPE.sub("", screen.text).splitlines()
    return [line for line in lines if not line.startswith("time range: ")]


@pytest.mark.parametrize("columns", ["1", "40"])
def test_the_width_may_be_said_by_the_environment(columns, service):
    screen = service.terminal(*DIVIDENDS, columns=200, COLUMNS=columns)
    assert screen.status == 0
    assert columns == "1" or max(map(width_of, plain(screen))) <= 40


# Texts and their widths: wide, combining, emoji.
WIDTHS = {
    "abc": 3,
    "騰訊": 4,
    "ｆ": 2,
    "e\u0301": 1,
    "\u2764": 1,
    "😀": 2,
    "😀\ufe0f": 2,
    "\u0e01\u0e34\u0e19": 2,
}


@pytest.mark.parametrize(("text", "width"), WIDTHS.items())
def test_a_text_is_as_wide_as_a_terminal_shows_it(text, width):
    assert width_of(text) == width
    assert truncated(text, width) == text
    # Nothing is cut between a character and what is drawn upon it.
    for limit in range(1, 5 * width):
        assert width_of(truncated(text * 5, limit)) <= limit
        kept = truncated(text * 5, limit).removesuffix("…")
        rest = (text * 5)[len(kept) :]
        assert not rest or (width_of(rest[0]) != 0 and rest[0] != "\ufe0f")


@pytest.mark.parametrize("width", [20, 47, 120, 300])
def test_a_table_of_any_width_has_no_line_that_is_wider(width):
    dice = random.Random(width)
    texts = [
        *WIDTHS,
        "",
        "a\x1b[2Jb\u202e",
        "👨\u200d👩\u200d👧",
        "長" * 60,
        None,
        10**30,
        {"a": 1},
    ]
    rows = [{f"field_{n}_{'長' * n}": dice.choice(texts) for n in range(12)} for _ in range(8)]
    layout = tables.Layout.of(rows[:4], width)
    lines = [*layout.heading(), *layout.lines(rows), layout.dots()]
    lines += tables.text(rows, max_rows=5, width=width).splitlines()
    assert max(map(width_of, lines)) <= width, lines


def test_a_wide_terminal_shows_every_column_and_a_narrow_one_the_most_telling(service):
    wide, narrow = (plain(service.terminal(*FILLS, columns=columns)) for columns in (250, 80))
    assert len(wide[0].split()) == 12
    assert wide[-1] == "300 rows"
    assert narrow[0].split() == ["create_time", "code", "trd_side", "qty", "price", "status"]
    assert narrow[-1] == "300 rows; 6 columns are not shown: see --columns and --format"
    assert len(narrow) == 3 + 300 + 1 and max(map(width_of, narrow)) <= 80
    chosen = plain(service.terminal(*FILLS, "--columns", "price,deal_id"))
    assert chosen[0].split() == ["price", "deal_id"]


def test_colors_are_all_that_a_terminal_adds(service):
    arguments = [*DIVIDENDS, "--format", "json"]
    screen = service.terminal(*arguments, columns=100)
    piped = service.rows(*arguments).decode()
    assert "\x1b[" in screen.text and ESCAPE.sub("", screen.text).split() == piped.split()
    assert "\x1b[" in service.terminal(*DIVIDENDS).text
    assert "\x1b" not in piped + service.terminal(*DIVIDENDS, NO_COLOR="1").text


def test_what_went_wrong_is_colored_in_a_terminal_only(service):
    shown = service.terminal("dividends", "HK.99999").lines[0]
    assert shown.startswith("\x1b[31m\x1b[1mboardlot:\x1b[0m dividends: 'HK.99999'")
    assert b"\x1b" not in service.run("dividends", "HK.99999").stderr


def test_colored_json_is_the_same_text():
    value = {"a": 'quote " and \\', "n": [-1.5e-7, 10**30, True, None], "x: 1": {"名": "false"}}
    text = json.dumps(value, ensure_ascii=False)
    assert ESCAPE.sub("", colored_json(text)) == text != colored_json(text)


def test_what_is_piped_is_neither_cut_nor_left_out(live):
    shown = live("ipos", "sg").out
    assert len(shown.splitlines()[0].split()) == 22 and "…" not in shown


def test_progress_is_drawn_on_a_terminal_that_shows_no_rows(service, sandbox, tmp_path):
    pytest.importorskip("tqdm")
    out = tmp_path / "plate.jsonl"
    # Work of more than a second.
    sandbox.faults = bl.Faults(latency=0.4)
    screen = service.terminal("plate", "HK.BK1001", "--out", str(out))
    assert re.search(r"fetched: +\d+%.*/500", screen.text)
    assert screen.text.endswith(f"wrote 500 rows to {out}\n")
    assert "fetched" not in service.terminal("plate", "HK.BK1001", "--limit", "60").text


def test_a_response_is_set_out_in_lines(service):
    screen = service.terminal("request", "GET", "/api/v1.0/server-time")
    assert plain(screen)[:2] == ["HTTP 200", "{"]
    assert json.loads("".join(plain(screen)[1:])).keys() == {"server_time_ms"}


@pytest.mark.parametrize("body", [b'{"a": "\xe2\x80\xae\xc2\x9b31m"}', b"<h>\x1b]0;title\x07</h>"])
def test_nothing_in_a_response_moves_the_terminal(body):
    shown = request._readable(body).decode()
    assert all(char.isprintable() or char == "\n" for char in shown)
