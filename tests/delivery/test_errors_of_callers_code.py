"""Whatever the caller's code raises while boardlot calls it is an error: never the end of a list,
never a row, and no row is lost by it."""

import dataclasses
import enum
import signal

import boardlot as bl
import pytest

from ..support.clients import MODES, run
from ..support.paged_service import CALLS, PagedList
from ..support.service import StandInService

# The rows whose code raises: the first of the list, one in the middle of a page, the first and the
# last of a page, and the last of the list.
WRONG = [0, 17, 30, 69, 74]
LENGTHS = [30, 0, 40, 5]
RAISED = [
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
    RecursionError,
    MemoryError,
    LookupError,
]


class Armed:
    """Raises an error at some of the rows, once each."""

    def __init__(self, error):
        self.error, self.left, self.calls = error, set(WRONG), 0

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


def of_post_init(armed):
    @dataclasses.dataclass
    class Row:
        n: int

        def __post_init__(self):
            armed(self.n)

    return Row


def of_default_factory(armed):
    def number():
        armed(armed.calls)
        armed.calls += 1
        return ""

    @dataclasses.dataclass
    class Row:
        n: int
        note: str = dataclasses.field(default_factory=number)

    return Row


def of_new(armed):
    class Row:
        n: int

        def __new__(cls, n):
            armed(n)
            row = super().__new__(cls)
            row.n = n
            return row

        def __init__(self, n): ...

    return Row


def of_attribute(armed):
    class Checked:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, row, owner=None):
            return getattr(row, self.name) if row is not None else dataclasses.MISSING

        def __set__(self, row, value):
            armed(value)
            setattr(row, self.name, value)

    class Row:
        n: int

        def __init__(self, n):
            self.checked = n
            self.n = n

        checked = Checked()

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


CLASSES = [of_constructor, of_post_init, of_default_factory, of_new, of_attribute, of_enum]


def expected(error):
    """What the caller gets of it: as from a generator (PEP 479)."""
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
    args, kwargs = CALLS["plate_stocks"]
    book = PagedList("plate_stocks", LENGTHS)

    async def use(client):
        pager = client.pager("plate_stocks", *args, **kwargs)
        taken, errors = await rows_and_errors(client, pager.as_type(make(Armed(error))))
        assert [row.n for row in taken] == list(range(75))
        assert [type(each) for each in errors] == [expected(error)] * len(WRONG)
        if expected(error) is not error:
            assert [type(each.__cause__) for each in errors] == [error] * len(WRONG)

    with StandInService(book) as server:
        run(mode, server, use)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)
def test_security_48_records_raise_it_too(make, error):
    args, kwargs = CALLS["plate_stocks"]
    with (
        StandInService(PagedList("plate_stocks", LENGTHS)) as server,
        bl.Client(server.base_url) as client,
    ):
        records = client.plate_stocks(*args, **kwargs).all()
        armed = Armed(error)
        for _ in WRONG:
            armed.calls = 0
            with pytest.raises(expected(error)):
                records.as_type(make(armed))
        armed.calls = 0
        assert [row.n for row in records.as_type(make(armed))] == list(range(75))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
# The signal may also arrive in code that cannot raise, such as the callback of a weak reference.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_security_48_a_signal_handler_does_not_end_a_list_early():
    with bl.Sandbox(seed=7, fills=20_000) as sandbox, sandbox.client() as client:
        records = client.fills_history(sandbox.accounts["trade"][0], "HK").all()
    ended, raised, is_inside = iter([]), 0, False

    def end(*_):
        if is_inside:
            next(ended)

    before = signal.signal(signal.SIGALRM, end)
    try:
        # It arrives in the iteration sooner or later, and often enough on any machine.
        for number in range(200):
            if raised >= 3:
                break
            signal.setitimer(signal.ITIMER_REAL, 0.0005 * (1 + number % 40))
            try:
                try:
                    is_inside = True
                    assert len(list(records)) == len(records)
                finally:
                    is_inside = False
            except RuntimeError as error:
                assert isinstance(error.__cause__, StopIteration)
                raised += 1
            except StopIteration:
                pass  # Before or after the iteration.
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_security_48_interrupts_of_arguments_are_not_errors(error):
    class Keys:
        def __iter__(self):
            raise error

    class Body(dict):
        def items(self):
            raise error

    class Path:
        def __fspath__(self):
            raise error

    with bl.Client("http://127.0.0.1:1") as client:
        for call in (
            lambda: client.fetch_many("dividends", Keys()),
            lambda: client.request("POST", "/path", body=Body(a=1)),
            lambda: bl.ApiKey("key", Path()),
        ):
            with pytest.raises(error):
                call()
