"""Spreadsheets: the type of each cell, read by another library."""

import json
import os
import subprocess
import sys
import threading
import zipfile
from datetime import datetime, timedelta
from decimal import Decimal

import boardlot as bl
import pytest
from boardlot._endpoints import ENDPOINTS, Account
from boardlot.cli.commands import endpoints
from inline_snapshot import snapshot

from ..support.command_line import ACCOUNT
from ..support.keys import uploaded_key
from ..support.pages_of_fills import fills, serve

pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")

SANDBOX = {"fills": 300}
FILLS = ["fills", ACCOUNT, "HK"]
# 2026-11-09T17:30:00.250Z: the next day in Hong Kong.
TIME = 1794245400250000


def read(path):
    """The names in the header, the cells of each row by their names, and the sheet."""
    sheet = openpyxl.load_workbook(path).active
    header, *rows = sheet.iter_rows()
    names = [cell.value for cell in header]
    return names, [dict(zip(names, row, strict=True)) for row in rows], sheet


@pytest.fixture
def out(tmp_path):
    return tmp_path / "fills.xlsx"


@pytest.fixture
def cells(boardlot, out):
    """Runs `fills` with these records, and reads the cells of the only row, or of all."""

    def of_records(*records, options=()):
        with serve(fills(*(json.dumps(record) for record in records))) as server:
            line = ["--base-url", server.base_url, "fills", "1", "HK", "--out", out, "--force"]
            done = boardlot(*line, *options)
        assert done.status == 0, done.err
        _, rows, _ = read(out)
        return rows[0] if len(records) == 1 else rows

    return of_records


@pytest.mark.parametrize("name", [row.command for row in ENDPOINTS if row.method != "server_time"])
def test_every_list_is_a_sheet_with_the_values_of_its_columns(name, sandbox, live, out):
    row = endpoints.ENDPOINTS[name]
    accounts = sandbox.accounts
    arguments = [accounts[x.kind][0] if isinstance(x, Account) else x for x in row.arguments]
    assert live(name, *arguments, "--out", out).status == 0
    with sandbox.client() as client:
        result = getattr(client, row.method)(*arguments)
        records = result if isinstance(result, list) else result.all()
    names, cells, sheet = read(out)
    assert sheet.freeze_panes == "A2" and len(cells) == len(records) > 0
    typed = records.to_dicts(typed=True)
    for field, title in zip(live_names(records), names, strict=True):
        for one, row_cells in zip(typed, cells, strict=True):
            same_value(field, one.get(field), row_cells[title])


def live_names(records):
    declared = [field.name for field in records.schema]
    return list(dict.fromkeys([*declared, *(name for row in records for name in row)]))


def same_value(name, value, cell):
    """The cell has the type of the value: the schema's, or for undeclared fields JSON's."""
    if value in (None, ""):
        assert cell.value is None
    elif isinstance(value, bool):
        assert (cell.data_type, cell.value) == ("b", value)
    elif isinstance(value, datetime):
        assert cell.is_date and abs(cell.value - value.replace(tzinfo=None)) < timedelta(
            milliseconds=1
        )
    elif hasattr(value, "toordinal"):
        assert cell.number_format == "yyyy-mm-dd" and cell.value.date() == value
    elif isinstance(value, (int, float, Decimal)) and not name.endswith("_id"):
        assert (cell.data_type, Decimal(str(cell.value))) == ("n", Decimal(str(value)))
    else:
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        assert (cell.data_type, cell.value, cell.number_format) in [
            ("inlineStr", text, "@"),
            ("s", text, "@"),
        ]


TEXTS = [
    "1234567890123456789012345", "007", "1.10", "2026-01-31", "TRUE", "=1+1", "+1", "-1",
    "@SUM(A1)", '=HYPERLINK("http://x","y")', "'quoted", " spaces ", "a\nb", "汇丰控股", "é", "😀",
    "שלום", "%", "<r>not markup</r>", "<r>", "<b>&amp;\"'", "_x0041_", "http://example.com",
    "nan", "x" * 32_767,
]  # fmt: skip


