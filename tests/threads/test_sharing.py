"""One object of every class, shared by eight threads: no crash, error or wrong value.

On a CPython without the interpreter lock this finds races, on one with it what depends on order.
`BOARDLOT_TEST_PYTHON` names the interpreter; `make free-threaded-test` sets it.
"""

import asyncio
import json
from collections import Counter
from itertools import cycle
from typing import NamedTuple

import boardlot as bl
import pytest

from ..support.processes import run_child
from ..support.threads import outcomes_of_threads
from .sharing import kinds

# To start a child takes longer than to share an object.
CLASSES_OF_A_CHILD = 12


def groups():
    """The classes of each child; what is made on first use needs one of its own."""
    names = [name for name in kinds() if name != "FirstUse"]
    count = -(-len(names) // CLASSES_OF_A_CHILD)
    return [["FirstUse"], *(names[first::count] for first in range(count))]


@pytest.mark.parametrize("seconds", [0.1, pytest.param(30.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shared", groups(), ids=",".join)
def test_security_39_threads_share_an_object_of_every_class(shared, seconds):
    found = run_child("threads.sharing", shared=",".join(shared), seconds=seconds * len(shared))
    assert list(found) == shared
    for name, result in found.items():
        assert result["errors"] == [], "\n".join([name, *result["errors"]])
        assert result["calls"] > 8


class Fill(NamedTuple):
    deal_id: str


SANDBOX = {"fills": 120}


ITERATORS = {
    "rows": lambda pager: pager,
    "pages": lambda pager: pager.pages(),
    "typed rows": lambda pager: pager.as_type(Fill),
    "records": lambda pager: iter(pager.all()),
    "records from the end": lambda pager: reversed(pager.all()),
    "rows in event loops": lambda pager: pager,
}


@pytest.mark.parametrize("kind", ITERATORS)
def test_security_39_threads_receive_each_row_once(sandbox, kind):
    asynchronous, taken = kind == "rows in event loops", []

    async def read():
        async for row in iterator:
            taken.append(row)

    with sandbox.client() as client:
        fills = [fill["deal_id"] for fill in client.fills_history("281756", "HK")]
        source = sandbox.async_client() if asynchronous else client
        iterator = ITERATORS[kind](source.fills_history("281756", "HK", page_size=10))
        work = (lambda: asyncio.run(read())) if asynchronous else lambda: taken.extend(iterator)
        assert outcomes_of_threads(8, work) == {None: 8}
    rows = [row for each in taken for row in (each if kind == "pages" else [each])]
    ids = [row.deal_id if kind == "typed rows" else row["deal_id"] for row in rows]
    assert Counter(ids) == Counter(fills)


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
