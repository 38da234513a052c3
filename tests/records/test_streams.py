"""A pager as an Arrow stream: what each engine reads, what counts as received, and what fails."""

import contextlib
import gc
import itertools
import json
import subprocess
import sys

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.interrupts import interrupted
from ..support.keys import uploaded_key
from ..support.paged_service import RANGE, PagedList
from ..support.service import StandInService, response
from .parsed import pager_over

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


SANDBOX = {"fills": 420}


@pytest.fixture
def fills(sandbox):
    """Makes pagers over the same 420 fills."""
    account = sandbox.accounts["trade"][0]
    with sandbox.client() as client:
        start = client.fills_history(account, "HK").all()[-1]["updated_time"]
        times = {"start": start - 1, "end": start + 10**14}
        yield lambda: client.fills_history(account, "HK", **times)


@pytest.fixture
def paged():
    """Makes a client of a service with these pages, and the service."""
    with contextlib.ExitStack() as stack:

        def serve(pages):
            service = stack.enter_context(StandInService(pages))
            return client_of(service), service

        yield serve


def reader(pager):
    return pa.RecordBatchReader.from_stream(pager)


def to_pandas(pager):
    if not hasattr(pd.DataFrame, "from_arrow"):
        pytest.skip("this pandas reads no Arrow: it is new in 3.0, which needs Python 3.11")
    return pd.DataFrame.from_arrow(pager)


