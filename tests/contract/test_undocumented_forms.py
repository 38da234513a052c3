"""What the document does not rule out is read: other spellings, and forms that it does not show."""

import codecs
import json

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..records.parsed import parser
from ..support.paged_service import page
from ..support.service import StandInService, response
from ..support.vectors import table
from ..support.words import raises

TIME = 1_780_000_000_123
RANGE = {"start": 1_780_000_000_000_000, "end": 1_787_000_000_000_000}
FORMS = table("forms")
LISTS = FORMS["lists"]
DAYS = ("trading_days", *LISTS["trading_days"][2])


def body_of(method, rows):
    mark, place, _ = LISTS[method]
    *parents, last = place.split(".")
    inner = {last: rows, "page_flag": "", "completed": True}
    body = {**mark, **({parents[0]: inner} if parents else inner)}
    if method == "plate_stocks":
        body["pagination"] = {"has_more": False, "next_key": "-1"}
    return body


def read(raw, method, *arguments, **named):
    with StandInService([response(raw)]) as server, bl.Client(server.base_url) as client:
        result = getattr(client, method)(*arguments, **named)
        return result.all() if isinstance(result, bl.Pager) else result


def named(method):
    return RANGE if method == "fills_history" else {}


@pytest.mark.parametrize("method", LISTS)
def test_a_list_that_is_null_is_empty(method):
    records = read(body_of(method, None), method, *LISTS[method][2], **named(method))
    assert records == [] and records.to_arrow().num_rows == 0


@pytest.mark.parametrize("method", LISTS)
def test_a_byte_order_mark_changes_nothing(method):
    raw = codecs.BOM_UTF8 + json.dumps(body_of(method, [{"code": "é"}])).encode()
    assert read(raw, method, *LISTS[method][2], **named(method)) == [{"code": "é"}]


def test_a_byte_order_mark_changes_neither_the_clock_nor_a_custom_response():
    raw = codecs.BOM_UTF8 + b'{"server_time_ms":"%d"}' % TIME
    assert int(read(raw, "server_time").timestamp() * 1000) == TIME
    assert read(raw, "request", "GET", "/x").json() == {"server_time_ms": str(TIME)}


@pytest.mark.parametrize("time", [f"{TIME}", f'"{TIME}"', f"{TIME}.0", f'"{TIME}.000"'])
def test_the_clock_may_be_a_number(time):
    raw = f'{{"server_time_ms":{time}}}'.encode()
    assert int(read(raw, "server_time").timestamp() * 1000) == TIME


@pytest.mark.parametrize("cursor", [7, 12345678901234567890123, "7"])
def test_a_cursor_may_be_a_number_and_is_sent_back_unchanged(cursor):
    pages = [
        page("fills_history", [{"deal_id": "1"}], cursor),
        page("fills_history", [{"deal_id": "2"}], None),
    ]
    with StandInService(pages) as server, bl.Client(server.base_url) as client:
        fills = client.fills_history("1", "HK", **RANGE).all()
        assert [fill["deal_id"] for fill in fills] == ["1", "2"]
        assert f"page_flag={cursor}&" in server.received[1].target + "&"


# At each place of a response, what is of another type than the document's.
@pytest.mark.parametrize("method", FORMS["places"])
def test_what_is_missing_or_of_another_type_is_an_error_and_never_a_short_list(method):
    for kind, place in FORMS["places"][method].items():
        for wrong in ["missing", *FORMS["wrong"][kind]]:
            body = inner = body_of(method, [])
            *parents, last = place.split(".")
            for parent in parents:
                inner = inner[parent]
            del inner[last]
            if wrong != "missing":
                inner[last] = wrong
            with pytest.raises(bl.ProtocolError) as caught:
                read(body, method, *LISTS[method][2], **named(method))
            assert method in caught.value.endpoint and caught.value.hint.strip(), (place, wrong)


SURROGATES = [(r"\ud800", "\ufffd"), (r"a\uDC00b", "a\ufffdb"), (r"\ud800\ud83d\ude00", "\ufffd😀")]


@pytest.mark.parametrize("sent, text", SURROGATES)
@pytest.mark.parametrize("method", ["ipo_list", "plate_stocks", "trading_days"])
def test_a_lone_surrogate_is_replaced_in_its_text_alone(method, sent, text):
    raw = json.dumps(body_of(method, [{"name": "@"}, {"name": "x"}])).replace("@", sent)
    records = read(raw.encode(), method, *LISTS[method][2])
    assert records == [{"name": text}, {"name": "x"}]
    assert records.to_arrow()["name"].to_pylist() == [text, "x"]


@pytest.mark.parametrize(
    "sent, number",
    [("5.0", 5), ("5e0", 5), ('"5.00"', 5), ("1.5e1", 15), ("50e-1", 5), ("0.0", 0), ("-0.0", 0)],
)
def test_a_whole_number_is_whole_however_it_is_written(sent, number):
    raw = f'{{"ret_code":0,"data":{{"list":[{{"lot_size":{sent},"other":{sent}}}]}}}}'.encode()
    records = read(raw, "ipo_list", "hk")
    lots = records.to_arrow()["lot_size"]
    assert str(lots.type) == "int64" and lots.to_pylist() == [number]
    typed = records.to_dicts(typed=True)[0]["lot_size"]
    assert typed == number and type(typed) is int
    # Nothing is known of the other: it stays as it was sent.
    assert records[0]["other"] == json.loads(sent) and records[0]["lot_size"] == json.loads(sent)
    assert type(records[0]["other"]) is type(json.loads(sent))


DATES = ["2026-01-02", "2026-01-05"]
OBJECTS = [{"time": day, "type": 1} for day in DATES]


