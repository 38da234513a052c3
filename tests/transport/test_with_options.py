"""`client.with_options(...)`: a client with other options, which shares all else with the first."""

import asyncio
import copy
import inspect
import pickle
import time
from datetime import timedelta

import boardlot as bl
import pytest

FILLS = "281756", "HK"
DIVIDENDS = "HK.00700"


def settled(result):
    async def awaited():
        return await result

    return asyncio.run(awaited()) if inspect.isawaitable(result) else result


@pytest.fixture(params=["client", "async_client"])
def client(sandbox, request):
    made = getattr(sandbox, request.param)(headers={"X-Desk": "east", "X-Team": "a"})
    yield made
    settled(made.close())


def test_it_is_of_the_same_class_and_leaves_the_first_one_as_it_is(sandbox, client):
    once = client.with_options(timeout=120, max_retries=0)
    assert type(once) is type(client) and once.base_url == client.base_url
    sandbox.fail_next("dividends", status=503)
    with pytest.raises(bl.ServiceError):
        settled(once.dividends(DIVIDENDS))
    sandbox.fail_next("dividends", status=503)
    assert len(settled(client.dividends(DIVIDENDS))) == 21


def test_every_entry_has_its_options(sandbox, client, tmp_path):
    once = client.with_options(max_retries=0)
    news = bl.Endpoint("news", "GET", "/api/v1.0/news", rows="data.list")
    sandbox.serve(news, [{"title": "A title"}])
    pagers = (
        lambda: once.fills_history(*FILLS).all(),
        lambda: once.pages("fills_history", acc_id=FILLS[0], trd_market="HK").all(),
        lambda: once.pages_many("fills_history", [FILLS[0]], trd_market="HK").all(),
        lambda: once.paginate("GET", "/api/v1.0/news", paging="next_key", rows="data.list").all(),
    )
    calls = (
        lambda: once.dividends(DIVIDENDS),
        lambda: once.call(news),
        lambda: once.fetch_many("dividends", [DIVIDENDS]),
        lambda: once.server_time(),
    )
    for entry in (*pagers, *calls):
        sandbox.fail_next(status=503)
        with pytest.raises(bl.ServiceError):
            settled(entry())
    with bl.Archive(tmp_path / "archive.db") as archive:
        sandbox.fail_next("dividends", status=503)
        with pytest.raises(bl.BoardlotError):
            settled(archive.update(once, dividends=[DIVIDENDS]))
    sandbox.fail_next(status=503)
    assert settled(once.request("GET", "/api/v1.0/server-time")).status == 503
    sandbox.reset()
    assert len(settled(client.dividends(DIVIDENDS))) == 21


def test_a_timeout_of_its_own_ends_its_calls_alone(sandbox, client):
    quick = client.with_options(timeout=0.05, max_retries=0)
    sandbox.faults = bl.Faults(latency=0.5)
    with pytest.raises(bl.RequestTimeout):
        settled(quick.dividends(DIVIDENDS))
    assert len(settled(client.dividends(DIVIDENDS))) == 21


def test_a_client_that_only_reads_stays_one(sandbox):
    with sandbox.client(read_only=True) as client:
        other = client.with_options(timeout=9)
        with pytest.raises(bl.ConfigError, match="read-only"):
            other.request("POST", "/api/v1.0/orders", body={})


def test_headers_are_added_and_those_of_the_same_name_replaced(server):
    with bl.Client(server.base_url, headers={"X-Desk": "east", "X-Team": "a"}) as client:
        other = client.with_options(headers={"x-desk": "west", "X-Trace": "7"})
        for one in (other, other.with_options(headers={"X-Trace": "8"}), client):
            one.server_time()
    sent = [{name.lower(): value for name, value in one.headers} for one in server.received]
    names = ("x-desk", "x-team", "x-trace")
    assert [[one.get(name) for name in names] for one in sent] == [
        ["west", "a", "7"],
        ["west", "a", "8"],
        ["east", "a", None],
    ]


def test_both_share_the_rate_limit_and_the_hooks(sandbox):
    seen = []
    with sandbox.client(rate_limit=20, on_request=seen.append) as client:
        others = [client.with_options(timeout=100 + n) for n in range(3)]
        start = time.monotonic()  # time: a rate is one
        for n in range(12):
            (client, *others)[n % 4].server_time()
        # Eleven intervals of a twentieth of a second.
        assert time.monotonic() - start > 0.5  # time: a rate is one
    assert len(seen) == 12


def test_both_share_the_clock(tmp_path):
    with bl.Sandbox(seed=7, fills=10, clock_offset=400) as sandbox, sandbox.client() as client:
        client.with_options(timeout=9).dividends(DIVIDENDS)
        assert abs(client.clock_offset - 400) < 30
        before = len(sandbox.requests)
        client.dividends(DIVIDENDS)
        assert [one.status for one in sandbox.requests[before:]] == [200]


def test_it_closes_nothing_and_ends_with_the_first_one(sandbox):
    client = sandbox.client()
    other = client.with_options(timeout=9)
    with other:
        assert len(other.dividends(DIVIDENDS)) == 21
    assert len(client.dividends(DIVIDENDS)) == len(other.dividends(DIVIDENDS)) == 21
    client.close()
    for closed in (other.server_time, lambda: other.with_options(timeout=3)):
        with pytest.raises(bl.ConfigError, match="closed"):
            closed()


def test_it_keeps_what_it_came_from(sandbox):
    other = bl.Sandbox(seed=7, fills=160).client().with_options(timeout=9)
    assert len(other.fills_history(*FILLS, page_size=10).all()) == 160


class Desk(bl.Client):
    def __init__(self, label, **options):
        super().__init__(**options)
        self.label = label


def test_a_subclass_keeps_what_it_has_stored(sandbox):
    with Desk("east", base_url=sandbox.base_url, auth=sandbox.api_key()) as desk:
        other = desk.with_options(timeout=9)
        assert type(other) is Desk and other.label == "east"
        assert len(other.dividends(DIVIDENDS)) == 21


def test_pickles_and_copies_have_its_options():
    client = bl.Client("https://api.example.com", timeout=5, max_retries=1)
    other = client.with_options(timeout=9, headers={"User-Agent": "desk"})
    for loaded in (pickle.loads(pickle.dumps(other)), copy.copy(other)):
        assert loaded._boardlot_core.given() == {
            "base_url": "https://api.example.com",
            "timeout": 9,
            "max_retries": 1,
            "headers": {"user-agent": "desk"},
        }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": timedelta(seconds=3)}, "timeout is"),
        ({"max_retries": -1}, "max_retries is -1"),
        ({"headers": {"a": "b\n"}}, "header"),
        ({"headers": 5}, "headers is of type int"),
    ],
)
def test_invalid_options_are_refused(options, said):
    client = bl.Client("https://api.example.com")
    with pytest.raises(bl.ConfigError, match=said):
        client.with_options(**options)


def test_other_options_belong_to_the_client():
    with pytest.raises(TypeError, match="rate_limit"):
        bl.Client("https://api.example.com").with_options(rate_limit=3)