ENGINES = {
    "duckdb": lambda pager: duckdb.sql("select deal_id from pager").fetchall(),
    "polars": lambda pager: pl.DataFrame(pager).select("deal_id").rows(),
    "pyarrow": lambda pager: [(i,) for i in reader(pager).read_all()["deal_id"].to_pylist()],
    "pandas": lambda pager: [(i,) for i in to_pandas(pager)["deal_id"]],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_reads_every_row_once_in_the_order_of_the_list(fills, engine):
    expected = [(fill["deal_id"],) for fill in fills()]
    assert len(expected) == 420
    assert ENGINES[engine](fills()) == expected


# Those that ask for Arrow make typed columns; those that read dicts keep the service's values.
CONSTRUCTORS = [
    (True, pa.table),
    (True, lambda pager: pager.all().to_arrow()),
    (True, to_pandas),
    (True, pl.DataFrame),
    (False, lambda pager: pl.DataFrame(pager.all())),
    (False, pd.DataFrame),
    (False, lambda pager: pd.DataFrame(pager.all())),
]


@pytest.mark.parametrize(("is_typed", "make"), CONSTRUCTORS)
def test_a_constructor_makes_typed_columns_if_it_asks_for_arrow(fills, is_typed, make):
    made = make(fills())
    schema = (pa.Table.from_pylist(made) if isinstance(made, list) else pa.table(made)).schema
    types = [str(schema.field(name).type) for name in ("price", "create_time")]
    if is_typed:
        assert types == ["double", "timestamp[us, tz=UTC]"]
    else:
        assert "string" in types[0] and types[1] == "int64"


def test_each_page_is_a_batch_with_the_columns_of_to_arrow(fills):
    pager = fills()
    stream = reader(pager)
    batches = list(stream)
    assert [batch.num_rows for batch in batches] == [50] * 8 + [20]
    whole = fills().to_arrow()
    assert stream.schema == whole.schema
    assert pa.Table.from_batches(batches).equals(whole)
    assert reader(fills().select("qty", "code")).read_all().equals(whole.select(["qty", "code"]))
    with pytest.raises(bl.ConfigError, match="this pager is exhausted"):
        pager.__arrow_c_stream__()


def test_what_a_consumer_did_not_take_is_still_the_pagers(fills):
    expected = [fill["deal_id"] for fill in fills()]
    pager = fills()
    first = next(pager)["deal_id"]
    stream = reader(pager)
    taken = stream.read_next_batch()["deal_id"].to_pylist()
    assert pager.checkpoint() != fills().checkpoint()
    stream.close()
    del stream
    rest = [fill["deal_id"] for fill in pager]
    assert [first, *taken, *rest] == expected
    assert len(taken) == 49


def test_a_stream_that_is_only_opened_takes_nothing(fills):
    pager = fills()
    before = pager.checkpoint()
    for _ in range(3):
        # As DuckDB does, to know the columns.
        assert reader(pager).schema.names[0] == "trd_side"
    pager.__arrow_c_stream__()
    assert pager.checkpoint() == before and pager.requests <= 2
    assert len(pager.all()) == 420


@pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1 reads some pages more")
def test_a_limit_fetches_no_more_than_one_page_ahead(fills):
    pager = fills()
    # Its other threads would read on until the first one has enough.
    with duckdb.connect(config={"threads": 1}) as connection:
        assert len(connection.sql("select code, qty from pager limit 10").fetchall()) == 10
    assert pager.requests <= 3
    assert len(pager.all()) == 370


def test_two_streams_in_turn_share_the_pages(fills):
    pager, taken = fills(), []
    streams = itertools.cycle([reader(pager), reader(pager)])
    with contextlib.suppress(StopIteration):
        for stream in streams:
            taken.append(stream.read_next_batch())
    found = [deal_id for batch in taken for deal_id in batch["deal_id"].to_pylist()]
    assert found == [fill["deal_id"] for fill in fills()]


def test_a_stream_is_released_twice_and_after_its_pager(fills):
    stream = reader(fills())
    gc.collect()
    assert stream.read_next_batch().num_rows == 50
    stream.close()
    stream.close()
    capsule = fills().__arrow_c_stream__()
    pa.RecordBatchReader._import_from_c_capsule(capsule).close()
    with pytest.raises(pa.ArrowInvalid, match="released"):
        pa.RecordBatchReader._import_from_c_capsule(capsule)


def test_an_empty_list_has_its_declared_columns(sandbox):
    with sandbox.client() as client:
        for engine in ("duckdb", "pyarrow"):
            empty = {"start": "2001-01-01", "end": "2001-02-01T00:00Z"}
            assert ENGINES[engine](client.fills_history("281756", "HK", **empty)) == []


def test_an_async_pager_has_no_stream():
    assert not hasattr(bl.AsyncPager, "__arrow_c_stream__")


def test_an_error_in_the_middle_carries_its_checkpoint(paged):
    broken = response({"s": "error", "errcode": -4, "errmsg": "busy"})
    pages = PagedList("fills_history", [3, 2, 4], fail={0: [broken], 2: [broken] * 2})
    client, _ = paged(pages)
    pager = client.fills_history("281756", "HK", **RANGE)
    # An error of the first page is the client's own.
    with pytest.raises(bl.ApiError, match="busy"):
        pa.table(pager)
    stream = reader(pager)
    taken = [row["n"] for _ in range(2) for row in stream.read_next_batch().to_pylist()]
    with pytest.raises(OSError, match=r"ApiError: .*busy.*; checkpoint: ") as failed:
        stream.read_next_batch()
    checkpoint = str(failed.value).partition("; checkpoint: ")[2].partition(". Detail:")[0]
    assert json.loads(checkpoint) == json.loads(pager.checkpoint())
    pages.fail = {}
    resumed = client.fills_history("281756", "HK", **RANGE, resume=checkpoint)
    assert taken + [row["n"] for row in resumed] == [row["n"] for row in pages.rows]


def test_pages_without_rows_are_passed_by(paged):
    pages = PagedList("plate_stocks", [0, 2, 0, 0, 1, 0])
    client, service = paged(pages)
    stream = reader(client.plate_stocks("HK.BK1001"))
    assert [batch.num_rows for batch in stream] == [2, 1]
    assert len(service.received) == 6


def test_undeclared_fields_have_one_type_over_all_pages():
    pages = [{"n": 1, "x": 1.5, "t": None}], [{"n": 2, "x": 2, "t": 5}], [{"x": 3, "u": None}]
    table = reader(pager_over(*pages)).read_all()
    assert list(map(str, table.schema.types)) == ["int64", "double", "string"]
    assert table.to_pydict() == {"n": [1, 2, None], "x": [1.5, 2.0, 3.0], "t": [None, "5", None]}
    first = [{"n": 1, "later": None}]
    pager = pager_over(first, [{"n": 2, "later": 7}]).select("later", "n")
    assert reader(pager).read_all().to_pydict() == {"later": [None, "7"], "n": [1, 2]}


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ([{"n": 2}, {"n": 1.5}], "'n' of record 1 on page 3 of this stream is 1.5, but its column "
                                 "has been of kind integer since the first page"),
        ([{"n": 9, "new": 0}], "page 3 of this stream has a field 'new' that its first page"),
        ([{"n": True}], "'n' of record 0 on page 3 of this stream is true"),
        ([{"n": "7"}], "'n' of record 0 on page 3 of this stream is \"7\""),
    ],
)  # fmt: skip
def test_a_page_that_does_not_fit_is_an_error_that_names_it(page, words):
    pager = pager_over([{"n": 1}], [{"n": 2}], page, [{"n": 4}])
    stream = reader(pager)
    assert [stream.read_next_batch().num_rows for _ in range(2)] == [1, 1]
    with pytest.raises(OSError) as failed:
        stream.read_next_batch()
    assert words in str(failed.value)
    # Nothing of the page was received.
    assert pager.all().to_dicts() == [*page, {"n": 4}]