@pytest.mark.parametrize("days", [DATES, OBJECTS, [], [20260102, None, OBJECTS[0]]])
@pytest.mark.parametrize(
    "form",
    [
        lambda days: days,
        lambda days: {"ret_code": 0, "ret_msg": "success", "data": days},
        lambda days: {"ret_code": 0, "data": {"days": days}, "warnings": ["x"]},
        lambda days: {"code": 0, "data": {"trading_day_list": days, "count": 2}},
        lambda days: {"s": "ok", "d": {"days": days}},
        lambda days: {"ret_code": 0, "HK": days, "message": "fine"},
    ],
)
def test_a_list_or_an_envelope_with_its_mark_has_the_trading_days(form, days):
    records = read(form(days), *DAYS)
    names = {str: "date", int: "value", type(None): "value"}
    expected = [day if isinstance(day, dict) else {names[type(day)]: day} for day in days]
    assert records == expected and list(records) == expected
    assert records.to_arrow().num_rows == len(days)
    if days == DATES:
        assert records.to_arrow()["date"].to_pylist() == DATES


@pytest.mark.parametrize(
    "wrong, error",
    [
        ({"ret_code": -3, "ret_msg": "no", "error": {"code": "invalid_parameter"}}, bl.ApiError),
        ({"code": 5, "msg": "no", "data": DATES}, bl.ApiError),
        ({"s": "error", "errcode": -1200, "errmsg": "no"}, bl.ApiError),
        ({"data": DATES}, bl.ProtocolError),
        ({"HK": DATES}, bl.ProtocolError),
        ({"ret_code": 0, "a": DATES, "b": DATES}, bl.ProtocolError),
        ({"ret_code": 0, "data": {}}, bl.ProtocolError),
        ({"ret_code": 0, "data": {"HK": {"list": DATES}}}, bl.ProtocolError),
        ({"errors": [{"message": "boom"}]}, bl.ProtocolError),
        ({"message": "bad market", "path": ["trading-days"]}, bl.ProtocolError),
        ({"ret_code": 0, "data": None, "warnings": ["x"]}, bl.ProtocolError),
        ({"ret_code": 0, "data": [], "error_code": "E1"}, bl.ProtocolError),
        (["no such market"], bl.ProtocolError),
        ("2026-01-02", bl.ProtocolError),
        (b"<html>", bl.ProtocolError),
        (b'["2026-01-02"', bl.ProtocolError),
        (b"[" * 100_000, bl.ProtocolError),
    ],
)
def test_a_failure_and_what_has_not_one_list_are_no_trading_days(wrong, error):
    raw = wrong if isinstance(wrong, bytes) else json.dumps(wrong).encode()
    with pytest.raises(error) as caught:
        read(raw, *DAYS)
    if error is bl.ProtocolError:
        assert "client.request" in caught.value.hint


def test_the_constituents_of_a_plate_may_be_codes():
    body = body_of("plate_stocks", {"page": {"codes": ["HK.00700", "HK.00005"]}})
    assert read(body, "plate_stocks", "HK.BK1") == [{"value": "HK.00700"}, {"value": "HK.00005"}]
    parse = parser("sim_orders", [("acc_id", "1")])
    with raises(
        bl.ProtocolError,
        snapshot(
            'record 0 is not a JSON object; it begins with \'{"ret_code": 0, "data": '
            '{"orders": [1], "page_flag": "", "completed": true}}\''
        ),
    ):
        parse(json.dumps(body_of("sim_orders", [1])).encode())


def test_pagination_is_read_at_the_top_of_a_response_alone():
    """2.4: outside `data`. What is within is a member like others."""
    inner = {"has_more": True, "next_key": "2", "total": 9}
    page = {"code": 0, "data": {"stock_list": [{"code": "HK.1"}], "pagination": inner}}
    with StandInService(lambda _: response(page)) as server, bl.Client(server.base_url) as client:
        with pytest.raises(bl.ProtocolError, match="has_more"):
            client.plate_stocks("HK.BK1").all()
        assert len(server.received) == 1
    page["pagination"] = {"has_more": False, "next_key": "-1"}
    with StandInService(lambda _: response(page)) as server, bl.Client(server.base_url) as client:
        (records,) = client.plate_stocks("HK.BK1").pages()
        assert (len(records), records.meta["pagination"]) == (1, page["pagination"])


MORE = [
    {"pagination": {"has_more": True, "next_key": "k"}},
    {"completed": False, "page_flag": "f"},
    {"data": {"completed": False}},
    {"data": {"pagination": {"has_more": True}}},
]
THINGS = bl.Endpoint("things", "GET", "/api/v1.0/{symbol}/things", rows="data.list")


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize(
    "method", [*(name for name in LISTS if "ret_code" in LISTS[name][0]), "call"]
)
def test_a_response_that_says_that_there_is_more_is_never_the_whole_list(method, more):
    place = "data.list" if method == "call" else LISTS[method][1]
    if method == "trading_days":
        place = "data.days"
    inner = {place.split(".")[1]: [{"code": "1"}], **more.get("data", {})}
    body = {"ret_code": 0, **{name: more[name] for name in more if name != "data"}, "data": inner}
    calls = [lambda client: getattr(client, method)(*LISTS[method][2])]
    if method == "call":
        calls = [
            lambda client: client.call(THINGS, symbol="HK.1"),
            lambda client: client.fetch_many(THINGS, ["HK.1", "HK.2"]),
        ]
    for call in calls:
        refused = pytest.raises(bl.PaginationError)
        served = StandInService(lambda _, body=body: response(body))
        with served as server, bl.Client(server.base_url) as client, refused as caught:
            call(client)
        assert "more records follow" in str(caught.value)
        assert "client.paginate(" in caught.value.hint
        assert not caught.value.retryable
