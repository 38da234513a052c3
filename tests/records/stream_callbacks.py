"""Arrow streams of pagers in code that a call of boardlot waits for: read, dropped, collected.

pyarrow, polars and DuckDB release the interpreter around each call of a stream. Run in children by
`test_streams_within_calls`, with a collection at every object that is made.
"""

import asyncio
import contextlib
import gc
import inspect
import logging
from functools import partial

import boardlot as bl

from ..support.logins import demo_login
from ..support.processes import options_of, report
from ..support.stores import DictStore
from .parsed import pager_over

ACCOUNT = "281756"
FILLS = 60


class Kept:
    """Keeps what it is given and itself: only the collector finds them."""

    def __init__(self, *things):
        self.itself, self.things = self, things


class Callback:
    """Code of the caller's that does this, unless what it does calls it again."""

    def __init__(self, work):
        self.work, self.outcomes, self.is_working = work, [], False

    def __call__(self, *_event):
        if self.is_working or self.outcomes:
            return
        self.is_working = True
        try:
            self.outcomes.append(self.work())
        except BaseException as error:
            self.outcomes.append(repr(error))
            raise
        finally:
            self.is_working = False


def pager_of(sandbox):
    """A pager with a client of its own, which holds rows that nobody has received."""
    client = sandbox.client()
    pager = client.fills_history(
        ACCOUNT, "HK", start="2001-01-01", end="2040-01-01T00:00Z", page_size=20
    )
    next(pager)
    return pager


def broken_pager():
    """A pager whose second page is an error of the stream."""
    return pager_over([{"code": 1}], [{"code": True}])


def pyarrow_uses():
    from pyarrow import RecordBatchReader

    def half_read(pager):
        reader = RecordBatchReader.from_stream(pager)
        return reader, reader.read_next_batch().num_rows

    def collected(pager):
        reader, count = half_read(pager)
        Kept(reader)
        return count

    # Each returns how many rows it took; `None` if that is not known.
    return {
        "read": lambda pager: RecordBatchReader.from_stream(pager).read_all().num_rows,
        "closed": lambda pager: half_read(pager)[1],
        "collected": collected,
        "opened": lambda pager: RecordBatchReader.from_stream(pager).schema and 0,
    }


def polars_uses():
    import polars

    return {
        "read": lambda pager: polars.DataFrame(pager).height,
        "a series": lambda pager: len(polars.Series(pager)),
        "collected": lambda pager: Kept(pager.__arrow_c_stream__()) and 0,
    }


def duckdb_uses():
    import duckdb

    def fetched(query, pager):  # DuckDB finds the pager by its name.
        with duckdb.connect() as database:
            return len(database.sql(query).fetchall())

    def collected(pager):
        database = duckdb.connect()
        database.execute("select code from pager")
        Kept(database)
        return len(database.fetchmany(1)) and None

    return {
        "read": lambda pager: fetched("select code from pager", pager),
        "limited": lambda pager: fetched("select code from pager limit 1", pager) and None,
        "opened": lambda pager: fetched("describe select code from pager", pager) and 0,
        "collected": collected,
    }


USES = {"pyarrow": pyarrow_uses, "polars": polars_uses, "duckdb": duckdb_uses}


def read_on(_name, use, pager):
    """After the stream, the pager has the rows that the stream did not take."""
    count = use(pager)
    try:
        rest = len(pager.all())
    except bl.ConfigError:
        rest = 0  # It has been read to its end.
    # An engine may not say how many it took.
    return 1 + rest <= FILLS if count is None else 1 + count + rest == FILLS


def failed(name, use, _pager):
    """The error of a page reaches the consumer that reads it."""
    try:
        use(broken_pager())
    except Exception as error:
        return "page 2" in str(error) or repr(error)
    return name != "read"


# Code of the caller's that boardlot calls; each runs it once.
CALLED_WITH = ["callback", "sandbox"]


def row_class(callback):
    class Row:
        code: str

        def __init__(self, **_values):
            callback()

    return Row


def constructor(callback, sandbox):
    pager_of(sandbox).all(max_items=3).as_type(row_class(callback))


def constructor_of_a_pager(callback, sandbox):
    next(pager_of(sandbox).as_type(row_class(callback)))


def comparison(callback, sandbox):
    class Anything:
        __hash__ = None

        def __eq__(self, _other):
            callback()
            return True

    assert Anything() in pager_of(sandbox).all(max_items=3)


def finalizer(callback, sandbox):
    class Finalized(Kept):
        def __del__(self):
            callback()

    Finalized()
    # Its rows make the collector run.
    assert len(list(pager_of(sandbox))) == FILLS - 1
    gc.collect()


def on_request(callback, sandbox):
    sandbox.client(on_request=callback).server_time()


def on_response_of_a_task(callback, sandbox):
    async def request():
        await sandbox.async_client(on_response=callback).server_time()

    asyncio.run(request())


def hook_of_a_stream(callback, sandbox):
    client = sandbox.client(on_request=callback)
    pager = client.fills_history(ACCOUNT, "HK", start="2001-01-01", end="2040-01-01T00:00Z")
    pager.__arrow_c_stream__()


def log_handler(callback, sandbox):
    logger, handler = logging.getLogger("boardlot.http"), logging.Handler()
    # Without its lock, for which what DuckDB's own threads log would wait.
    handler.handle = callback
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        sandbox.client().server_time()
    finally:
        logger.setLevel(logging.WARNING)
        logger.removeHandler(handler)


def lock_of_logging(callback, sandbox):
    # As if a finalizer came within it.
    logging.root.manager._clear_cache()
    with logging._lock:
        callback(sandbox)


def store(callback, sandbox):
    class Store(DictStore):
        def save(self, key, value):
            callback()
            super().save(key, value)

    demo_login(sandbox, Store())


CALLERS = [
    caller
    for caller in list(globals().values())
    if inspect.isfunction(caller) and [*inspect.signature(caller).parameters] == CALLED_WITH
]


@contextlib.contextmanager
def collections_everywhere():
    gc.collect()
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def main():
    uses, outcomes = USES[options_of("engine").engine](), {}
    gc.freeze()  # A collection then looks at what comes later alone.
    # As many fills are of the last 90 days as are older.
    with bl.Sandbox(seed=7, fills=FILLS // 2) as sandbox:
        for caller in CALLERS:
            for name, use in uses.items():
                for way in (read_on, failed):
                    # Of a client that nobody else has, made before the call that waits.
                    pager = pager_of(sandbox)
                    callback = Callback(partial(way, name, use, pager))
                    del pager
                    with collections_everywhere():
                        caller(callback, sandbox)
                    outcomes[f"{name}, {way.__name__}, in {caller.__name__}"] = callback.outcomes
    gc.unfreeze()  # Else DuckDB would complain at the end that its modules are left.
    report(**outcomes)


if __name__ == "__main__":
    main()
