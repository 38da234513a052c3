"""Methods of the caller's objects, such as `__index__`, run while arguments are read and compared.
What they raise reaches the caller: an interrupt as it is, and `StopIteration` as an error, so that
it does not end an iteration in which the call is made (PEP 479)."""

import boardlot as bl
import pytest

CONVERTING = ["__index__", "__int__", "__float__", "__bool__", "__str__", "__repr__", "__bytes__"]
CONTAINING = ["__len__", "__iter__", "__next__", "__getitem__", "__contains__", "keys", "items"]
READING = [*CONVERTING, *CONTAINING, "__fspath__", "__hash__"]
FILLS = "281756", "HK"
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
def calls():
    """Functions that call with an object in place of an argument."""
    with bl.Sandbox(seed=7, fills=60) as sandbox, sandbox.client() as client:
        yield {
            **CONSTRUCTORS,
            "Pager.all max_items": lambda it: client.fills_history(*FILLS).all(max_items=it),
            "Pager.all max_pages": lambda it: client.fills_history(*FILLS).all(max_pages=it),
            "fills_history start": lambda it: client.fills_history(*FILLS, start=it),
            "fills_history windows": lambda it: client.fills_history(*FILLS, windows=it),
            "fills_history page_size": lambda it: client.fills_history(*FILLS, page_size=it),
            "fetch_many keys": lambda it: client.fetch_many("dividends", it),
            "request query": lambda it: client.request("GET", "/x", query={"a": it}),
            "request body": lambda it: client.request("POST", "/x", body={"a": it}),
            "Sandbox.put": lambda it: sandbox.put("dividends", it, symbol="HK.00700"),
            "Sandbox.fail_next": lambda it: sandbox.fail_next(times=it),
            "authorize_demo_user": lambda it: sandbox.authorize_demo_user("/", it),
        }


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
