"""The command line in a real terminal: tables as wide as it is, colours, and progress."""

import json
import random
import re
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a terminal of POSIX")
from boardlot._support import tables
from boardlot._support.cell_format import truncated, width_of

from ..support.command_line import ACCOUNT, Screen, Service

COMMANDS = [
    ["time"],
    ["trading-days", "HK", "2026-01-01", "2026-01-31"],
    ["futures", "HK.HSImain"],
    *(["ipos", market] for market in ("hk", "us", "cn", "sg", "my")),
    ["dividends", "HK.00700"],
    ["plate", "HK.BK1001"],
    ["crypto-orders", "1001001"],
    ["sim-orders", "5001"],
    ["sim-positions", "5001"],
    ["fills", ACCOUNT, "HK"],
]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


SANDBOX = {"fills": 300}


def plain(screen: Screen) -> list[str]:
    """The lines of the table, without colours; the range of time that was read goes to stderr."""
    lines = ESCAPE.sub("", screen.text).splitlines()
    return [line for line in lines if not line.startswith("time range: ")]


@pytest.mark.parametrize("columns", [20, 80])
@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(
    command: list[str], columns: int, service: Service
) -> None:
    screen = service.terminal(*command, columns=columns)
    assert screen.status == 0
    lines = plain(screen)
    assert max(map(width_of, lines)) <= columns
    assert sum(bool(re.match(r"[\d,]+ rows", line)) for line in lines) == 1


@pytest.mark.parametrize("columns", ["1", "7", "40"])
def test_the_width_may_be_said_by_the_environment(columns: str, service: Service) -> None:
    screen = service.terminal(*COMMANDS[-1], columns=200, COLUMNS=columns)
    assert screen.status == 0
    if columns == "40":
        assert max(map(width_of, plain(screen))) <= 40


# Texts of every width: wide, combining, emoji by themselves and by their selector, flags, Korean
# in parts, and controls, which are shown as escapes.
TEXTS = [
    "",
    "Tencent",
    "騰訊控股有限公司",
    "ｆｕｌｌ",
    "e\u0301\u0302\u0303clair",
    "\u2764\ufe0f\u2764",
    "😀👍\U0001f3fd",
    "👨\u200d👩\u200d👧",
    "\U0001f1ed\U0001f1f0",
    "\u1112\u1161\u11ab글",
    "\u0e01\u0e34\u0e19",
    "a\x1b[2Jb\u202e",
    "長" * 60,
]


@pytest.mark.parametrize("many", [1, 3, 12])
def test_a_table_of_any_width_has_no_line_that_is_wider(many: int) -> None:
    dice = random.Random(many)

    def row() -> dict[str, Any]:
        values = [*TEXTS, None, 0, -1.5, 10**30, 12345678901234567890, {"a": "長"}, "0.000000001"]
        return {f"field_{n}_{'長' * n}": dice.choice(values) for n in range(many)}

    for width in range(20, 301):
        first, later = [row() for _ in range(4)], [row() for _ in range(4)]
        layout = tables.Layout.of(first, width)
        assert layout is not None
        lines = [*layout.heading(), *layout.lines(first), *layout.lines(later), layout.dots()]
        lines += tables.text([*first, *later], max_rows=5, width=width).splitlines()
        assert max(map(width_of, lines)) <= width, (width, lines)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("騰訊", 4),
        ("ｆ", 2),
        ("e\u0301", 1),
        ("\u2764", 1),
        ("\u2764\ufe0f", 2),
        ("😀", 2),
        ("😀\ufe0f", 2),
        ("\U0001f1ed\U0001f1f0", 2),
        ("\u1112\u1161\u11ab", 2),
        ("\u0e01\u0e34\u0e19", 2),
    ],
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, width: int) -> None:
    assert width_of(text) == width
    assert truncated(text, width) == text
    assert width_of(truncated(text * 5, width + 1)) <= width + 1
    # Nothing is cut between a character and what is drawn upon it.
    for limit in range(1, 5 * width):
        kept = truncated(text * 5, limit).removesuffix("…")
        rest = (text * 5)[len(kept) :]
        assert not rest or (width_of(rest[0]) != 0 and rest[0] != "\ufe0f")


