"""Values in files and on the terminal: as the service sent them, and nothing that it can obey."""

import csv
import json
import os
import re
import threading

import pytest
from boardlot._support.tables.cell_format import escaped
from inline_snapshot import snapshot

from ..support.command_line import COMMAND, TEXT_FORMATS, in_a_terminal
from ..support.paged_service import PagedList
from ..support.pages_of_fills import fills, serve
from ..support.service import StandInService, response

CALL = ["fills", "1", "HK"]
# As JSON allows them; each as it was sent.
NUMBERS = ["1e400", "-1E+999", "-0", "-0.0", "1.10", "0.1e-7", "12345678901234567890", "7"]
NUMBERS += ["1" * 5_000, "0.30000000000000004", "9007199254740993", "100000000000000000000.5"]
CONTROLS = "".join(map(chr, (*range(32), 0x7F, *range(0x80, 0xA0))))
BIDI = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def record(number):
    return f'{{"deal_id":"1","x":{number},"in":{{"a":[{number}, null]}},"text":"{{}}"}}'


ALL_NUMBERS = ",".join(map(record, NUMBERS))


@pytest.fixture
def run(boardlot):
    """Runs `fills` with these pages."""

    def of_pages(*pages, options):
        with serve(fills(*pages)) as server:
            return boardlot("--base-url", server.base_url, *CALL, *options)

    return of_pages


@pytest.mark.parametrize("columns", [[], ["--columns", "x,in"]])
@pytest.mark.parametrize("format_", ["jsonl", "json"])
def test_json_has_every_number_as_the_service_sent_it(columns, format_, run):
    text = run(ALL_NUMBERS, options=["--format", format_, *columns]).out
    assert re.findall(r'"x":([^,]+),', text) == NUMBERS
    assert re.findall(r'"a":\[([^,]+),null\]', text) == NUMBERS
    assert ('"deal_id"' in text) is (columns == [])


def test_csv_has_every_number_as_the_service_sent_it(run, tmp_path):
    out = tmp_path / "fills.csv"
    assert run(ALL_NUMBERS, options=["--out", out]).status == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows] == NUMBERS
    assert [row["in"] for row in rows] == [f'{{"a":[{number},null]}}' for number in NUMBERS]
    assert {row["text"] for row in rows} == {"{}"}


def test_csv_has_every_field_of_its_first_page_and_says_which_came_too_late(run, tmp_path):
    out = tmp_path / "fills.csv"
    first, later = '{"deal_id":"1","x":{"a":"长"},"f":true}', '{"x":"a,\\"b\\"\\n","late":1}'
    done = run(first, later, later, options=["--out", out])
    with out.open(encoding="utf-8", newline="") as file:
        rows = [{name: row[name] for name in ("deal_id", "x", "f")} for row in csv.DictReader(file)]
    assert rows == [
        {"deal_id": "1", "x": '{"a":"长"}', "f": "true"},
        *[{"deal_id": "", "x": 'a,"b"\n', "f": ""}] * 2,
    ]
    assert done.err.count("the field late first appeared after the header was written") == 1
    assert f"wrote 3 rows to {out}" in done.said


@pytest.mark.parametrize("columns", [[], ["--columns", "n,code"]])
@pytest.mark.parametrize("format_", ["csv", "json", "jsonl", "parquet", "table"])
def test_rows_that_follow_an_empty_page_of_undeclared_fields_are_written(
    format_, columns, boardlot, tmp_path
):
    out = tmp_path / "plate"
    options = ["--format", format_, "--out", out, *columns]
    with StandInService(PagedList("plate_stocks", [0, 2, 1])) as server:
        done = boardlot("--base-url", server.base_url, "plate", "HK.BK1001", *options)
    assert done.status == 0 and "wrote 3 rows" in done.said
    if format_ == "csv":
        names, *rows = csv.reader(out.read_text().splitlines())
        assert (sorted(names), len(rows)) == (["code", "n"], 3)
    if format_ != "parquet":
        assert out.read_bytes().count(b"HK.0000") == 3


