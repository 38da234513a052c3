"""Whatever the caller's code raises while boardlot calls it is an error: never the end of a list,
never a row, and no row is lost by it. After an error of a hook or a log handler, the call has its
result; that of a store is a StoreError."""

import dataclasses
import enum
import logging
import signal
import sys
import threading

import boardlot as bl
import pytest

from ..records.parsed import pager_over
from ..support.clients import MODES, run
from ..support.paged_service import PagedList, cursor_of, rows_of
from ..support.service import StandInService, response
from ..support.stores import DictStore

# The rows whose code raises: the first of the list, one in the middle of a page, the first and the
# last of a page, and the last of the list.
WRONG = [0, 17, 30, 69, 74]
LENGTHS = [30, 0, 40, 5]
RAISED = [StopIteration, StopAsyncIteration, KeyboardInterrupt, LookupError]


class Armed:
    """Raises an error at some of the rows, once each."""

    def __init__(self, error):
        self.error, self.left = error, set(WRONG)

    def __call__(self, number):
        if number in self.left:
            self.left.remove(number)
            raise self.error({"n": "invented"})


def of_constructor(armed):
    class Row:
        n: int

        def __init__(self, n):
            armed(n)
            self.n = n

    return Row


def of_enum(armed):
    class Code(enum.Enum):
        NONE = ""

        @classmethod
        def _missing_(cls, value):
            armed(int(value.removeprefix("HK.")))
            return cls.NONE

    @dataclasses.dataclass
    class Row:
        n: int
        code: Code

    return Row


CLASSES = [of_constructor, of_enum]


def expected(error):
    """The error that the caller gets for it: as from a generator (PEP 479)."""
    return RuntimeError if error in {StopIteration, StopAsyncIteration} else error


async def rows_and_errors(client, rows):
    taken, errors = [], []
    while True:
        try:
            taken += await client.rows(rows, 1)
        except BaseException as error:
            errors.append(error)
            continue
        if len(taken) + len(errors) > 200 or len(taken) == len({row.n for row in taken}) == 75:
            return taken, errors


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("mode", MODES)
def test_security_48_an_error_of_a_row_class_is_raised_and_loses_no_row(mode, make, error):
    async def use(client):
        pager = client.listing("plate_stocks")
        taken, errors = await rows_and_errors(client, pager.as_type(make(Armed(error))))
        assert [row.n for row in taken] == list(range(75))
        assert [type(each) for each in errors] == [expected(error)] * len(WRONG)
        if expected(error) is not error:
            assert [type(each.__cause__) for each in errors] == [error] * len(WRONG)

    run(mode, PagedList("plate_stocks", LENGTHS), use)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)
def test_security_48_records_raise_it_too(make, error):
    records, armed = pager_over(*rows_of(LENGTHS)).all(), Armed(error)
    for _ in WRONG:
        with pytest.raises(expected(error)):
            records.as_type(make(armed))
    assert [row.n for row in records.as_type(make(armed))] == list(range(75))


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals of POSIX")
def test_security_48_a_signal_handler_does_not_end_a_list_early():
    book, handled = PagedList("plate_stocks", LENGTHS), threading.Event()

    def end(*_):
        handled.set()
        raise StopIteration

    def service(received):
        if cursor_of(received) == "after 2" and not handled.is_set():
            signal.raise_signal(signal.SIGALRM)
            handled.wait(60)
        return book(received)

    before = signal.signal(signal.SIGALRM, end)
    try:
        with StandInService(service) as server, bl.Client(server.base_url) as client:
            pager, rows = client.plate_stocks("HK.BK1001"), []
            with pytest.raises(RuntimeError) as caught:
                for row in pager:
                    rows.append(row)
            assert isinstance(caught.value.__cause__, StopIteration)
            assert rows + list(pager) == book.rows
    finally:
        signal.signal(signal.SIGALRM, before)


DIVIDENDS = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})


@pytest.fixture
def reported(monkeypatch):
    """The exceptions that were reported to `sys.unraisablehook`."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_value))
    return seen


def raising(error):
    def callback(*_):
        raise error("from the caller's code")

    return callback


def origins(errors):
    """The exceptions of the caller's code: themselves, or as the cause of a RuntimeError."""
    return [type(error.__cause__ or error) for error in errors]


async def dividends(client):
    return len(await client.call("dividends", "HK.00700"))


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("place", ["on_request", "on_response", "log handler"])
@pytest.mark.parametrize("mode", MODES)
def test_a_hook_or_log_handler_that_raises_is_reported_and_the_call_has_its_result(
    reported, mode, place, error, caplog, monkeypatch
):
    hooks = {place: raising(error)} if place.startswith("on_") else {}
    if not hooks:
        caplog.set_level(logging.DEBUG, "boardlot.http")
        monkeypatch.setattr(caplog.handler, "emit", raising(error))
    assert run(mode, lambda _: DIVIDENDS, dividends, **hooks) == 0
    assert origins(reported) == [error]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("mode", MODES)
def test_a_token_store_that_raises_is_a_store_error(mode, error, monkeypatch):
    monkeypatch.setattr(DictStore, "load", raising(error))
    auth = bl.OAuth("client", store=DictStore())
    with pytest.raises(bl.StoreError, match="load raised"):
        run(mode, lambda _: pytest.fail("sent"), dividends, auth=auth)


@pytest.mark.parametrize("error", [StopIteration, KeyboardInterrupt, LookupError])
def test_a_callable_for_a_passphrase_that_raises_is_a_store_error(tmp_path, error):
    store = bl.EncryptedFileStore(tmp_path / "tokens", "words")
    store.save("http://127.0.0.1 client", b"tokens")
    asked = bl.EncryptedFileStore(tmp_path / "tokens", raising(error))

    with pytest.raises(bl.StoreError, match="raised"):
        run("async", "http://127.0.0.1:1", dividends, auth=bl.OAuth("client", store=asked))
