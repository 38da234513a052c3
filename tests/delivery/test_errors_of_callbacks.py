"""Whatever a hook, a log handler or a store raises: the call has its result or a StoreError."""

import asyncio
import logging
import sys

import boardlot as bl
import pytest

from ..support.clients import MODES, run
from ..support.service import StandInService, response
from .test_errors_of_callers_code import RAISED

DIVIDENDS = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})


@pytest.fixture
def reported(monkeypatch):
    """The exceptions that were reported to `sys.unraisablehook`."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_value))
    return seen


@pytest.fixture
def server():
    with StandInService(lambda _received: DIVIDENDS) as server:
        yield server


def raising(error):
    def callback(*_):
        raise error("from the caller's code")

    return callback


def origins(errors):
    """The exceptions of the caller's code: themselves, or as the cause of a RuntimeError."""
    return [type(error.__cause__ or error) for error in errors]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("hook", ["on_request", "on_response"])
@pytest.mark.parametrize("mode", MODES)
def test_a_hook_that_raises_is_reported_and_the_call_has_its_result(
    server, reported, mode, hook, error
):
    async def use(client):
        return [len(await client.call("dividends", "HK.00700")) for _ in range(3)]

    assert run(mode, server, use, **{hook: raising(error)}) == [0, 0, 0]
    assert origins(reported) == [error] * 3


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("mode", MODES)
def test_a_log_handler_that_raises_is_reported_and_the_call_has_its_result(
    server, reported, mode, error, caplog, monkeypatch
):
    async def use(client):
        return len(await client.call("dividends", "HK.00700"))

    caplog.set_level(logging.DEBUG, "boardlot.http")
    monkeypatch.setattr(caplog.handler, "emit", raising(error))
    assert run(mode, server, use) == 0
    assert origins(reported) == [error]


class Store:
    def __init__(self, method, error):
        setattr(self, method, raising(error))

    def load(self, key): ...

    def save(self, key, value): ...

    def delete(self, key): ...


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
@pytest.mark.parametrize("mode", MODES)
def test_a_token_store_that_raises_is_a_store_error(server, mode, error):
    # The error of a mapping without the key means that there are no tokens.
    expected = bl.LoginRequired if issubclass(error, KeyError) else bl.StoreError
    auth = bl.OAuth("client", store=Store("load", error))

    async def use(client):
        with pytest.raises(expected, match="load raised"):
            await client.call("dividends", "HK.00700")

    run(mode, server, use, auth=auth)
    assert server.received == []


@pytest.mark.parametrize("error", [StopIteration, KeyboardInterrupt, LookupError])
def test_a_callable_for_a_passphrase_that_raises_is_a_store_error(tmp_path, error):
    store = bl.EncryptedFileStore(tmp_path / "tokens", "words")
    store.save("http://127.0.0.1 client", b"tokens")
    asked = bl.EncryptedFileStore(tmp_path / "tokens", raising(error))

    async def call():
        async with bl.AsyncClient(
            "http://127.0.0.1:1", auth=bl.OAuth("client", store=asked)
        ) as client:
            await client.dividends("HK.00700")

    with pytest.raises(bl.StoreError, match="raised"):
        asyncio.run(call())
