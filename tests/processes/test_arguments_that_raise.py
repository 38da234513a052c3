"""Methods of the caller's objects, such as `__index__`, run while arguments are read and compared.
What they raise reaches the caller: an interrupt as it is, and `StopIteration` as an error, so that
it does not end an iteration in which the call is made (PEP 479)."""

import boardlot as bl
import pytest

from ..support.entries import Workplace, entries

CONVERTING = ["__index__", "__int__", "__float__", "__bool__", "__str__", "__repr__", "__bytes__"]
CONTAINING = ["__len__", "__iter__", "__next__", "__getitem__", "__contains__", "keys", "items"]
READING = [*CONVERTING, *CONTAINING, "__fspath__", "__hash__"]
COMPARING = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
ADDRESS = "http://127.0.0.1:1"
STOPS = [StopIteration, StopAsyncIteration]


def raising(error, names):
    """An object whose methods of these names raise, and the names of those that were called."""
    called = []

    def method(name):
        def run(*_arguments, **_named):
            called.append(name)
            raise error

        return run

    return type("Raising", (), {name: method(name) for name in names})(), called


def objects(error):
    """Each method alone, as others are only called if the first is not there."""
    return (raising(error, names) for names in [*zip(READING), READING])


CONSTRUCTORS = {
    "ApiKey": lambda it: bl.ApiKey("key", it),
    "BearerToken": bl.BearerToken,
    "DateRange": bl.DateRange,
    "EncryptedFileStore": lambda it: bl.EncryptedFileStore(it, "words"),
    "Endpoint arguments": lambda it: bl.Endpoint("x", "GET", "/x", arguments=it),
    "Endpoint record": lambda it: bl.Endpoint("x", "GET", "/x", rows="data", record=it),
    "Faults": lambda it: bl.Faults(latency=it, seed=it),
    "OAuth": lambda it: bl.OAuth(it, store=bl.MemoryStore()),
    "RateLimit": lambda it: bl.RateLimit(1, burst=it),
    "Recorder": bl.Recorder,
    "Replay": bl.Replay,
    "Sandbox": lambda it: bl.Sandbox(seed=it),
    "generate_key": lambda it: bl.generate_key("RSA-SHA256", bits=it),
    "register_client": lambda it: bl.register_client(ADDRESS, redirect_uris=it),
    "signature_payload": lambda it: bl.signature_payload(it, "GET", "/"),
    **{
        f"Client {option}": lambda it, option=option: bl.Client(ADDRESS, **{option: it})
        for option in ("ca_file", "headers", "max_retries", "rate_limit", "timeout")
    },
}


@pytest.fixture(scope="module")
def workplace():
    with Workplace() as workplace:
        yield workplace


@pytest.fixture(scope="module")
def calls(workplace):
    """Functions that call an entry with one of its arguments replaced."""
    fills = workplace.fills
    found = {
        **CONSTRUCTORS,
        "Pager.all max_items": lambda it: fills().all(max_items=it),
        "Pager.all max_pages": lambda it: fills().all(max_pages=it),
        "fills_history start": lambda it: workplace.client.fills_history("281756", "HK", start=it),
        "fills_history windows": lambda it: workplace.client.fills_history(
            "281756", "HK", windows=it
        ),
        "paginate": lambda it: workplace.client.paginate("GET", "/x", paging=it, rows="data"),
    }
    for entry in entries():
        positional, named = workplace.arguments(entry)
        kind, _, name = entry.partition(".")
        # Methods that only the package calls get no objects of the caller's instead of lists.
        if name.startswith("_") and not name.startswith("__"):
            continue
        for index in range(len(positional) if name and not entry.endswith("()") else 0):

            def call(it, kind=kind, name=name, positional=positional, named=named, index=index):
                method = getattr(workplace.instance(kind), name)
                return method(*positional[:index], it, *positional[index + 1 :], **named)

            # The interpreter asks the other object itself if ours cannot be compared with it.
            if name not in COMPARING:
                found[f"{entry} {index}"] = call
    return found


def outcomes(calls, error):
    """For each call whose argument was asked for something: its name, and the class it raised."""
    for name, call in calls.items():
        for it, called in objects(error("invented")):
            try:
                call(it)
            except BaseException as raised:
                if called:
                    yield name, type(raised)


@pytest.mark.parametrize("error", [*STOPS, KeyboardInterrupt, SystemExit])
def test_security_48_an_argument_that_raises_ends_no_iteration_and_an_interrupt_is_raised(
    calls, error
):
    found = list(outcomes(calls, error))
    raised = {kind for _, kind in found}
    assert not raised & {*STOPS} if error in STOPS else raised == {error}, found
    assert len(found) > len(CONSTRUCTORS)


@pytest.mark.parametrize("error", STOPS)
def test_security_48_records_that_are_compared_with_what_raises_do_not_end_an_iteration(
    workplace, error
):
    records = workplace.records
    it, called = raising(error("invented"), COMPARING)
    for compare in (
        lambda: it in records,
        lambda: records.index(it),
        lambda: records.count(it),
        lambda: records == [it] * len(records),
    ):
        called.clear()
        with pytest.raises(RuntimeError):
            compare()
        assert called
