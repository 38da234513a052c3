"""Values in files and on the terminal: as the service sent them, and nothing that it can obey."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a terminal of POSIX")
from boardlot._support.cell_format import escaped
from boardlot.cli import main

from ..support.command_line import COMMAND, TEXT_FORMATS, in_a_terminal
from ..support.paged_service import cursor_of
from ..support.service import StandInService, response

CALL = ["fills", "1", "HK"]
# As JSON allows them; each as it was sent.
NUMBERS = ["1e400", "-1E+999", "-0", "-0.0", "1.10", "0.1e-7", "12345678901234567890", "7"]
NUMBERS += ["1" * 5_000, "0.30000000000000004", "9007199254740993", "100000000000000000000.5"]
CONTROLS = "".join(map(chr, (*range(32), 0x7F, *range(0x80, 0xA0))))
BIDI = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def record(number: str) -> str:
    return f'{{"deal_id":"1","x":{number},"in":{{"a":[{number}, null]}},"text":"{{}}"}}'


def fills(*pages: str) -> Callable[[Any], Any]:
    """Responses of the fills endpoint; each page is the JSON text of its records."""

    def respond(received: Any) -> Any:
        place = int(cursor_of(received) or 0)
        last = place == len(pages) - 1
        rest = json.dumps({"page_flag": "" if last else str(place + 1), "completed": last})
        return response(f'{{"s":"ok","d":{{"order_fills":[{pages[place]}],{rest[1:]}}}')

    return respond


def serve(script: Callable[[Any], Any]) -> StandInService:
    """Its time bounds a range that the caller left open."""
    return StandInService(script, clock=0.0)


def run(*pages: str, call: list[str] = CALL, options: list[str]) -> int:
    with serve(fills(*pages)) as server:
        return main(["--base-url", server.base_url, *call, *options])


@pytest.mark.parametrize("columns", [None, "x,in"])
@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_json_has_every_number_as_the_service_sent_it(
    format_: str, columns: str | None, capfdbinary: Any
) -> None:
    options = ["--format", format_] + ([] if columns is None else ["--columns", columns])
    assert run(",".join(map(record, NUMBERS)), options=options) == 0
    text = capfdbinary.readouterr().out.decode()
    assert re.findall(r'"x":([^,]+),', text) == NUMBERS
    assert re.findall(r'"a":\[([^,]+),null\]', text) == NUMBERS
    # JSON has neither; Python reads and writes both.
    assert "Infinity" not in text and "NaN" not in text
    lines = [text] if format_ == "json" else text.splitlines()
    read = [json.loads(line, parse_float=str, parse_int=str) for line in lines]
    rows = read[0] if format_ == "json" else read
    assert [row["x"] for row in rows] == NUMBERS
    fields = {"x", "in"} if columns else {"deal_id", "x", "in", "text"}
    assert {frozenset(row) for row in rows} == {frozenset(fields)}


def test_csv_has_every_number_as_the_service_sent_it(tmp_path: Path) -> None:
    out = tmp_path / "fills.csv"
    assert run(",".join(map(record, NUMBERS)), options=["--out", str(out)]) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows] == NUMBERS
    assert [row["in"] for row in rows] == [f'{{"a":[{number},null]}}' for number in NUMBERS]
    assert {row["text"] for row in rows} == {"{}"}


def test_a_resumed_file_has_the_same_values(tmp_path: Path) -> None:
    pages = [record(number) for number in NUMBERS]
    for ending in ("jsonl", "csv"):
        plain, resumed = tmp_path / f"plain.{ending}", tmp_path / f"resumed.{ending}"
        assert run(*pages, options=["--out", str(plain)]) == 0
        where = ["--resume", str(tmp_path / f"{ending}.where")]
        assert run(*pages, options=["--out", str(resumed), *where]) == 0
        assert plain.read_bytes() == resumed.read_bytes()


def test_names_given_twice_and_odd_names_are_valid_json(capfdbinary: Any) -> None:
    odd = json.dumps({CONTROLS + BIDI + '"\\/': BIDI + CONTROLS + "é长😀"})
    assert run('{"a":1,"b":2,"a":3},' + odd, options=["--format", "jsonl"]) == 0
    text = capfdbinary.readouterr().out.decode()
    first, second = text.splitlines()
    assert first == '{"a":3,"b":2}'
    assert json.loads(second) == json.loads(odd)
    # The lines feeds are ours; what else a terminal would obey is escaped.
    assert "é长😀" in text and not set(CONTROLS + BIDI) - {"\n"} & set(text)


@pytest.mark.parametrize("format_", TEXT_FORMATS)
def test_nothing_that_the_service_sends_moves_a_terminal(format_: str) -> None:
    hostile = f"a{CONTROLS}{BIDI}\x1b]0;owned\x07\x1b[2J"
    page = json.dumps({"code": hostile, f"name{hostile}": hostile, "price": hostile})
    with serve(fills(page, page, json.dumps({f"late{hostile}": 1}))) as server:
        command = [*COMMAND, "--base-url", server.base_url, *CALL, "--format", format_]
        screen = in_a_terminal(command, 200)
    assert screen.status == 0
    shown = re.sub(r"\x1b\[\d*m", "", screen.text)
    assert escaped(shown, "\n") == shown


def test_nothing_in_an_error_moves_a_terminal(tmp_path: Path) -> None:
    hostile = f"{CONTROLS}{BIDI}\x1b]0;owned\x07\nboardlot: all is well"
    refusal = json.dumps({"s": "error", "errmsg": hostile, "ret_code": -1, "ret_msg": hostile})
    page = json.dumps({hostile: 1})

    def shown(*options: str, script: Any) -> str:
        with serve(script) as server:
            line = [*COMMAND, "--base-url", server.base_url, *CALL, *options]
            done = subprocess.run(line, capture_output=True)
        assert done.returncode in (1, 2)
        return done.stderr.decode()

    for text in (
        shown(script=lambda _: response(refusal)),
        shown(script=lambda _: response(refusal, 400)),
        shown(script=lambda _: response(hostile)),
        # What names the fields that there are.
        shown("--columns", "nosuch", script=fills(page)),
    ):
        assert escaped(text, "\n") == text
        assert not any(line.startswith("boardlot: all is well") for line in text.splitlines())


def read(out: Path) -> tuple[dict[str, str], list[Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(out)
    return {
        name: str(table.schema.field(name).type)
        for name in ("x", "y")
        if name in table.column_names
    }, table.to_pylist()


def row(number: int, **values: str) -> str:
    members = "".join(f',"{name}":{value}' for name, value in values.items())
    return f'{{"deal_id":"{number}","qty":"{number}.5"{members}}}'


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["null", "7"], "int64", [None, 7]),
        (["7", "null"], "int64", [7, None]),
        (["null", "null"], "string", [None, None]),
        (["7", '"a"'], "string", ["7", "a"]),
        (['"a"', "7", "null"], "string", ["a", "7", None]),
        (["7", "1.5"], "double", [7.0, 1.5]),
        (["1.5", "7"], "double", [1.5, 7.0]),
        (["true", "7"], "string", ["true", "7"]),
        (["true", "null", "false"], "bool", [True, None, False]),
        (["7", '{"a":[1.10]}'], "string", ["7", '{"a":[1.10]}']),
        (["null", "1.5", "7", '"a"'], "string", [None, "1.5", "7", "a"]),
        (
            ["7", "123456789012345678901234567890"],
            "string",
            ["7", "123456789012345678901234567890"],
        ),
        ([None, "7"], "int64", [None, 7]),
        (["7", None, '"a"'], "string", ["7", None, "a"]),
    ],
)
@pytest.mark.parametrize("group", [1, 20_000])
def test_parquet_takes_an_undeclared_field_of_any_types(
    values: list[str | None],
    kind: str,
    expected: list[Any],
    group: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = pytest.importorskip("boardlot.cli.output.parquet")
    monkeypatch.setattr(groups, "GROUP", group)
    pages = [row(i, **({} if v is None else {"x": v})) for i, v in enumerate(values)]
    out = tmp_path / "fills.parquet"
    assert run(*pages, options=["--out", str(out)]) == 0
    types, rows = read(out)
    assert types == {"x": kind}
    assert [row["x"] for row in rows] == expected
    # The declared columns are those of every file, and no row is lost or moved.
    assert [row["deal_id"] for row in rows] == [str(i) for i in range(len(values))]
    assert [row["qty"] for row in rows] == [i + 0.5 for i in range(len(values))]
    assert [path.name for path in tmp_path.iterdir()] == ["fills.parquet"]


def test_parquet_has_a_field_that_comes_late_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    groups = pytest.importorskip("boardlot.cli.output.parquet")
    monkeypatch.setattr(groups, "GROUP", 1)
    out = tmp_path / "fills.parquet"
    assert (
        run(row(0, x="1"), row(1, y="2"), row(2, x='"a"', y="3"), options=["--out", str(out)]) == 0
    )
    types, rows = read(out)
    assert types == {"x": "string", "y": "int64"}
    assert [(row["x"], row["y"]) for row in rows] == [("1", None), (None, 2), ("a", 3)]
    assert "left out" not in capsys.readouterr().err
    # Only the requested fields, in their order.
    options = ["--out", str(out), "--force", "--columns", "y,deal_id"]
    assert run(row(0, x="1", y="null"), row(1, x='"a"'), row(2, y="7"), options=options) == 0
    _, rows = read(out)
    assert rows == [
        {"y": None, "deal_id": "0"},
        {"y": None, "deal_id": "1"},
        {"y": 7, "deal_id": "2"},
    ]
    assert list(rows[0]) == ["y", "deal_id"]


def test_parquet_of_several_segments_goes_into_a_pipe_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = pytest.importorskip("boardlot.cli.output.parquet")
    monkeypatch.setattr(groups, "GROUP", 1)
    import os
    import threading

    pipe, copy = tmp_path / "pipe.parquet", tmp_path / "copy"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()))
    reader.start()
    assert run(row(0, x="1"), row(1, x='"a"'), options=["--out", str(pipe)]) == 0
    reader.join()
    assert [row["x"] for row in read(copy)[1]] == ["1", "a"]


def test_a_value_that_parquet_cannot_hold_is_reported_with_options_that_there_are(
    tmp_path: Path, capsys: Any
) -> None:
    pytest.importorskip("pyarrow")
    out = tmp_path / "fills.parquet"
    assert run('{"deal_id":"1","qty":"many"}', options=["--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "qty of record 0" in said and "many" in said
    assert "Use --format csv or jsonl" in said
    assert "invalid=" not in said and "Traceback" not in said
    assert not list(tmp_path.iterdir())
    for ending in ("csv", "jsonl"):
        assert run('{"deal_id":"1","qty":"many"}', options=["--out", f"{out}.{ending}"]) == 0
