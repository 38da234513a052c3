"""Tables of records: what they show, how wide they are, and that nothing in them is obeyed."""

import html
import re

import pytest
from boardlot._support.tables import text_and_html as tables

from ..support.fake_records import FILL, FakeRecords, Field, fills


def test_a_small_table():
    records = fills(3)
    shown = tables.text(records, width=100, columns=["stock_name", "qty", "price", "create_time"])
    assert shown.splitlines() == [
        "stock_name     qty   price  create_time",
        "            shares     HKD  UTC",
        "──────────  ──────  ──────  ───────────────────",
        "Tencent          0  388     2026-01-05 08:00:00",
        "腾讯控股       100  388.2   2026-01-05 08:00:01",
        "腾讯控股       200  388.25  2026-01-05 08:00:02",
        "3 rows × 4 columns",
    ]


def test_columns_that_do_not_fit_are_left_out_in_the_middle():
    schema = tuple(Field(f"column_{i}", "text") for i in range(49))
    row = {field.name: "value" for field in schema}
    lines = tables.text(FakeRecords([row], schema), width=60).splitlines()
    assert lines[0].split() == ["column_0", "column_1", "column_2", "column_3", "…", "column_48"]
    assert lines[-1] == "1 row × 49 columns, 44 of them not shown"


def test_head_and_tail_with_a_row_between():
    lines = tables.text(fills(1000), max_rows=5, width=120).splitlines()
    assert len(lines) == 3 + 5 + 1 + 1
    assert set(lines[6].split()) == {"…"}
    assert " 99900 " in lines[-2] and lines[-1] == "1,000 rows × 7 columns"
    assert "…" not in tables.text(fills(5), max_rows=5, width=120)


@pytest.mark.parametrize("show", [tables.text, tables.html])
@pytest.mark.parametrize("max_rows", [0, 20])
def test_a_million_rows_are_sliced_and_never_iterated(show, max_rows):
    class Endless(FakeRecords):
        def __len__(self):
            return 1_000_000

        def __iter__(self):
            raise AssertionError("iterated")

        def __getitem__(self, place):
            count = len(range(*place.indices(1_000_000)))
            assert count <= 20
            return fills(count)

    assert "1,000,000 rows × 7 columns" in show(Endless(schema=FILL), max_rows=max_rows)


@pytest.mark.parametrize(
    ("records", "count"),
    [
        (FakeRecords(), "0 rows × 0"),
        (FakeRecords(schema=FILL), "0 rows × 7"),
        ([{}, {}], "2 rows × 0"),
    ],
)
def test_empty_results(records, count):
    assert tables.text(records, width=120).splitlines()[-1] == f"{count} columns"
    assert f"{count} columns" in tables.html(records)


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [
        ("s", 1_767_600_000, "2026-01-05 08:00:00"),
        ("ms", 1_767_600_000_120, "2026-01-05 08:00:00.120"),
        ("us", "1767600000000001", "2026-01-05 08:00:00.000001"),
        ("us", -1, "1969-12-31 23:59:59.999999"),
        ("ms", 0, "–"),
        ("us", "", "–"),
        ("ms", None, "–"),
        # A value that is not a time in the declared unit is shown unchanged.
        ("ms", 2**63 - 1, "9223372036854775807"),
        ("us", "soon", "soon"),
        ("ms", True, "True"),
        ("ms", 1.5, "1.5"),
        ("weeks", 3, "3"),
    ],
)
def test_timestamps(unit, value, shown):
    records = FakeRecords([{"t": value}], (Field("t", "timestamp", unit),))
    assert tables.text(records).splitlines()[3] == shown


def test_values_are_the_services_own():
    schema = (Field("d", "date"), Field("n", "decimal"), Field("i", "integer"), Field("b", "flag"))
    rows = [
        {"d": "--", "n": "0.100", "i": 2**63 - 1, "b": False},
        {"d": "2026/01/02", "n": "", "i": None, "b": True},
    ]
    lines = tables.text(FakeRecords(rows, schema)).splitlines()
    assert lines[2].split() == ["--", "0.100", "9223372036854775807", "False"]
    assert lines[3].split() == ["2026/01/02", "–", "True"]


def test_unknown_fields_follow_the_declared_ones():
    rows = [{"code": "HK.1", "extra": {"a": [1]}}, {"new": 12}, {"new": 1.5}]
    lines = tables.text(FakeRecords(rows, (Field("code", "text"),))).splitlines()
    assert lines[0].split() == ["code", "extra", "new"]
    assert lines[2] == 'HK.1  {"a":[1]}   –'
    assert [line[-6:] for line in lines[3:5]] == ["    12", "   1.5"]


def test_long_text_is_cut_with_an_ellipsis_and_decimals_keep_their_digits():
    assert tables.text([{"name": "長" * 1000}], width=30).splitlines()[2] == "長" * 14 + "…"
    assert tables.text([{"name": "x" * 1000}], width=80).splitlines()[2] == "x" * 39 + "…"
    values = ["1." + "3" * 30, "9" * 30, "5"]
    records = FakeRecords([{"n": value} for value in values], (Field("n", "decimal"),))
    assert list(map(str.strip, tables.text(records, width=80).splitlines()[2:5])) == values


def test_nothing_is_obeyed_in_names_values_units_and_descriptions():
    evil = '\x1b[31m\u202e\n"><img src=x onerror=alert(1)>'
    records = FakeRecords([{"name": evil, evil: evil}], (Field("name", evil, evil, evil),))
    page, text = tables.html(records), tables.text(records, width=200)
    for shown in (page, text):
        assert "\x1b" not in shown and "\u202e" not in shown and "\\x1b[31m" in shown
    assert len(text.splitlines()) == 5
    assert set(re.findall(r"<(\w+)", page)) == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert html.escape("<img src=x") in page


def test_html_headers_show_kind_unit_and_meaning():
    page = tables.html(fills(2))
    for title in ("text: Side, such as BUY", "decimal (HKD)", "timestamp (us): Created time"):
        assert f'title="{title}"' in page
    assert ">UTC<" in page
