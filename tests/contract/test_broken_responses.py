"""Section 7, undocumented responses: an error of its kind, never a short or wrong list.

`tests/security/` has redirects and the limits of sizes and nesting.
"""

import json

import boardlot as bl
import pytest

from ..support.clients import run
from ..support.service import Response, StandInService, gzipped, response

OK = {"ret_code": 0, "ret_msg": "success"}
RANGE = {"start": 1780000000000000, "end": 1787000000000000}

# One method per envelope, with its arguments and a response that is right.
ENVELOPES = {
    "ipo_list": (["hk"], {}, {**OK, "data": {"list": []}}),
    "sim_orders": (["1"], {}, {"ret_code": 0, "data": {"orders": []}}),
    "crypto_orders": (
        [1],
        {},
        {"code": 0, "msg": "success", "data": {"orders": [], "page_flag": "", "completed": True}},
    ),
    "fills_history": (
        ["1", "HK"],
        RANGE,
        {"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}},
    ),
    "plate_stocks": (
        ["HK.BK1"],
        {},
        {
            "code": 0,
            "data": {"stock_list": []},
            "pagination": {"has_more": False, "next_key": "-1"},
        },
    ),
}
MARK = {"ipo_list": "ret_code", "sim_orders": "ret_code", "fills_history": "s"}
ROWS = {"ipo_list": "list", "fills_history": "order_fills"}
ROWS |= {"crypto_orders": "orders", "sim_orders": "orders"}
envelopes = pytest.mark.parametrize("method", ENVELOPES)


def call(server, method, mode="sync"):
    args, kwargs, _ = ENVELOPES[method]
    return run(mode, server, lambda c: c.everything(method, *args, **kwargs))


def broken(method, only, mode="sync"):
    """The `ProtocolError` of a call that gets this response."""
    with StandInService([only if isinstance(only, Response) else response(only)]) as server:
        with pytest.raises(bl.ProtocolError) as caught:
            call(server, method, mode)
        assert len(server.received) == 1
    assert method in caught.value.endpoint
    assert caught.value.hint.strip()


def good(method):
    return json.loads(json.dumps(ENVELOPES[method][2]))


@envelopes
def test_the_right_responses_of_this_file_are_right(method):
    right = json.dumps(good(method)).encode()
    with StandInService([response(right), gzipped(right)]) as server:
        assert call(server, method) == call(server, method) == []


BODIES = {
    "nothing": b"",
    "HTML": b"<!doctype html><html><body>Sign in to the Wi-Fi</body></html>",
    "null": b"null",
    "a string": b'"ok"',
    "a list with an envelope": b'[{"ret_code":0,"code":0,"s":"ok","data":{}}]',
    "an empty object": b"{}",
    "UTF-16": '{"ret_code":0}'.encode("utf-16"),
}


@envelopes
@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_not_an_envelope_is_a_protocol_error(name, method):
    broken(method, BODIES[name], "async" if name == "HTML" else "sync")


def inner_of(envelope):
    return envelope["d" if "d" in envelope else "data"]


@envelopes
def test_a_success_mark_that_is_missing_or_of_the_wrong_type_is_a_protocol_error(method):
    name = MARK.get(method, "code")
    for mark in ("0", "", True, False, None, [], {}):
        broken(method, {**good(method), name: mark})
    envelope = good(method)
    del envelope[name]
    broken(method, envelope)


@pytest.mark.parametrize("method", ROWS)
@pytest.mark.parametrize(
    "rows", ["missing", {}, "", 0, [1], [None], [[]], [{"code": "1"}, 2]], ids=json.dumps
)
def test_rows_that_are_not_a_list_of_objects_are_a_protocol_error(rows, method):
    envelope = good(method)
    inner_of(envelope)[ROWS[method]] = rows
    if rows == "missing":
        del inner_of(envelope)[ROWS[method]]
    broken(method, envelope)


# The shape of a plate's data is not shown: there only what cannot hold a list is wrong.
@envelopes
def test_data_that_is_not_an_object_is_a_protocol_error(method):
    name = "d" if method == "fills_history" else "data"
    for data in ([], "x", 1)[method == "plate_stocks" :]:
        broken(method, {**good(method), name: data})
    envelope = good(method)
    del envelope[name]
    broken(method, envelope)


@pytest.mark.parametrize("flag", ["true", 1, 0, None, []], ids=json.dumps)
@pytest.mark.parametrize("method", ["crypto_orders", "fills_history", "plate_stocks"])
def test_a_stop_sign_that_is_not_a_bool_is_a_protocol_error(flag, method):
    envelope = good(method)
    if method == "plate_stocks":
        envelope["pagination"]["has_more"] = flag
    else:
        inner_of(envelope)["completed"] = flag
    broken(method, envelope)