@pytest.mark.parametrize("field", ["deal_id", "code", "stock_name", "undeclared"])
def test_a_text_is_text_whatever_it_looks_like(field, cells):
    rows = cells(*({field: text} for text in TEXTS))
    found = [(row[field].value, row[field].number_format) for row in rows]
    assert [text.replace("_x005F_", "_") for text, _ in found] == TEXTS
    assert {form for _, form in found} == {"@"}
    assert not any(row[field].data_type == "f" or row[field].hyperlink for row in rows)


def test_no_control_character_makes_the_file_invalid(cells, out):
    text = "".join(map(chr, (*range(32), 0x7F, 0xFFFE, 0xFFFF))) + "\ud800"
    assert cells({"stock_name": text})["stock_name"].data_type in ("inlineStr", "s")
    with zipfile.ZipFile(out) as file:
        sheet = file.read("xl/worksheets/sheet1.xml").decode()
    assert "_x0000_" in sheet and "_xFFFF_" in sheet and "\ud800" not in sheet


@pytest.mark.parametrize(
    ("sent", "cell"),
    [
        ("10.310", 10.31),
        ("-0.5", -0.5),
        ("1e3", 1000),
        ("123456789012345", 123456789012345),
        ("12345678901234500000", 1.23456789012345e19),
        ("0.000000123456789012345", 1.23456789012345e-07),
        ("1234567890123456", "1234567890123456"),
        ("100000000000000000000.5", "100000000000000000000.5"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1e400", "1e400"),
        ("1e-400", "1e-400"),
    ],
)
@pytest.mark.parametrize("field", ["qty", "undeclared"])
def test_a_number_is_one_unless_a_cell_would_round_it(field, sent, cell, boardlot, out):
    if field == "qty" and sent == "1e400":
        pytest.skip("it is not a decimal for any typed column")
    value = f'"{sent}"' if field == "qty" else sent
    with serve(fills(f'{{"{field}":{value}}}')) as server:
        assert boardlot("--base-url", server.base_url, "fills", "1", "HK", "--out", out).status == 0
    found = read(out)[1][0][field]
    assert found.value == cell
    assert found.data_type == "n" if not isinstance(cell, str) else found.number_format == "@"


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        (None, "2026-11-09 17:30:00.250"),
        ("Asia/Hong_Kong", "2026-11-10 01:30:00.250"),
        ("America/New_York", "2026-11-09 12:30:00.250"),
    ],
)
def test_times_are_date_cells_in_the_zone_that_the_header_names(zone, shown, cells):
    options = ["--tz", zone] if zone else []
    row = cells({"deal_id": "1", "create_time": TIME, "updated_time": 0}, options=options)
    cell = row[f"create_time ({zone or 'UTC'})"]
    assert cell.is_date and "hh:mm:ss.000" in cell.number_format
    assert cell.value == datetime.fromisoformat(shown)
    assert row[f"updated_time ({zone or 'UTC'})"].value is None


def test_a_time_that_spreadsheets_do_not_know_is_text(cells):
    before = -3_000_000_000_000_000
    row = cells({"create_time": before, "updated_time": TIME})
    assert row["create_time (UTC)"].value == "1874-12-07 18:40:00"


def test_columns_are_chosen_and_ordered_and_no_rows_have_a_header(live, out):
    assert live(*FILLS, "--columns", "price,deal_id", "--where", "qty<0", "--out", out).status == 0
    names, rows, _ = read(out)
    assert (names, rows) == (["price", "deal_id"], [])


def test_the_command_lines_own_rows_are_a_sheet(live, out):
    assert live("profile", "list", "--out", out).status == 0
    assert "live" in [cell.value for row in read(out)[1] for cell in row.values()]


def test_more_rows_than_a_sheet_holds_are_refused_with_the_number(live, out, monkeypatch):
    monkeypatch.setattr("boardlot.cli.output.xlsx.MOST_ROWS", 120)
    done = live(*FILLS, "--out", out)
    assert done.refusal == snapshot(
        "Error: a sheet holds 120 rows, and these are 150 or more: use --format csv, "
        "jsonl or parquet, or select fewer rows"
    )
    assert not list(out.parent.iterdir())
    assert live(*FILLS, "--out", out, "--limit", "120").status == 0


