"""Records and selections as dicts, held against the standard library's reading of a response.

One reader takes all responses, as a client does: what it learned of the records before must never
show in the next ones, whatever they look like and whatever became of the dicts it gave.
"""

import contextlib

import pytest

from ..contract.test_json_as_python_reads_it import Texts, expected
from .parsed import parser

WAYS = [
    lambda ours: ours.to_dicts(),
    list,
    lambda ours: [ours[place] for place in range(len(ours))],
    lambda ours: [ours[-1 - place] for place in range(len(ours))][::-1],
    lambda ours: list(reversed(ours))[::-1],
    lambda ours: [row for two in range(0, len(ours), 2) for row in ours[two : two + 2]],
]


def responses(texts, count):
    """Random responses with records, and these as the standard library reads them."""
    while count:
        body, rows = texts.body(), None
        with contextlib.suppress(ValueError):
            rows = expected(body)
        if rows:
            count -= 1
            yield body, rows


def spoil(rows):
    """Changes dicts in ways that a caller may, since they are its own."""
    for row in rows:
        for inner in row.values():
            if isinstance(inner, dict):
                inner["spoiled"] = True
            elif isinstance(inner, list):
                inner.append("spoiled")
        row["spoiled"] = True


def same(ours, theirs):
    # repr tells 1 from 1.0 and True, and shows the order of the keys.
    return ours == theirs and repr(ours) == repr(theirs)


@pytest.mark.parametrize("seed", range(6))
def test_any_records_and_selections_are_the_dicts_that_json_makes(seed):
    texts = Texts(seed)
    draw = texts.random
    read = parser("plate_stocks", [("plate_code", "HK.BK1001")])
    for body, right in responses(texts, 100):
        for way in draw.sample(WAYS, len(WAYS)):
            rows = way(read(body))
            assert same(rows, right), body
            spoil(rows)
        present = sorted({name for row in right for name in row})
        names = draw.sample(present, draw.randrange(1, len(present) + 1)) if present else []
        if names:
            part = [{name: row[name] for name in names if name in row} for row in right]
            selected = read(body).select(*names)
            assert same(selected.to_dicts(), part) and same(list(selected), part), (names, body)
