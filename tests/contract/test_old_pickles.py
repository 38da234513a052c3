"""Pickles that an earlier version wrote: `tests/vectors/pickles.json` has those of commit 7d3fd3dc,
by protocol, of the objects that are made here."""

import base64
import json
import pickle
from pathlib import Path

import boardlot as bl
import pytest

FILE = Path(__file__).parents[1] / "vectors" / "pickles.json"
VECTORS = json.loads(FILE.read_text("utf-8"))
URL = "https://api.example.com"
PROFILE = """
[profiles.desk]
base_url = "https://desk.example.com"
rate_limit = 4.0
read_only = true
"""


class Desk(bl.Client):
    """A subclass without a constructor of its own."""


OBJECTS = {
    "client": lambda: bl.Client(URL),
    "client with options": lambda: bl.Client(
        URL, timeout=12.5, connect_timeout=2, max_retries=0, max_connections=7, max_body_bytes=999,
        headers={"User-Agent": "desk"}, ws_quote_url="wss://quote.example.com",
        ws_trade_url="wss://trade.example.com", proxy="http://proxy.example.com:3128",
        read_only=True,
    ),
    "client with defaults": lambda: bl.Client(URL, timeout=30.0, max_retries=2, auth=None),
    "client with a rate": lambda: bl.Client(URL, rate_limit=2.5),
    "client with a limit": lambda: bl.Client(URL, rate_limit=bl.RateLimit(5, burst=2, name="desk")),
    "client with hooks": lambda: bl.Client(URL, on_request=print, on_response=repr),
    "client of a profile": lambda: bl.Client(profile="desk"),
    "async client": lambda: bl.AsyncClient(URL, timeout=1, rate_limit=bl.RateLimit(3)),
    "async client of a profile": lambda: bl.AsyncClient(profile="desk", max_retries=5),
    "subclass": lambda: Desk(URL, timeout=3.0),
    "limit": lambda: bl.RateLimit(5, burst=2, name="desk"),
    "range of dates": lambda: bl.DateRange("until", next="data.next", unique="id"),
    "endpoint": lambda: bl.Endpoint(
        "klines", "GET", "/api/v1.0/quote/{symbol}/history-kline", rows="data.kline_list",
        record={"time": "date", "close": "decimal"}, arguments={"symbol": "text"},
        paging=bl.DateRange("end", before="time"),
    ),
    "application": lambda: bl.OAuthApp(
        URL, "client-1", redirect_uri="https://app.example.com/callback",
        store=bl.KeyringStore(), timeout=12.5, proxy="http://proxy.example.com:3128",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def profile(config):
    config.parent.mkdir(parents=True)
    config.write_text(PROFILE, "utf-8")


def content(thing):
    """The class of an object, and what a pickle of it has."""
    _, arguments, *_ = thing.__reduce_ex__(2)
    return type(thing), [shown(one) for one in arguments]


def shown(value):
    if isinstance(value, dict):
        return {name: shown(one) for name, one in value.items() if one is not None}
    if isinstance(value, bl.KeyringStore):
        return repr(value)
    return content(value) if isinstance(value, (bl.RateLimit, bl.DateRange)) else value


@pytest.mark.parametrize("protocol", ["2", "3", "4", "5"])
@pytest.mark.parametrize("name", OBJECTS)
def test_an_old_pickle_is_loaded_as_the_object_that_it_was(name, protocol):
    loaded = pickle.loads(base64.b64decode(VECTORS[name][protocol]))
    assert content(loaded) == content(OBJECTS[name]())
    assert repr(loaded) == repr(OBJECTS[name]())


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("name", OBJECTS)
def test_a_pickle_is_loaded_as_the_object_that_it_was(name, protocol):
    made = OBJECTS[name]()
    assert content(pickle.loads(pickle.dumps(made, protocol))) == content(made)
