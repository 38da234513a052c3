"""Code that a refresh waits for, such as a hook, calls a client of the same login."""

import contextlib
import logging
import threading

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.stores import DictStore


@pytest.mark.parametrize("place", ["on_request", "on_response", "log handler", "store"])
def test_security_38_a_call_while_a_refresh_is_under_way_returns_at_once(
    server, place, caplog, monkeypatch
):
    """The call has the token in use, or an error."""
    outcomes, armed = [], threading.Event()

    def call(_event=None):
        if armed.is_set():
            armed.clear()
            with contextlib.suppress(bl.BoardlotError):
                quotes(client)
            outcomes.append("ended")

    def load(store, key, load=DictStore.load):
        call()
        return load(store, key)

    if place == "log handler":
        caplog.set_level(logging.DEBUG, "boardlot.http")
        # It holds its own lock meanwhile, as handlers do.
        monkeypatch.setattr(caplog.handler, "emit", call)
    if place == "store":
        monkeypatch.setattr(DictStore, "load", load)
    options = {place: call} if place.startswith("on_") else {}
    client = client_of(server, sign_in(server, store=DictStore()), timeout=60.0, **options)
    quotes(client)
    server.expire()
    armed.set()
    quotes(client)
    assert outcomes == ["ended"]
    assert server.counts["refresh_token"] == 1
