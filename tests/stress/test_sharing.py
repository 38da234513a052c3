"""One object of every class, shared by eight threads: no crash, error or wrong value.

On a CPython without the interpreter lock this finds races, on one with it what depends on order.
`BOARDLOT_TEST_PYTHON` names the interpreter; `tools/nightly/free-threaded` sets it.
"""

import asyncio
import json
import sys
import threading
from collections import Counter
from itertools import cycle
from typing import NamedTuple

import boardlot as bl
import pytest

from ..support.processes import run_child
from ..support.threads import outcomes_of_threads
from .sharing import kinds

# What is made on first use needs a child of its own.
CHILDREN = {
    "first use": ["FirstUse"],
    "every class": [name for name in kinds() if name != "FirstUse"],
}


@pytest.mark.parametrize("seconds", [0.1, pytest.param(30.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("child", CHILDREN)
def test_security_39_threads_share_an_object_of_every_class(child, seconds):
    shared = CHILDREN[child]
    found = run_child("stress.sharing", shared=",".join(shared), seconds=seconds * len(shared))
    assert list(found) == shared
    for name, result in found.items():
        assert result["errors"] == [], "\n".join([name, *result["errors"]])
        assert result["calls"] > 8


class Fill(NamedTuple):
    deal_id: str


SANDBOX = {"fills": 120}
HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()


RECORDS = {"records": iter, "records from the end": reversed}


@pytest.mark.parametrize("kind", RECORDS)
def test_security_39_threads_receive_each_record_once(sandbox, kind):
    with sandbox.client() as client:
        fills = client.fills_history("281756", "HK").all()
        taken, iterator = [], RECORDS[kind](fills)
        assert outcomes_of_threads(8, lambda: taken.extend(iterator)) == {None: 8}
    assert Counter(ids_of(taken)) == Counter(ids_of(fills))


VIEWS = {
    "rows": lambda pager: pager,
    "pages": lambda pager: pager.pages(),
    "typed rows": lambda pager: pager.as_type(Fill),
}


def ids_of(items):
    rows = (row for item in items for row in (item if isinstance(item, bl.Records) else [item]))
    return [row.deal_id if isinstance(row, Fill) else row["deal_id"] for row in rows]


@pytest.mark.parametrize("kind", VIEWS)
def test_security_39_a_pager_that_is_handed_from_thread_to_thread_returns_each_row_once(
    sandbox, kind
):
    taken, turn = [], threading.Lock()

    def work():
        while True:
            with turn:
                items = [item for _ in range(3) if (item := next(view, None)) is not None]
                taken.extend(items)
            if not items:
                return

    with sandbox.client() as client:
        fills = ids_of(client.fills_history("281756", "HK").all())
        view = VIEWS[kind](client.fills_history("281756", "HK", page_size=10))
        assert outcomes_of_threads(8, work) == {None: 8}
    assert ids_of(taken) == fills


def test_security_39_an_async_pager_that_is_handed_from_loop_to_loop_returns_each_row_once(sandbox):
    taken, turn = [], threading.Lock()

    async def some():
        return [row for _ in range(7) if (row := await anext(pager, None)) is not None]

    def work():
        while True:
            with turn:
                rows = asyncio.run(some())
                taken.extend(rows)
            if not rows:
                return

    with sandbox.client() as client:
        fills = ids_of(client.fills_history("281756", "HK").all())
    pager = sandbox.async_client().fills_history("281756", "HK", page_size=10)
    assert outcomes_of_threads(8, work) == {None: 8}
    assert ids_of(taken) == fills


@pytest.mark.skipif(not HAS_LOCK, reason="without the interpreter lock, one thread at a time")
@pytest.mark.parametrize("kind", VIEWS)
def test_security_38_threads_that_ask_at_once_are_refused_or_receive_each_row_once(sandbox, kind):
    taken, refused = [], []

    def work():
        while True:
            try:
                taken.append(next(view))
            except StopIteration:
                return
            except bl.ConfigError as error:
                refused.append(str(error))

    with sandbox.client() as client:
        fills = ids_of(client.fills_history("281756", "HK").all())
        view = VIEWS[kind](client.fills_history("281756", "HK", page_size=10))
        assert outcomes_of_threads(8, work) == {None: 8}
    assert Counter(ids_of(taken)) == Counter(fills)
    assert all("is being read by another thread or task" in text for text in refused)


def test_security_39_a_client_that_is_closed_responds_or_says_so(sandbox):
    client, turns = sandbox.client(), cycle([True] * 7 + [False])
    expected = len(client.dividends("HK.00700"))

    def work():
        if not next(turns):
            client.close()
        return len(client.dividends("HK.00700"))

    outcomes = outcomes_of_threads(64, work)
    assert set(outcomes) <= {expected, "ConfigError"} and "ConfigError" in outcomes
    with pytest.raises(bl.ConfigError, match="closed"):
        client.server_time()


def test_security_39_a_recorder_writes_every_request_of_every_thread_whole(sandbox, tmp_path):
    path = tmp_path / "cassette.jsonl"
    with bl.Recorder(path) as recorder, sandbox.client(cassette=recorder) as client:
        outcomes_of_threads(16, lambda: [client.dividends("HK.00700") for _ in range(5)] and None)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum("dividends" in json.dumps(line) for line in lines) == 80
