"""Traffic on file: recorded without a secret, and played back with no network."""

import contextlib
import json
import os
import pickle
import sys
from pathlib import Path

import boardlot as bl
import pytest

from ..support.applications import outcome
from ..support.clients import client_of
from ..support.processes import program, run_python
from ..support.service import Response, StandInService

CANARY = "canary-token-5b1f"


@pytest.fixture
def sandbox():
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


@pytest.fixture
def path(tmp_path):
    return tmp_path / "traffic.jsonl"


def everything(client, accounts):
    """A call of each kind."""
    return [
        client.server_time(),
        list(client.dividends("HK.00700")),
        list(client.ipo_list("my")),
        client.plate_stocks("HK.BK1001").all(),
        client.fills_history(accounts["trade"][0], "HK", windows=2).all(max_items=300),
        client.request("GET", "/api/v1.0/server-time", query={"a": "b c"}).content,
        client.request("POST", "/nowhere", body={"text": "價"}).status,
    ]


@pytest.mark.parametrize("auth", ["Ed25519", "oauth"])
def test_what_was_recorded_is_played_back(sandbox, path, auth):
    with bl.Recorder(path) as recorder, sandbox.client(auth, cassette=recorder) as client:
        recorded = everything(client, sandbox.accounts)
    accounts, base_url = sandbox.accounts, sandbox.base_url
    sandbox.close()
    with bl.Client(cassette=bl.Replay(path)) as client:
        assert client.base_url == base_url
        assert everything(client, accounts) == recorded


def test_a_request_that_was_not_recorded_raises(sandbox, path):
    with bl.Recorder(path) as recorder, sandbox.client(cassette=recorder) as client:
        client.dividends("HK.00700")
    received = len(sandbox.requests)
    with bl.Client(cassette=pickle.loads(pickle.dumps(bl.Replay(path)))) as client:
        with pytest.raises(bl.ConfigError, match=r"US\.AAPL.* is not in the cassette"):
            client.dividends("US.AAPL")
        with pytest.raises(bl.ConfigError, match=r"POST /api/v1\.0/server-time"):
            client.request("POST", "/api/v1.0/server-time")
    assert len(sandbox.requests) == received


def test_the_file_is_readable_and_holds_no_secret(path):
    with bl.Sandbox(seed=7) as sandbox, bl.Recorder(path) as recorder:
        for auth in ("Ed25519", bl.BearerToken(CANARY)):
            with (
                sandbox.client(auth, cassette=recorder) as client,
                contextlib.suppress(bl.AuthenticationError),
            ):
                # The query is the caller's own: even there the token must not be in a cassette.
                client.request("GET", "/api/v1.0/server-time", query={"echo": CANARY})
                client.dividends("HK.00700")
    text = path.read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0] == {"header": {"version": 1, "base_url": sandbox.base_url}}
    assert lines[2]["exchange"]["path"].endswith("/dividends")
    assert lines[2]["exchange"]["response"]["received"]["body"]["json"]["ret_code"] == 0
    assert path.stat().st_mode & 0o077 == 0
    assert CANARY not in json.dumps(lines[3:])
    for word in ("x-signature", 'authorization"', "x-nonce", "x-api-key"):
        assert word not in text.lower()


def test_a_refreshed_token_is_not_in_the_cassette_nor_the_refusal_before_it(sandbox, path):
    with bl.Recorder(path) as recorder, sandbox.client("oauth", cassette=recorder) as client:
        client.dividends("HK.00700")
        sandbox.revoke_tokens()
        records = client.dividends("US.AAPL")
    text = path.read_text("utf-8")
    assert "/oauth2/" not in text and '"status":401' not in text
    with bl.Client(cassette=bl.Replay(path)) as client:
        assert client.dividends("US.AAPL") == records


