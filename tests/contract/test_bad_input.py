"""Sections 4 and 5.2, what they rule out: refused with a `ConfigError` before anything is sent."""

from datetime import timezone

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.clients import MODES, run
from ..support.service import StandInService, response
from ..support.vectors import table
from ..support.words import raises

UTC = timezone.utc

# (method, arguments, options, the argument that is named). `tests/docs/test_refusals.py` has more
# symbols, accounts and markets, `tests/security/test_hostile_input.py` what may not be in a path.
CALLS = table("bad_input")["calls"]


def label(call):
    method, args, kwargs, argument = call
    return f"{method}-{argument}-{ascii(value_of(args, kwargs, argument))[:24]}"


def value_of(args, kwargs, argument):
    if argument in kwargs:
        return kwargs[argument]
    return args[{"end": 2, "start": 1}.get(argument, 0)]


def refused(method, args, kwargs, mode="sync"):
    """The `ConfigError` of a call; fails where anything reached the server."""
    with StandInService(lambda _: response(b"{}")) as server:
        with pytest.raises(bl.ConfigError) as caught:
            run(mode, server, lambda client: client.everything(method, *args, **kwargs))
        assert server.received == []
    assert isinstance(caught.value, bl.BoardlotError) and isinstance(caught.value, ValueError)
    assert caught.value.hint and caught.value.retryable is False
    return caught.value


def shown(value):
    """The part of a value that an error is to show as it is: long or unprintable ones may vary."""
    text = str(value)
    return text[:8] if text.isascii() and text.isprintable() and "\\" not in text else ""


@pytest.mark.parametrize("call", CALLS, ids=label)
def test_what_the_document_rules_out_is_rejected_by_name_and_value(call):
    method, args, kwargs, argument = call
    text = str(refused(method, args, kwargs))
    assert argument in text
    assert shown(value_of(args, kwargs, argument)) in text
    assert "\n" not in text.strip("\n") and "\x00" not in text and "\r" not in text


class Whole:
    """A whole number as other libraries define it."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        if self.number is None:
            raise TypeError("only a single number can be an index")
        return self.number

    def __str__(self):
        return f"whole {self.number}"


@pytest.mark.parametrize(
    "value", [True, Whole(-1), Whole(2**64), Whole(None), 1.5, b"1", "1", "19691231", object()]
)
@pytest.mark.parametrize("mode", MODES)
def test_an_invalid_time_is_rejected(value, mode):
    assert "start" in str(refused("fills_history", ["1", "HK"], {"start": value}, mode))


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.crypto_orders(1).all(max_items=-1),
        lambda client: client.fetch_many("dividends", ["HK.00700"], concurrency=-1),
        lambda client: client.fetch_many("dividends", "HK.00700"),
        lambda client: client.paginate("DELETE", "/x", paging="next_key", rows="data"),
        lambda _: bl.Client("https://api.example.com", proxy=5),
        lambda _: bl.Client("https://api.example.com", proxy="nonsense"),
    ],
)
def test_an_invalid_option_is_rejected(call):
    with StandInService() as server, bl.Client(server.base_url) as client:
        with pytest.raises(bl.ConfigError):
            call(client)
        assert server.received == []


@pytest.mark.parametrize("option", ["base_url", "ws_quote_url", "ws_trade_url"])
@pytest.mark.parametrize(("rest", "expected"), table("bad_input")["addresses"])
def test_an_address_says_what_is_wrong_with_it(option, rest, expected):
    scheme = "https" if option == "base_url" else "wss"
    address = {"base_url": "https://api.example.com", option: scheme + rest}
    with pytest.raises(bl.ConfigError, match=f"{option} is .*; expected .*{expected}") as caught:
        bl.Client(**address)
    assert "u:p" not in str(caught.value) and "y=1" not in str(caught.value)


@pytest.mark.parametrize("host", ["sandbox", "192.168.1.5", "api.example.com", "[fe80::1]"])
@pytest.mark.parametrize("option", ["base_url", "ws_quote_url"])
def test_no_other_address_is_guessed_for_a_port_that_does_not_encrypt(option, host):
    plain, secure = ("http", "https") if option == "base_url" else ("ws", "wss")
    url = f"{plain}://{host}:8080"
    with pytest.raises(bl.ConfigError) as caught:
        bl.Client(**{"base_url": "https://api.example.com", option: url})
    assert str(caught.value).startswith(f"{option} is '{url}'; expected a")
    assert f" {secure}:// URL ({plain}:// is only for a loopback address" in str(caught.value)
    assert "did you mean" not in str(caught.value)


def test_an_address_that_is_not_encrypted_is_for_this_machine_alone():
    with bl.Client("https://api.example.com", ws_quote_url="ws://127.0.0.1:8080/quote"):
        pass
    with raises(
        bl.ConfigError,
        snapshot(
            "ws_trade_url is 'ws://api.example.com'; expected a wss:// URL (ws:// is only for"
            " a loopback address such as ws://127.0.0.1:8080); did you mean "
            "'wss://api.example.com'?"
        ),
    ):
        bl.Client("https://api.example.com", ws_trade_url="ws://api.example.com")
    with raises(
        bl.ConfigError, snapshot("ws_quote_url is 'https://api.example.com'; expected a wss:// URL")
    ):
        bl.Client("https://api.example.com", ws_quote_url="https://api.example.com")
