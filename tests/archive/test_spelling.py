"""What a record is decides, not how the service spells it: in fills, in lists, and in checks."""

import json
import random

import boardlot as bl
import pytest

from ..support.service import Response
from .service import HK, HOUR, PLATE, fill, fills_path, path_of, take

TREE = bl.Endpoint("tree", "GET", "/api/v1.0/tree", rows="data.list")
NESTED = {"é": "ü\n/", "a": {"x": [1.50, 2, None], "y": {"p": True, "q": "1.50"}}, "z": 1e5}


def spelled(value, chosen):
    """JSON in another order of members, with other spaces and escapes; numbers as they are."""
    if isinstance(value, dict):
        members = list(value.items())
        chosen.shuffle(members)
        parts = [
            f"{spelled(name, chosen)}{space(chosen)}:{spelled(v, chosen)}" for name, v in members
        ]
        return "{" + space(chosen) + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(spelled(one, chosen) + space(chosen) for one in value) + "]"
    if isinstance(value, str):
        escaped = json.dumps(value, ensure_ascii=chosen.random() < 0.5)
        return escaped.replace("/", chosen.choice(["/", "\\/"]))
    return json.dumps(value)


def space(chosen):
    return chosen.choice(["", " ", "\n  "])


def responded(before, rows, after, chosen):
    body = before + ",".join(spelled(row, chosen) for row in rows) + after
    return Response(body=body.encode())


class Spelling:
    """Responses with the same rows, each time in another spelling."""

    def __init__(self, book):
        self.book, self.chosen = book, random.Random(5)

    def fills(self, rows):
        after = '],"page_flag":"","completed":true}}'
        page = responded('{"s":"ok","d":{"order_fills":[', rows, after, self.chosen)
        self.book.failures.setdefault(fills_path(), []).append(page)

    def rows(self, path, rows):
        self.book.failures[path] = [
            responded('{"ret_code":0,"data":{"list":[', rows, "]}}", self.chosen)
        ]

    def stocks(self, rows):
        after = ']},"pagination":{"has_more":false,"next_key":"-1"}}'
        page = responded('{"code":0,"data":{"stock_list":[', rows, after, self.chosen)
        self.book.failures[path_of("plates", PLATE)] = [page]


@pytest.fixture
def spelling(book):
    return Spelling(book)


def test_another_spelling_is_no_change(archive, book, client, spelling):
    at = book.now() - HOUR
    # With an id, and without one.
    fills = [fill(1, at, more=NESTED), {**fill(2, at - 1, more=NESTED), "deal_id": ""}]
    ipos = [
        {"code": "HK.1", "name": "é/", "apply_countdown_secs": n, "more": NESTED} for n in (1, 2)
    ]
    stocks = [{"code": "HK.1", "more": NESTED}, {"name": "é", "more": NESTED}]
    for turn in range(5):
        spelling.fills(fills)
        spelling.rows(path_of("ipos", "hk"), [{**ipos[0], "apply_countdown_secs": turn}])
        spelling.rows(TREE.path, [NESTED])
        spelling.stocks(stocks)
        lists = {"fills": [HK], "ipos": ["hk"], "plates": [PLATE], "lists": [(TREE, {})]}
        report = archive.update(client, **lists)
        counts = (report.new, report.changed, report.gone, report.unchanged)
        assert counts == ((6, 0, 0, 0) if turn == 0 else (0, 0, 0, 6))
    assert archive.fills(*HK) == fills
    assert archive.check() == []


@pytest.mark.parametrize("place", range(6))
def test_another_value_of_any_kind_is_a_change(archive, book, client, spelling, place):
    """A number of other digits, a text for a number, another order of a list, one more member."""
    other = [
        {"a": 1.5}, {"a": 1.0}, {"a": "1"}, {"a": [2, 1]}, {"a": True}, {"a": 1, "b": None},
    ][place]  # fmt: skip
    for row in ({"a": [1, 2]} if place == 3 else {"a": 1}, other):
        spelling.stocks([{"code": "HK.1", **row}])
        report = archive.update(client, plates=[PLATE])
    assert (report.changed, report.unchanged) == (1, 0)


def test_a_follower_receives_a_fill_once_however_it_is_spelled(archive, book, client, spelling):
    at = book.now() - HOUR
    for count in (1, 1, 1, 2, 2, 3):
        spelling.fills([fill(n, at + n, more=NESTED) for n in range(count)])
    followed = archive.follow(client, fills=HK, every=0.01)
    assert [one["deal_id"] for one in take(followed, 3)] == ["0", "1", "2"]
    followed.close()


def test_one_record_twice_in_a_read_is_no_finding_unless_its_contents_differ(
    archive, book, client, spelling
):
    path = path_of("dividends", "HK.00700")
    one = {"ex_date": "2026-01-01", "pub_date": "2025-12-01", "statement": "é"}

    def dividends(*rows):
        after = f'],"total_dividend_count":{len(rows)},"total_dividend_money":1}}}}'
        before = '{"ret_code":0,"data":{"dividend_list":['
        book.failures[path] = [responded(before, rows, after, random.Random(len(rows)))]
        archive.update(client, dividends=["HK.00700"])

    dividends(one, dict(reversed(one.items())), one)
    assert archive.check() == []
    dividends(one, {**one, "statement": "e"})
    assert {found.kind for found in archive.check()} == {"twice", "restated"}
