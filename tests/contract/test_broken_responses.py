"""Section 7, undocumented responses: an error of its kind, never a short or wrong list."""

import gzip
import json
import time

import boardlot as bl
import pytest

from ..support.clients import MODES, run
from ..support.service import Response, StandInService, gzipped, response

OK = {"ret_code": 0, "ret_msg": "success"}
RANGE = {"start": 1780000000000000, "end": 1787000000000000}
DEEP = "[" * 100_000 + "]" * 100_000

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
modes = pytest.mark.parametrize("mode", MODES)


def call(mode, server, method, **options):
    args, kwargs, _ = ENVELOPES[method]
    return run(mode, server, lambda c: c.everything(method, *args, **kwargs), **options)


def broken(mode, method, script, **options):
    """The `ProtocolError` of a call that gets these responses."""
    with StandInService(script) as server:
        with pytest.raises(bl.ProtocolError) as caught:
            call(mode, server, method, **options)
        assert len(server.received) == 1
    assert method in caught.value.endpoint
    assert caught.value.hint.strip()
    return caught.value


def good(method):
    return json.loads(json.dumps(ENVELOPES[method][2]))


@envelopes
@modes
def test_the_right_responses_of_this_file_are_right(method, mode):
    with StandInService([response(good(method))]) as server:
        assert call(mode, server, method) == []


BODIES = {
    "nothing": b"",
    "white space": b" \n",
    "HTML": b"<!doctype html><html><body>Sign in to the Wi-Fi</body></html>",
    "text": b"OK",
    "null": b"null",
    "a number": b"0",
    "a string": b'"ok"',
    "a list": b"[]",
    "a list with an envelope": b'[{"ret_code":0,"code":0,"s":"ok","data":{}}]',
    "an empty object": b"{}",
    "deep nesting at the top": DEEP.encode(),
    "a half of deep nesting": b"[" * 100_000,
    "objects nested deep": b'{"a":' * 100_000,
    "UTF-16": '{"ret_code":0}'.encode("utf-16"),
}


@envelopes
@modes
@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_not_an_envelope_is_a_protocol_error(name, method, mode):
    broken(mode, method, [response(BODIES[name])])


@envelopes
def test_html_is_a_protocol_error_whatever_its_content_type(method):
    page = response(BODIES["HTML"], headers={"Content-Type": "text/html; charset=utf-8"})
    broken("sync", method, [page])


@envelopes
def test_json_that_is_cut_off_anywhere_is_a_protocol_error(method):
    whole = json.dumps(good(method)).encode()
    for length in range(1, len(whole), 7):
        broken("sync", method, [response(whole[:length])])


@envelopes
def test_json_with_something_after_it_is_a_protocol_error(method):
    broken("sync", method, [response(json.dumps(good(method)) + "}")])
    broken("sync", method, [response(json.dumps(good(method)) * 2)])


@modes
@pytest.mark.parametrize("method", ROWS)
@pytest.mark.parametrize(
    "value",
    [b"NaN", b"Infinity", b"-Infinity", b'"\xff"', b'"\xc3"', b'"\\ud800"x', b"01", b"+1", b"1."]
    + [b".5", b"0x1", b"'a'", b"True", b"nul", b'"a\nb"', b'"\\x41"', b"1,", DEEP.encode()],
    ids=lambda value: ascii(value[:12]),
)
def test_a_value_that_is_not_json_is_a_protocol_error(value, method, mode):
    envelope = good(method)
    inner = "d" if method == "fills_history" else "data"
    envelope[inner][ROWS[method]] = [{"code": "HK.00700", "price": "@"}]
    body = json.dumps(envelope).encode().replace(b'"@"', value)
    broken(mode, method, [response(body)])


@modes
@pytest.mark.parametrize(
    ("method", "mark"),
    [(method, mark) for method in ENVELOPES for mark in ("0", "", True, False, None, [], {})],
)
def test_a_success_mark_of_the_wrong_type_is_a_protocol_error(method, mark, mode):
    broken(mode, method, [response({**good(method), MARK.get(method, "code"): mark})])


@envelopes
@modes
def test_a_missing_success_mark_is_a_protocol_error(method, mode):
    envelope = good(method)
    del envelope[MARK.get(method, "code")]
    broken(mode, method, [response(envelope)])


@modes
@pytest.mark.parametrize("method", ROWS)
@pytest.mark.parametrize(
    "rows",
    ["missing", None, {}, "", 0, [1], ["a"], [None], [[]], [{"code": "1"}, 2]],
    ids=lambda rows: json.dumps(rows),
)
def test_rows_that_are_not_a_list_of_objects_are_a_protocol_error(rows, method, mode):
    envelope = good(method)
    inner = envelope["d" if method == "fills_history" else "data"]
    if rows == "missing":
        del inner[ROWS[method]]
    else:
        inner[ROWS[method]] = rows
    broken(mode, method, [response(envelope)])


