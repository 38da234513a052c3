"""The dicts of records are the caller's: a change is seen by every later access."""

import copy
import gc
import json
import pickle
import sys
import weakref

import boardlot as bl
import pytest
from boardlot import _core

from ..support.threads import outcomes_of_threads

SENT = [
    {"order_id": str(n), "code": "HK.00700", "side": 1, "price": f"{n}.50", "note": {"n": n}}
    for n in range(7)
]
# The last page has records of other fields, each scanned by itself.
PAGES = [SENT[:3], [SENT[3]], [{**SENT[4], "more": 1}, SENT[5], SENT[6]]]
EXPECTED = [row for page in PAGES for row in page]


def parsed(rows):
    read = _core._response_parser("sim_orders", [("acc_id", "1")])
    return read(json.dumps({"ret_code": 0, "data": {"orders": rows}, "count": len(rows)}).encode())


def stored():
    texts = [",".join(map(json.dumps, page)).encode() for page in PAGES]
    return _core._stored_records("sim_orders", [("acc_id", "1")], texts)


def many():
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        return client.fetch_many("dividends", ["HK.00700", "HK.00005", "HK.1"], on_error="collect")


def selected():
    return stored().select("price", "note")


MADE = {
    "one page": lambda: parsed(SENT),
    "pages": stored,
    "keys": many,
    "selected": selected,
    "slice": lambda: stored()[1:6],
    "steps": lambda: stored()[::-2],
}


@pytest.fixture(params=MADE, ids=str)
def records(request):
    return MADE[request.param]()


READ = {
    "index": lambda r: [r[n] for n in range(len(r))],
    "slice": lambda r: list(r[:]),
    "parts": lambda r: [row for n in range(0, len(r), 2) for row in r[n : n + 2]],
    "steps": lambda r: list(r[::-1])[::-1],
    "slice of a slice": lambda r: [r[0], *r[1:][:]],
    "taken": lambda r: list(r._take(list(range(len(r))))),
    "iteration": list,
    "next": lambda r: [row for row, _ in zip(iter(r), range(len(r)), strict=False)],
    "reversed": lambda r: list(reversed(r))[::-1],
    "to_dicts": lambda r: r.to_dicts(),
    "copy": lambda r: list(copy.copy(r)),
    "records + []": lambda r: r + [],
    "records * 1": lambda r: r * 1,
    "sum": lambda r: sum([r[:1], r[1:]], []),  # noqa: RUF017
}
COPIED = {
    "pickle": lambda r: list(pickle.loads(pickle.dumps(r))),
    "pickled slice": lambda r: list(pickle.loads(pickle.dumps(r[:]))),
    "pickled twice": lambda r: list(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(r))))),
    "deepcopy": lambda r: list(copy.deepcopy(r)),
}


def change(row, mark):
    row["mark"] = mark
    row.pop("code", None)
    if "note" in row:
        row["note"]["inner"] = mark


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_each_way_of_reading_gives_the_same_dicts_with_their_changes(records, read):
    before = read(records)
    assert all(type(row) is dict for row in before)
    for again in READ.values():
        assert list(map(id, again(records))) == list(map(id, before))
    for number, row in enumerate(before):
        change(row, number)
    assert [row["mark"] for row in records] == list(range(len(records)))


@pytest.mark.parametrize("read", [*READ.values(), *COPIED.values()], ids=[*READ, *COPIED])
@pytest.mark.parametrize("touched", [[1], [0, 2], "all"], ids=str)
def test_a_change_is_seen_however_a_record_is_read_again(records, read, touched):
    untouched = copy.deepcopy(records).to_dicts()
    for number in range(len(records)) if touched == "all" else touched:
        change(records[number], number)
        change(untouched[number], number)
    assert read(records) == untouched == records
    assert (records != untouched) is False
    assert untouched[1] in records and records.index(untouched[1]) == 1
    assert records.count(untouched[1]) == 1


@pytest.mark.parametrize("read", COPIED.values(), ids=COPIED)
def test_copies_share_nothing_with_the_records(records, read):
    expected = [dict(row) for row in records]
    for row in read(records):
        row["mark"] = "theirs"
        if "note" in row:
            row["note"]["inner"] = "theirs"
    assert records == expected


def test_columns_and_text_are_the_services_own(records):
    def views():
        yield records.to_arrow().to_pylist()
        yield records.to_pandas().to_dict("records")
        yield records.to_polars().to_dicts()
        yield json.loads(records.to_json())
        yield records.to_dicts(typed=True)
        yield records.select(records._names()[0]).to_dicts()

    pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), pytest.importorskip("polars")
    before = list(map(repr, views()))
    for row in records:
        row.clear()
    assert list(map(repr, views())) == before


def test_a_dict_outlives_what_it_was_read_from():
    records = stored()
    part = records[2:5]
    del records
    part[0]["mark"] = 1
    again = part[0:1]
    del part
    assert again[0]["mark"] == 1


def test_what_is_not_touched_is_not_made():
    records = parsed([dict(SENT[0], order_id=str(n)) for n in range(20_000)])
    gc.collect()
    before = sys.getallocatedblocks()
    assert records[5] is records[-19_995] is records[:10][5]
    assert sys.getallocatedblocks() - before < 1000


def test_a_record_that_is_kept_twice_is_one_dict():
    records = stored()
    twice = records._take([3, 3])
    twice[0]["mark"] = 1
    assert twice[1] is records[3]
    assert [row.get("mark") for row in pickle.loads(pickle.dumps(twice))] == [1, 1]


def test_a_cycle_through_a_dict_is_collected_copied_and_pickled():
    records = stored()
    records[0]["all"] = records
    copied = copy.deepcopy(records)
    assert copied[0]["all"] is copied and copied is not records
    loaded = pickle.loads(pickle.dumps(records))
    assert loaded[0]["all"] is loaded
    dropped = [weakref.ref(each) for each in (records, copied, loaded)]
    del records, copied, loaded
    gc.collect()
    assert [each() for each in dropped] == [None] * 3


def test_threads_get_the_same_dicts():
    records, seen = parsed([dict(SENT[0], order_id=str(n)) for n in range(2000)]), []
    ways = iter([list, lambda r: list(reversed(r))[::-1], lambda r: r.to_dicts(), lambda r: r + []])
    assert outcomes_of_threads(4, lambda: seen.append(next(ways)(records))) == {None: 4}
    assert all(list(map(id, rows)) == list(map(id, seen[0])) for rows in seen)


def test_json_is_the_services_text():
    body = b'{"ret_code": 0, "data": {"orders": [{"a": 1.50, "b": "\\u00e9"}, {"a": 1e3}]}}'
    records = _core._response_parser("sim_orders", [("acc_id", "1")])(body)
    assert records.to_json() == '[{"a": 1.50, "b": "\\u00e9"},{"a": 1e3}]'
    assert records[1:].to_json() == '[{"a": 1e3}]'
    assert records[:0].to_json() == "[]"
    assert records.select("a").to_json() == '[{"a":1.50},{"a":1e3}]'


def test_json_has_what_the_dicts_have(records):
    assert json.loads(records.to_json()) == records
    with pytest.raises(TypeError):
        json.dumps(records)
    assert json.loads(json.dumps(list(records))) == records