def test_failures_are_recorded_in_their_order(sandbox, path):
    with bl.Recorder(path) as recorder, sandbox.client(cassette=recorder, max_retries=0) as client:
        sandbox.fail_next("dividends", status=503)
        with pytest.raises(bl.ServiceError):
            client.dividends("HK.00700")
        records = client.dividends("HK.00700")
        sandbox.close()
        with pytest.raises(bl.TransportError):
            client.ipo_list("hk")
    with bl.Client(cassette=bl.Replay(path), max_retries=0) as client:
        with pytest.raises(bl.ServiceError):
            client.dividends("HK.00700")
        # The last response comes again.
        assert client.dividends("HK.00700") == client.dividends("HK.00700") == records
        with pytest.raises(bl.TransportError):
            client.ipo_list("hk")


def test_a_recording_that_broke_off_at_any_byte_is_played_as_far_as_it_goes(sandbox, path):
    def ask(client, text):
        return client.request("POST", "/nowhere", body={"text": text}).status

    with bl.Recorder(path) as recorder, sandbox.client(cassette=recorder) as client:
        assert [ask(client, text) for text in ("價", "価")] == [404, 404]
    whole = path.read_bytes()
    first = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for length in {*range(0, len(whole), 7), *range(first - 3, first + 4)}:
        path.write_bytes(whole[:length])
        with bl.Client(cassette=bl.Replay(path)) as client:
            if length >= first:
                assert ask(client, "價") == 404, length
            with pytest.raises(bl.ConfigError, match="not in the cassette"):
                ask(client, "価")


@pytest.mark.parametrize(
    "text", [None, "\n", "dear\n", "[]\n", '{"header":{"version":9,"base_url":""}}\n']
)
def test_a_file_that_is_not_a_cassette_is_neither_played_nor_overwritten(path, text):
    if text is not None:
        path.write_text(text)
        with pytest.raises(bl.ConfigError, match=r"traffic\.jsonl"):
            bl.Recorder(path)
        assert path.read_text() == text
    with pytest.raises(bl.ConfigError, match=r"traffic\.jsonl"):
        bl.Replay(path)
    with pytest.raises(bl.ConfigError, match="cassette"):
        bl.Client("https://api.example.com", cassette=str(path))


def test_a_replay_repeats_the_retries_of_a_bad_day_and_waits_for_none(sandbox, path):
    with bl.Recorder(path) as recorder, sandbox.client(cassette=recorder, max_retries=0) as client:
        sandbox.fail_next("dividends", status=429)
        with pytest.raises(bl.RateLimited):
            client.dividends("HK.00700")
        records = client.dividends("HK.00700")
    head, refused, came = path.read_text("utf-8").splitlines(keepends=True)
    exchange = json.loads(refused)
    exchange["exchange"]["response"]["received"]["headers"] = [["retry-after", "50"]]
    # Waited for, these would be more than the time of a test.
    path.write_text(head + (json.dumps(exchange) + "\n") * 20 + came, "utf-8")
    with (
        bl.Client(cassette=bl.Replay(path), max_retries=19) as client,
        pytest.raises(bl.RateLimited),
    ):
        client.dividends("HK.00700")
    with bl.Client(cassette=bl.Replay(path), max_retries=20) as client:
        assert client.dividends("HK.00700") == records


def test_a_closed_recorder_rejects_what_it_cannot_record(sandbox, path):
    recorder = bl.Recorder(path)
    recorder.close()
    with (
        sandbox.client(cassette=recorder) as client,
        pytest.raises(bl.ConfigError, match="closed"),
    ):
        client.dividends("HK.00700")


def test_a_recorder_cannot_be_pickled(path):
    with bl.Recorder(path) as recorder, pytest.raises(bl.ConfigError, match="cannot pickle"):
        pickle.dumps(recorder)


def test_a_recorder_keeps_to_one_service(sandbox, path):
    with (
        bl.Sandbox() as other,
        bl.Recorder(path) as recorder,
        sandbox.client(cassette=recorder) as client,
        other.client(cassette=recorder) as client_of_other,
    ):
        client.server_time()
        with pytest.raises(bl.ConfigError, match="create another one"):
            client_of_other.server_time()