# The shape of a plate's data is not shown: there only what cannot hold a list is wrong.
@modes
@pytest.mark.parametrize(
    ("method", "data"),
    [
        (method, data)
        for method in ENVELOPES
        for data in ("missing", None, [], "x", 1)
        if (method, data) != ("plate_stocks", [])
    ],
    ids=json.dumps,
)
def test_data_that_is_not_an_object_is_a_protocol_error(method, data, mode):
    envelope = good(method)
    name = "d" if method == "fills_history" else "data"
    if data == "missing":
        del envelope[name]
    else:
        envelope[name] = data
    broken(mode, method, [response(envelope)])


@modes
@pytest.mark.parametrize("flag", ["true", 1, 0, None, "false", []], ids=lambda f: json.dumps(f))
@pytest.mark.parametrize("method", ["crypto_orders", "fills_history", "plate_stocks"])
def test_a_stop_sign_that_is_not_a_bool_is_a_protocol_error(flag, method, mode):
    envelope = good(method)
    if method == "plate_stocks":
        envelope["pagination"]["has_more"] = flag
    else:
        envelope["d" if method == "fills_history" else "data"]["completed"] = flag
    broken(mode, method, [response(envelope)])


@modes
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@envelopes
def test_a_redirect_is_never_followed(method, status, mode):
    with StandInService(lambda _: response(good(method))) as second:
        for target in (second.base_url + "/elsewhere", "/elsewhere", "//" + second.base_url[7:]):
            broken(mode, method, [response(b"", status, {"Location": target})])
        assert second.received == []


@modes
def test_a_redirect_of_the_raw_request_is_never_followed(mode):
    with StandInService(lambda _: response(b"{}")) as second:
        hop = response(b"", 307, {"Location": second.base_url + "/x"})
        with StandInService([hop]) as server:
            with pytest.raises(bl.ProtocolError):
                run(mode, server, lambda c: c.call("request", "POST", "/p", body={"a": 1}))
            assert len(server.received) == 1
        assert second.received == []


def big(size):
    return json.dumps({**OK, "data": {"list": [{"name": "x" * size}]}}).encode()


@modes
@pytest.mark.parametrize(
    "make",
    [
        lambda: response(big(100_000)),
        lambda: response(chunks=[big(100_000)]),
        lambda: gzipped(big(100_000)),
    ],
    ids=["with a length", "chunked", "gzip"],
)
def test_a_body_beyond_the_limit_is_a_protocol_error(make, mode):
    error = broken(mode, "ipo_list", [make()], max_body_bytes=65_536)
    assert "65536" in str(error).replace(",", "").replace("_", "") or "max_body_bytes" in (
        f"{error} {error.hint}"
    )
    with StandInService([make()]) as server:
        rows = call(mode, server, "ipo_list", max_body_bytes=200_000)
    assert rows == [{"name": "x" * 100_000}]


def test_a_gzip_bomb_is_cut_short():
    bomb = Response(200, gzip.compress(bytes(200_000_000)), {"Content-Encoding": "gzip"})
    start = time.monotonic()
    broken("sync", "ipo_list", [bomb])
    assert time.monotonic() - start < 30


@envelopes
@modes
def test_a_gzip_response_is_read(method, mode):
    with StandInService([gzipped(json.dumps(good(method)).encode())]) as server:
        assert call(mode, server, method) == []


def test_a_gzip_response_that_is_broken_or_doubled_is_not_a_result():
    raw = json.dumps(good("ipo_list")).encode()
    cut = Response(200, gzip.compress(raw)[:-9], {"Content-Encoding": "gzip"})
    for one in (gzipped(raw, 2), cut, Response(200, raw, {"Content-Encoding": "gzip"})):
        with StandInService([one]) as server:
            with pytest.raises((bl.ProtocolError, bl.TransportError)):
                call("sync", server, "ipo_list")
            assert len(server.received) == 1


@modes
def test_chunks_that_split_characters_make_no_difference(mode):
    raw = json.dumps(
        {**OK, "data": {"list": [{"name": "騰訊控股 📈"}]}}, ensure_ascii=False
    ).encode()
    pieces = [raw[i : i + 1] for i in range(len(raw))]
    with StandInService([response(chunks=pieces)]) as server:
        assert call(mode, server, "ipo_list") == [{"name": "騰訊控股 📈"}]
