"""Records and selections as dicts, held against the standard library's reading of a response.

One reader takes all responses, as a client does: what it learned of the records before must never
show in the next ones, whatever they look like and whatever became of the dicts it gave.
"""

import json
import random

import pytest
from boardlot import _core

# "CODE" is written as "code": a name that comes twice, whose last value counts.
KEYS = [
    "code",
    "CODE",
    "price",
    "time",
    "pair",
    "a",
    "",
    "价",
    "a_key_of_more_than_sixteen_letters",
]
TEXTS = [
    "",
    "HK.00700",
    "HSBC",
    "腾讯控股",
    "😀",
    'q"\\/\b\n',
    "7400001000000000000",
    "x" * 90,
    "12.50",
    *("#0", "#1", "#2", "#3", "#4"),
]
# Numbers in other words than `json.dumps` has, in place of "#0" and so on.
NUMBERS = ["-0", "1E+5", "0.10e1", "1e-400", "123456789012345678901234567890"]


def value(draw, depth=0):
    kind = draw.randrange(12 if depth < 3 else 10)
    if kind < 4:
        return draw.choice(TEXTS)
    if kind < 6:
        return draw.choice([0, -1, 7, 10**18, -(2**63), 2**64, 10**40, 1_790_000_000_000_000])
    if kind < 8:
        return draw.choice([0.0, -0.5, 1e-7, 539.23, 1.5e300, 0.1, -1e22])
    if kind < 10:
        return draw.choice([None, True, False])
    if kind == 10:
        return [value(draw, depth + 1) for _ in range(draw.randrange(3))]
    return {draw.choice(KEYS): value(draw, depth + 1) for _ in range(draw.randrange(4))}


def records(draw):
    """Mostly of one shape, with many values that are those of the record before."""
    keys = draw.sample(KEYS, draw.randrange(len(KEYS)))
    rows, row = [], {key: value(draw) for key in keys}
    for _ in range(draw.randrange(9)):
        row = {key: value(draw) if draw.random() < 0.5 else before for key, before in row.items()}
        change = draw.randrange(12)
        if change == 0:
            row = dict(draw.sample(list(row.items()), len(row)))
        elif change == 1:
            row = {**row, draw.choice(KEYS): value(draw)}
        elif change == 2 and row:
            row = dict(list(row.items())[1:])
        rows.append(row)
    return rows


def written(draw, rows):
    separators = draw.choice([(",", ":"), (",", ":"), (", ", ": "), ("\n,", " :")])
    body = {"ret_code": 0, "data": {"orders": rows}}
    text = json.dumps(body, ensure_ascii=draw.random() < 0.5, separators=separators)
    for place, number in enumerate(NUMBERS):
        text = text.replace(f'"#{place}"', number)
    return text.replace('"CODE"', '"code"').encode()


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
    draw = random.Random(seed)
    read = _core._response_parser("sim_orders", [("acc_id", "1")])
    for _ in range(60):
        body = written(draw, records(draw))
        expected = json.loads(body)["data"]["orders"]
        ways = [
            lambda ours: ours.to_dicts(),
            list,
            lambda ours: [ours[place] for place in range(len(ours))],
            lambda ours: [ours[-1 - place] for place in range(len(ours))][::-1],
            lambda ours: list(reversed(ours))[::-1],
            lambda ours: [row for two in range(0, len(ours), 2) for row in ours[two : two + 2]],
        ]
        draw.shuffle(ways)
        for way in ways:
            rows = way(read(body))
            assert same(rows, expected), body
            spoil(rows)
        present = sorted({name for row in expected for name in row})
        names = draw.sample([*present, "order_id"], draw.randrange(1, len(present) + 2))
        part = [{name: row[name] for name in names if name in row} for row in expected]
        selected = read(body).select(*names)
        assert same(selected.to_dicts(), part) and same(list(selected), part), (names, body)
        assert selected._names() == names