def test_numbers_are_right_aligned_below_their_names_and_units(service: Service) -> None:
    lines = plain(service.terminal("sim-positions", "5001", columns=100))
    assert lines[0].split() == [
        "symbol",
        "pstn_type",
        "qty",
        "cost_price",
        "cur_price",
        "mv",
        "profit_ratio",
        "stock_name",
        "market",
    ]
    assert lines[1].split() == ["%"]
    for name in ("qty", "cost_price", "mv", "profit_ratio"):
        end = lines[0].index(name) + len(name)
        points = {line[:end].rfind(".") for line in lines[3:-1]}
        assert all(
            line[end - 1] != " " or line[:end].rstrip()[-1].isdigit() for line in lines[3:-1]
        )
        assert len(points) == 1 or name == "qty"


def test_a_wide_terminal_shows_every_column_and_a_narrow_one_the_most_telling(
    service: Service,
) -> None:
    fills = ["fills", ACCOUNT, "HK"]
    wide, narrow = (plain(service.terminal(*fills, columns=columns)) for columns in (250, 80))
    assert len(wide[0].split()) == 12
    assert wide[-1] == "300 rows"
    assert narrow[0].split() == ["create_time", "code", "trd_side", "qty", "price", "status"]
    assert narrow[-1] == "300 rows; 6 columns are not shown: see --columns and --format"
    chosen = plain(service.terminal(*fills, "--columns", "price,deal_id"))
    assert chosen[0].split() == ["price", "deal_id"]


def test_the_heading_is_bold_where_colours_are_wanted(service: Service) -> None:
    call = ["dividends", "HK.00700"]
    assert service.terminal(*call).lines[0].startswith("\x1b[1mfiscal_year")
    assert "\x1b" not in service.terminal(*call, NO_COLOR="1").text
    assert "\x1b" not in service.terminal(*call, TERM="dumb").text
    assert b"\x1b" not in service.rows(*call)


def test_what_went_wrong_is_coloured_in_a_terminal_only(service: Service) -> None:
    screen = service.terminal("dividends", "HK.99999")
    assert screen.status == 1
    assert screen.lines[0].startswith("\x1b[31m\x1b[1mboardlot:\x1b[0m dividends: 'HK.99999'")
    assert b"\x1b" not in service.run("dividends", "HK.99999").stderr


def test_what_is_piped_is_neither_cut_nor_left_out(service: Service) -> None:
    lines = service.rows("ipos", "sg").decode().splitlines()
    assert len(lines[0].split()) == 22
    assert "…" not in "".join(lines)


def test_progress_is_drawn_on_a_terminal_that_shows_no_rows(
    service: Service, tmp_path: Path
) -> None:
    pytest.importorskip("tqdm")
    out = tmp_path / "plate.jsonl"
    # Work of more than a second.
    service.sandbox.faults = bl.Faults(latency=0.4)
    try:
        screen = service.terminal("plate", "HK.BK1001", "--out", str(out))
        assert re.search(r"fetched: +\d+%.*/500", screen.text)
        assert screen.text.endswith(f"wrote 500 rows to {out}\n")
        assert "fetched" not in service.terminal("plate", "HK.BK1001").text
        assert b"fetched" not in service.run("plate", "HK.BK1001", "--format", "csv").stderr
    finally:
        service.sandbox.faults = None


def test_a_response_is_set_out_in_lines(service: Service) -> None:
    screen = service.terminal("request", "GET", "/api/v1.0/server-time")
    assert plain(screen)[:2] == ["HTTP 200", "{"]
    assert json.loads("".join(plain(screen)[1:])).keys() == {"server_time_ms"}


def test_nothing_that_a_server_sends_moves_the_terminal(tmp_path: Path) -> None:
    from boardlot.cli.commands import request

    for body in (b'{"a": "\xe2\x80\xae\xc2\x9b31m"}', b"<html>\x1b]0;title\x07</html>"):
        shown = request._readable(body).decode()
        assert all(char.isprintable() or char == "\n" for char in shown)


def test_tables_go_to_the_terminal_of_a_sandbox_that_is_slow_page_by_page(
    tmp_path_factory: Any,
) -> None:
    service = Service(tmp_path_factory.mktemp("slow"), fills=120)
    service.sandbox.faults = bl.Faults(latency=0.05)
    lines = plain(service.terminal("fills", ACCOUNT, "HK"))
    assert len(lines) == 3 + 120 + 1
    widths = {len(line.rstrip()) for line in lines[3:-1]}
    assert max(widths) <= 80
    service.close()
