"""Texts that break programs, in tables and in files and back: rows are data."""

import csv
import io
import json
import re
import sys

import pyarrow.parquet
from boardlot.cli import main

from ..support.bodies import result_of_body
from ..support.service import StandInService, response

TEXTS = {
    "directions": ["\u202eabc\u202c", "\u2066a\u2069", "שלום", "\u200f1,2"],
    "combining marks": ["e\u0301", "a" + "\u0300" * 60, "\u1112\u1161\u11ab", "\u00e9"],
    "control characters": ["\x1b[31mred", "\x1b]0;a\x07", "\x00", "\x7f", "\x9b2J", "\r", "\r\n"],
    "white space": ["", " ", " a ", "\t", "\n", "\u2028", "\u2029", "\u00a0", "\ufeff", "\u200b"],
    "formulas": ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("x")', "\t=1", "'=1"],
    "markup": ["<b>", "</script><script>alert(1)</script>", "&amp;", "<!--", "]]>", "<img src=x>"],
    "quotes": ['"', "'", '""', "\\", "\\n", "`", "a,b", "a;b", "|", '",'],
    "paths": ["../../etc/passwd", "C:\\a", "/", "~", "CON", "a/b", "%2e%2e"],
    "templates": ["{0}", "{x.__class__}", "%s", "%(a)s", "${HOME}", "{{7*7}}", "$(id)", "[b]a[/]"],
    "values of others": ["null", "None", "NaN", "true", "0", "1e5", "inf", "-", "N/A", "0x1f"],
    "planes": ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "𝄞", "\ufffd", "\uffff", "\U0010ffff"],
}
ALL = [text for texts in TEXTS.values() for text in texts]
# The document's names of the fields of a plate's stock are not shown; these were seen.
ROWS = [{"code": f"HK.{n:05}", "stock_name": text, "sc_name": text} for n, text in enumerate(ALL)]
ENVELOPE = {"code": 0, "message": "ok", "pagination": {"has_more": False, "next_key": ""}}
BODY = json.dumps({**ENVELOPE, "data": {"stock_list": ROWS}}).encode()


def texts_of(rows):
    return [row["stock_name"] for row in rows]


# Characters that move a terminal's cursor, or turn the direction of what follows.
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_a_notebook_and_a_terminal_get_no_markup_and_no_commands():
    records = result_of_body(BODY, lambda client: client.plate_stocks("HK.BK1001").all())
    for n, text in enumerate(ALL):
        shown = records.select("stock_name")[n : n + 1]
        assert not re.search("<(b|script|img)[ >]", shown._repr_html_()), text
        assert not COMMANDS.search(repr(shown)), text


def test_the_command_line(capsysbinary, tmp_path):
    def written(form, *out):
        with StandInService([response(BODY)]) as service:
            line = ["--base-url", service.base_url, "plate", "HK.BK1001", "--format", form, *out]
            assert main(line) == 0
        return capsysbinary.readouterr().out.decode()

    as_csv = written("csv")
    if sys.version_info < (3, 11):  # Python's own reader refuses U+0000 until then.
        as_csv = as_csv.replace("\0", "0")
    shown = [text.replace("\0", "0") if sys.version_info < (3, 11) else text for text in ALL]
    assert texts_of(csv.DictReader(io.StringIO(as_csv, newline=""))) == shown
    assert texts_of(json.loads(written("json"))) == ALL
    assert texts_of(map(json.loads, filter(None, written("jsonl").split("\n")))) == ALL
    written("parquet", "--out", str(tmp_path / "stocks.parquet"))
    table = pyarrow.parquet.read_table(tmp_path / "stocks.parquet")
    assert table["stock_name"].to_pylist() == ALL
    assert not COMMANDS.search(written("table"))