def test_ctrl_c_ends_the_wait_of_a_consumer(paged):
    silent = response(b"", delay=600.0)
    client, _ = paged(PagedList("fills_history", [3, 2], fail={0: [silent], 1: [silent]}))
    pager = client.fills_history("281756", "HK", **RANGE)
    interrupted(pager.__arrow_c_stream__)
    pager = client.fills_history("281756", "HK", **RANGE)
    stream = reader(pager)
    assert stream.read_next_batch().num_rows == 3

    def read():
        # The consumer has an error of its own, before Python looks for the signal.
        with contextlib.suppress(OSError):
            stream.read_next_batch()

    interrupted(read)
    assert pager.checkpoint()


READS = """
import resource, sys, boardlot as bl, duckdb
client = bl.Client(sys.argv[1], auth=bl.ApiKey(sys.argv[2], sys.argv[3]))
peaks = []
for end in sys.argv[5:]:
    pager = client.fills_history(sys.argv[4], "HK", start="2001-01-01", end=int(end))
    count = duckdb.sql("select count(*), count(distinct deal_id) from pager").fetchall()
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(*count[0], pager.requests, peaks[1] - peaks[0])
"""


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_duckdb_reads_many_fills_in_flat_memory(tmp_path, count):
    # As many fills are of the last 90 days as are older.
    with bl.Sandbox(seed=7, fills=count // 2) as sandbox:
        account = sandbox.accounts["trade"][0]
        with sandbox.client() as client:
            fills = client.fills_history(account, "HK", start="2001-01-01", end="2040-01-01T00:00Z")
            head = fills.all(max_items=count // 2)
        # The later half of them is the first, to warm up; then all.
        auth = uploaded_key(sandbox, tmp_path)
        ends = [str(head[-1]["updated_time"]), str(head[0]["updated_time"] + 1)]
        command = [sys.executable, "-c", READS, sandbox.base_url, *auth, account, *ends]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    # DuckDB may show its progress before it.
    rows, distinct, requests, megabytes = map(int, done.stdout.splitlines()[-1].split())
    assert (rows, distinct, requests) == (count, count, count // 50)
    # The ids that DuckDB counts, and no pages: these would be twenty times as much.
    assert megabytes < 20 + count * 100 / 2**20
