"""Responses of hostile shapes: the work grows with their bytes and no faster, and Ctrl-C ends it.

Growth is compared and not time, since these tests run on builds and machines of any speed. With
`-m slow` on a release build, each reading is held against the standard library's besides.
"""

import json
import sys
import time

import pytest
from boardlot import errors

from ..support.interrupts import interrupted
from .parsed import parser, rows_of

READ = ("sim_orders", [("acc_id", "1")])


def body(rows, **beside):
    body = {"ret_code": 0, "data": {"orders": rows, **beside}}
    return json.dumps(body, separators=(",", ":")).encode()


def nested(inner, levels, mark):
    """Objects in each other, with a member behind the inner one that has another name each time."""
    for level in range(levels):
        inner = {"inner": inner, mark: level}
    return inner


def two_wide(size):
    each = size // 30
    return body([{f"{mark}{n}": n for n in range(each)} for mark in "ab"])


def other_keys_each(size):
    each = int((size / 12) ** 0.5)
    return body([{f"k{row}_{n}": n for n in range(each)} for row in range(each)])


def two_shapes(size):
    return body([{f"{'ab'[row % 2]}{n}": n for n in range(100)} for row in range(size // 780)])


def late_difference(size):
    return body([{"code": "\n" * (size // 40), f"z{row % 3}": 1} for row in range(20)])


def doubled(size):
    row = "{" + ",".join(['"a":1'] * (size // 24)) + "}"
    return b'{"ret_code":0,"data":{"orders":[' + ",".join([row] * 4).encode() + b"]}}"


def deep(size):
    rows = [nested(list(range(size // 80)), 50, f"m{row % 2}") for row in range(12)]
    return body(rows)


def deep_lists(size):
    inner = json.dumps(list(range(size // 8)))
    text = "[" * 50 + inner + "]" * 50
    return b'{"ret_code":0,"data":{"orders":[{"x":' + text.encode() + b"}]}}"


def escapes(size):
    return body([{"code": '\n"\\\u4e2d' * (size // 24)}] * 2)


def beside(size):
    return body([{}], **{f"m{n}": nested([n], 20, "m") for n in range(size // 400)})


def tiny(size):
    return body([{}] * (size // 3))


def many_pages(size):
    """Records of which every second one is taken, each a piece of its own."""
    return body([{"code": str(n), "price": "1.5"} for n in range(size // 30)])


SHAPES = [
    two_wide, other_keys_each, two_shapes, late_difference, doubled, deep, deep_lists, escapes,
    beside, tiny, many_pages,
]  # fmt: skip


def columns(records):
    try:
        return records._arrow("float64", "raise", "utf8")
    except errors.ProtocolError as error:
        # There is no table of this many fields with one value each; that is detected early.
        assert "too sparse for columns" in str(error)


READINGS = {
    "dicts": lambda records: rows_of(records).dicts(),
    "typed dicts": lambda records: records.to_dicts(typed=True),
    "every second": lambda records: records[::2].to_dicts(typed=True),
    "columns": columns,
    "text": repr,
    "html": lambda records: records._repr_html_(),
    "meta": lambda records: (records.meta, records.schema),
}


def seconds(work, times=3, longest=0.0):
    """The least time of this process's own, as others may be at work beside it; the first that is
    within `longest`.
    """
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
        if best <= longest:  # time: the work for a response is what is promised
            break
    return best


def readings(text):
    """The readings of a response, to be timed."""
    records = parser(*READ)(text)
    reads = {name: lambda read=read: read(records) for name, read in READINGS.items()}
    return {"response": lambda: parser(*READ)(text), **reads}


@pytest.mark.parametrize("shape", SHAPES)
def test_security_40_work_grows_with_the_bytes_of_a_response_and_no_faster(shape):
    small, large = shape(100_000), shape(400_000)
    growth = len(large) / len(small)
    after = readings(large)
    for name, read in readings(small).items():
        before = seconds(read)
        # Quadratic work would be 16 times as long; 20 ms are noise.
        longest = 2.5 * growth * before + 0.02
        took = seconds(after[name], times=10, longest=longest)
        assert took <= longest, f"{name}: {before} -> {took}"


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_security_40_no_reading_takes_much_longer_than_the_standard_library_takes(shape):
    text = shape(4_000_000)
    ours = {name: seconds(read) for name, read in readings(text).items()}
    # A dict of columns is the least that a table can be made of.
    theirs = seconds(lambda: table(json.loads(text)["data"]["orders"]))
    slow = {name: took for name, took in ours.items() if took > 5 * theirs + 0.02}
    assert not slow, f"{slow}, while the standard library takes {theirs}"


def table(rows):
    columns = {}
    for place, row in enumerate(rows):
        for name, value in row.items():
            columns.setdefault(name, {})[place] = value
    return columns


def test_security_40_wide_records_are_frames_with_every_field():
    records = parser(*READ)(two_wide(60_000))
    names = [field.name for field in records.schema]
    names += [f"{mark}{n}" for mark in "ab" for n in range(2000)]
    assert records.to_arrow().column_names == records.to_polars().columns == names
    frame = records.to_pandas()
    assert list(frame.columns) == names
    assert str(frame["a7"].dtype) == "Int64" and frame["a7"].isna().tolist() == [False, True]


def test_security_40_fields_without_end_are_rejected_before_they_are_columns():
    text = other_keys_each(3_000_000)
    records = parser(*READ)(text)
    with pytest.raises(errors.ProtocolError, match="too sparse for columns") as error:
        records.to_arrow()
    assert error.value.hint.startswith("Read the records as")
    assert len(records.to_dicts()) == len(records)


ROWS = [{"code": "HK.00700", "price": "1.5"}] * 300_000


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize(
    ("rows", "reading"),
    [(ROWS, "dicts"), ([{"x": [[n] for n in range(300_000)]}], "dicts"), (ROWS, "columns")],
)
def test_security_40_ctrl_c_ends_what_the_core_computes(rows, reading):
    records, read = parser(*READ)(body(rows)), READINGS[reading]
    full = seconds(lambda: read(records), times=1)

    def work():
        while True:
            read(records)

    # Of the processor, as a busy machine may schedule the process late: the work does not continue.
    # time: it is promised
    took = (interrupted(work, clock=time.process_time) for _ in range(5))
    assert any(seconds < max(0.2, full / 2) for seconds in took)