def test_a_sheet_holds_as_many_rows_as_the_format_allows():
    from boardlot.cli.output import xlsx

    assert xlsx.MOST_ROWS + 1 == 2**20


def test_a_text_that_is_longer_than_a_cell_is_refused(boardlot, out):
    with serve(fills(json.dumps({"stock_name": "😀" * 16_384}))) as server:
        done = boardlot("--base-url", server.base_url, "fills", "1", "HK", "--out", out)
    assert done.refusal == snapshot(
        "Error: a cell holds 32,767 characters, and a text in row 1 has 16,384: use "
        "--format csv, jsonl or parquet"
    ) and not list(out.parent.iterdir())


def test_a_value_that_is_not_of_its_kind_is_reported(boardlot, out):
    with serve(fills('{"deal_id":"1","qty":"many"}')) as server:
        done = boardlot("--base-url", server.base_url, "fills", "1", "HK", "--out", out)
    assert done.status == 3 and done.said == snapshot(
        'boardlot: qty of record 0 is "many", which is not of the field\'s declared kind, '
        "decimal hint: Use --format csv or jsonl: they write every value as the service "
        "sent it."
    )
    assert not list(out.parent.iterdir())


def test_nothing_stays_in_the_temporary_folder(live, out, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert live(*FILLS, "--out", out).status == 0
    monkeypatch.setattr("boardlot.cli.output.xlsx.MOST_ROWS", 120)
    assert live(*FILLS, "--out", out, "--force").status == 2
    assert not list(folder.iterdir())


def test_stdout_and_resume_are_refused(live, tmp_path):
    assert live(*FILLS, "--format", "xlsx").refusal == snapshot(
        "Error: --format xlsx writes binary data: add --out FILE"
    )
    resumed = [*FILLS, "--out", tmp_path / "f.xlsx", "--resume", tmp_path / "state"]
    assert live(*resumed).refusal == snapshot(
        "Error: --resume works with csv and jsonl, not xlsx: add --format, or use the "
        "extension .csv or .jsonl"
    )


def test_a_sheet_goes_into_a_pipe_too(live, tmp_path):
    pipe, copy = tmp_path / "pipe.xlsx", tmp_path / "copy.xlsx"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()))
    reader.start()
    assert live(*FILLS, "--out", pipe).status == 0
    reader.join()
    assert len(read(copy)[1]) == 300


def test_without_xlsxwriter_one_line_says_what_to_install(sandbox, out):
    code = "import sys; sys.modules['xlsxwriter'] = None\n"
    code += "from boardlot.cli import main; sys.exit(main(sys.argv[1:]))"
    line = ["--base-url", sandbox.base_url, "time", "--out", str(out)]
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "") and not list(out.parent.iterdir())
    needs = "boardlot: --format xlsx needs XlsxWriter: pip install 'boardlot[xlsx]'"
    assert done.stderr.splitlines()[0] == needs


# Not `ru_maxrss`, which counts what the process had been before it ran another program.
PEAK = """\
import sys
from boardlot.cli import main
status = main(sys.argv[1:])
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(status, int(peak) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("count", "most"),
    [(8_000, 6), pytest.param(200_000, 25, marks=pytest.mark.slow)],
    ids=["short", "long"],
)
def test_many_rows_are_written_in_flat_memory(count, most, tmp_path):
    peaks = []
    for rows in (1_000, count):
        # As many fills are of the last 90 days as are older.
        with bl.Sandbox(seed=7, fills=rows // 2) as sandbox:
            key_id, key_file = uploaded_key(sandbox, tmp_path)
            done = subprocess.run(
                [
                    sys.executable, "-c", PEAK, "--base-url", sandbox.base_url, "--key-id", key_id,
                    "--key-file", key_file, *FILLS, "--start", "2001-01-01", "--force",
                    "--out", str(tmp_path / "fills.xlsx"),
                ],
                capture_output=True, text=True,
            )  # fmt: skip
        assert f"wrote {rows:,} rows" in done.stderr, done.stderr
        status, peak = done.stdout.split()
        assert status == "0"
        peaks.append(int(peak))
    # In MiB. All cells of the short form would take 12.
    assert peaks[1] - peaks[0] < most, peaks