def test_names_given_twice_and_odd_names_are_valid_json(run):
    odd = json.dumps({CONTROLS + BIDI + '"\\/': BIDI + CONTROLS + "é长😀"})
    text = run('{"a":1,"b":2,"a":3},' + odd, options=["--format", "jsonl"]).out
    first, second = text.splitlines()
    assert first == '{"a":3,"b":2}'
    assert json.loads(second) == json.loads(odd)
    # The line feeds are ours; what else a terminal would obey is escaped.
    assert "é长😀" in text and not set(CONTROLS + BIDI) - {"\n"} & set(text)


@pytest.mark.parametrize("format_", TEXT_FORMATS)
def test_nothing_that_the_service_sends_moves_a_terminal(format_):
    hostile = f"a{CONTROLS}{BIDI}\x1b]0;owned\x07\x1b[2J"
    page = json.dumps({"code": hostile, f"name{hostile}": hostile, "price": hostile})
    with serve(fills(page, page, json.dumps({f"late{hostile}": 1}))) as server:
        command = [*COMMAND, "--base-url", server.base_url, *CALL, "--format", format_]
        screen = in_a_terminal(command, 200)
    assert screen.status == 0
    shown = re.sub(r"\x1b\[\d*m", "", screen.text)
    assert escaped(shown, "\n") == shown


HOSTILE = f"{CONTROLS}{BIDI}\x1b]0;owned\x07\nboardlot: all is well"
REFUSAL = json.dumps({"s": "error", "errmsg": HOSTILE, "ret_code": -1, "ret_msg": HOSTILE})


@pytest.mark.parametrize(
    ("script", "options"),
    [
        (lambda _: response(REFUSAL, 400), []),
        # An error that names the fields that exist.
        (fills(json.dumps({HOSTILE: 1})), ["--columns", "nosuch"]),
    ],
)
def test_nothing_in_an_error_moves_a_terminal(script, options, boardlot):
    with serve(script) as server:
        done = boardlot("--base-url", server.base_url, *CALL, *options)
    assert done.status in (2, 3)
    assert escaped(done.err, "\n") == done.err and "\nboardlot: all is well" not in done.err


def row(number, **values):
    members = "".join(f',"{name}":{value}' for name, value in values.items())
    return f'{{"deal_id":"{number}","qty":"{number}.5"{members}}}'


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (['"a"', "7", "null"], ["a", "7", None]),
        (["7", '{"a":[1.10]}', None, "true"], ["7", '{"a":[1.10]}', None, "true"]),
    ],
)
@pytest.mark.parametrize("group", [1, 20_000])
def test_parquet_takes_an_undeclared_field_of_any_types(
    values, expected, group, run, tmp_path, monkeypatch
):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("boardlot.cli.output.parquet.GROUP", group)
    pages = [row(i, **({} if v is None else {"x": v})) for i, v in enumerate(values)]
    out = tmp_path / "fills.parquet"
    assert run(*pages, options=["--out", out]).status == 0
    # The declared columns are those of every file, and no row is lost or moved.
    rows = parquet.read_table(out, columns=["x", "deal_id", "qty"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (value, str(number), number + 0.5) for number, value in enumerate(expected)
    ]
    assert run(*pages, options=["--out", out, "--force", "--columns", "x,deal_id"]).status == 0
    assert parquet.read_table(out).column_names == ["x", "deal_id"]


def test_parquet_of_several_segments_goes_into_a_pipe_too(run, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("boardlot.cli.output.parquet.GROUP", 1)
    pipe, copy = tmp_path / "pipe.parquet", tmp_path / "copy"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()))
    reader.start()
    assert run(row(0, x="1"), row(1, x='"a"'), options=["--out", pipe]).status == 0
    reader.join()
    assert [row["x"] for row in parquet.read_table(copy).to_pylist()] == ["1", "a"]


def test_a_value_that_parquet_cannot_hold_is_reported_with_options_that_there_are(run, tmp_path):
    pytest.importorskip("pyarrow")
    wrong, out = '{"deal_id":"1","qty":"many"}', tmp_path / "fills.parquet"
    done = run(wrong, options=["--out", out])
    assert done.status == 3 and "qty of record 0" in done.said and "many" in done.said
    assert done.said == snapshot(
        'boardlot: qty of record 0 is "many", which is not of the field\'s declared kind, '
        "decimal hint: Use --format csv or jsonl: they write every value as the service "
        "sent it."
    )
    assert not list(tmp_path.iterdir())
    assert run(wrong, options=["--out", f"{out}.csv"]).status == 0