@pytest.mark.parametrize("name", ["access_token", "app_secret", "X-Api-Key"])
def test_a_field_whose_name_is_declared_secret_is_not_in_the_cassette(sandbox, path, name):
    def ask(client, value):
        # A code is a symbol, and a page token a cursor.
        query = {name: value, "code": "HK.00700", "page_token": "p-1"}
        bodies = [{"a": [{name: value}], "b": 1}, {name: [value, {"x": value}]}]
        bodies.append(f"a=1&{name}={value}".encode())
        return [
            client.request("GET", "/nowhere", query=query).status,
            *(client.request("POST", "/nowhere", body=body).status for body in bodies),
        ]

    with (
        bl.Recorder(path, secrets=["app_secret", "x-api-key"]) as recorder,
        sandbox.client(cassette=recorder) as client,
    ):
        recorded = ask(client, CANARY)
    text = path.read_text("utf-8")
    assert CANARY not in text and text.count("***") == 4
    assert "HK.00700" in text and "p-1" in text
    # A recording made with one secret is played with another.
    with bl.Client(cassette=bl.Replay(path)) as client:
        assert ask(client, "another-secret") == recorded


def service_of(body, headers=()):
    """Responds to every request with these headers and this body."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    return StandInService(lambda _request: Response(raw=head.encode("latin-1") + body))


def both(path, service, ask, **options):
    """What is received while a recording is made, and from its replay."""
    with (
        bl.Recorder(path) as recorder,
        bl.Client(service.base_url, cassette=recorder, **options) as client,
    ):
        recorded = ask(client)
    with bl.Client(cassette=bl.Replay(path)) as client:
        return recorded, ask(client)


TRADES = bl.Endpoint("trades", "GET", "/api/v1.0/trades", rows="data.list")


@pytest.mark.parametrize("name", ["session", "sign", "sid", "pin", "auth", "sig", "token", "pass"])
def test_a_parameter_is_no_secret_for_its_name(path, name):
    row = {"code": "HK.00001", "qty": 1, "px": "1", name: 1}
    body = json.dumps({"ret_code": 0, "data": {"list": [row]}}).encode()
    with service_of(body) as service:
        first, second = both(path, service, lambda client: client.call(TRADES, **{name: 1}))
    assert first == second == [row]
    assert "***" not in path.read_text("utf-8")


@pytest.mark.parametrize("token", ["success", "1", "HK", "20260105"])
def test_a_token_that_is_a_word_hides_nothing_of_a_response(path, token):
    row = {"code": "HK.00001", "qty": 1, "day": "20260105"}
    body = json.dumps({"ret_code": 0, "ret_msg": "success", "data": {"list": [row]}}).encode()
    auth = bl.BearerToken(token)
    with service_of(body) as service:
        first, second = both(path, service, lambda client: client.call(TRADES), auth=auth)
    assert first == second == [row]


def test_a_token_that_is_repeated_is_masked_and_json_stays_json(path):
    token = "an-invented-token"
    body = json.dumps({"ret_code": 0, "data": {"list": [{"a": f"x {token} y"}]}}).encode()
    with service_of(body, [("X-Echo", token)]) as service:
        auth = bl.BearerToken(token)
        first, second = both(path, service, lambda client: client.call(TRADES), auth=auth)
    assert first == [{"a": f"x {token} y"}] and second == [{"a": "x *** y"}]
    assert token not in path.read_text("utf-8")


def test_all_headers_are_replayed_but_those_that_identify_the_caller(path):
    headers = [
        ("ETag", '"seven"'),
        ("X-RateLimit-Remaining", "41"),
        ("Link", "<a>"),
        ("Link", "<b>"),
        ("X-Name", "騰訊".encode().decode("latin-1")),
        ("Set-Cookie", "sid=hush"),
        ("Authorization", "Bearer hush"),
    ]
    with service_of(b"{}", headers) as service:
        first, second = both(path, service, lambda client: client.request("GET", "/x").headers)
    assert "hush" not in path.read_text("utf-8")
    kept = {name: value for name, value in first.items() if "hush" not in value}
    assert dict(second) == kept and second["link"] == "<a>, <b>"


def test_names_that_are_no_names_are_refused(path):
    for wrong in ("session", 5, [5]):
        with pytest.raises(bl.ConfigError, match="secrets"):
            bl.Recorder(path, secrets=wrong)
    assert not path.exists()


FULL_DISK = program(__file__, "full_disk")


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("limit", [0, 100])
def test_a_recording_whose_disk_was_full_for_a_while_can_be_replayed(path, limit):
    run_python(FULL_DISK, path, limit)
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="finds the file in /proc")
def test_closing_a_recorder_fails_if_the_file_cannot_be_stored(sandbox, path):
    recorder = bl.Recorder(path)
    with sandbox.client(cassette=recorder) as client:
        client.server_time()
    links = Path("/proc/self/fd")
    (number,) = (int(fd.name) for fd in links.iterdir() if os.path.realpath(fd) == str(path))
    ends = os.pipe()
    # Writes to a pipe cannot be stored.
    os.dup2(ends[1], number)
    with pytest.raises(bl.ConfigError, match=r"traffic\.jsonl"):
        recorder.close()
    recorder.close()
    for end in ends:
        os.close(end)


def test_a_malformed_response_is_replayed_as_one(path):
    malformed = pytest.raises(bl.ProtocolError, match="the response is malformed")
    nonsense = Response(raw=b"nonsense\r\n\r\n")
    with StandInService([nonsense]) as server, bl.Recorder(path) as recorder, malformed:
        client_of(server, cassette=recorder).dividends("HK.00700")
    with bl.Client(cassette=bl.Replay(path)) as client, malformed:
        client.dividends("HK.00700")


LISTS = {
    **{"dividends": ["HK.00700", "US.AAPL"], "ipos": ["hk", "cn"], "futures": ["HK.HSImain"]},
    "plates": ["HK.BK1001"],
}


def kinds_of_lists(accounts):
    """Every kind of list of an archive, those with times first."""
    trade, sim, crypto = (accounts[kind][0] for kind in ("trade", "sim", "crypto"))
    of_accounts = {"crypto_orders": [crypto], "sim_orders": [sim], "sim_positions": [sim]}
    kinds = {"fills": [(trade, "HK"), (trade, "US")], **of_accounts, **LISTS}
    return [{name: keys} for name, keys in kinds.items()]


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
def test_updates_of_every_kind_of_list_can_be_replayed_in_any_order_and_again(sandbox, path, kind):
    kinds = kinds_of_lists(sandbox.accounts)
    fills = kinds[0]["fills"]
    # With times and without, alone, beside each other, and twice.
    updates = [kinds[0], *kinds[1:], kinds[0], {**LISTS, **kinds[0]}, kinds[4], *kinds[:2]]

    def update(cassette, **options):
        client = kind(cassette=cassette, **options)
        with bl.Archive(":memory:") as archive:
            reports = [str(outcome(archive.update(client, **lists))) for lists in updates]
            outcome(client.close())
            pages = [archive.fills(*key).all() for key in fills]
            seen = [archive.seen(name, key) for name, keys in LISTS.items() for key in keys]
            return reports, list(map(list, pages + seen))

    with bl.Recorder(path) as recorder:
        recorded = update(recorder, base_url=sandbox.base_url, auth=sandbox.api_key())
    sandbox.close()
    # A second time, one kind of client is enough.
    for _ in range(2 if kind is bl.Client else 1):
        assert update(bl.Replay(path)) == recorded
