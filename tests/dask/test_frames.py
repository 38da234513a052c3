"""Dask frames: types, windows, the shares of the rate limit, and that no secret travels."""

import pickle
import re
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import boardlot as bl
import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

from boardlot import dask as boardlot_dask  # noqa: E402
from boardlot._support.partitions import refer  # noqa: E402
from boardlot.dask import WorkerClients  # noqa: E402

SYMBOLS = ["HK.00700", "US.AAPL", "MY.1155", "SG.D05", "HK.00005"]
ACCOUNT = {"acc_id": "281756", "trd_market": "HK"}


class Service(NamedTuple):
    sandbox: bl.Sandbox
    key_id: str
    key_file: Path

    def client(self, **options: Any) -> bl.Client:
        auth = bl.ApiKey(self.key_id, self.key_file)
        return bl.Client(self.sandbox.base_url, auth=auth, **options)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    made = bl.generate_key()
    key_file = tmp_path_factory.mktemp("key") / "key.pem"
    key_file.touch(mode=0o600)
    key_file.write_text(made.private_pem)
    with bl.Sandbox(seed=7) as sandbox:
        yield Service(sandbox, sandbox.upload_key(made.public_pem), key_file)


@pytest.fixture
def span(service):
    """Ninety days up to now, on the service's clock."""
    now = service.client().server_time()
    return {"start": now - timedelta(days=90), "end": now}


def ranged(client: Any, span: Any, npartitions: int = 6, **options: Any) -> Any:
    asked = {**ACCOUNT, **span, "npartitions": npartitions, **options}
    return boardlot_dask.from_range(client, "fills_history", **asked)


def test_keys_come_back_in_their_order_with_declared_types(service, cluster) -> None:
    frame = boardlot_dask.from_keys(service.client(), "dividends", SYMBOLS, npartitions=3)
    assert frame.npartitions == 3
    fetched = frame.compute()
    assert fetched["symbol"].drop_duplicates().tolist() == [s for s in SYMBOLS if s != "MY.1155"]
    assert fetched.dtypes.to_dict() == frame.dtypes.to_dict()
    types = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert types["symbol"] == types["currency"] == "string"
    assert types["ex_date"].startswith("datetime64") and types["payout_ratio"] == "float64"
    local = service.client().fetch_many("dividends", SYMBOLS).to_pandas()
    assert fetched["statement"].tolist() == local["statement"].tolist()


def test_empty_partitions_have_the_types_of_the_others(service) -> None:
    symbols = ["HK.00700", "MY.1155"]
    frame = boardlot_dask.from_keys(service.client(), "dividends", symbols, npartitions=2)
    parts = [part.compute(scheduler="synchronous") for part in frame.partitions]
    assert [len(part) > 0 for part in parts] == [True, False]
    assert parts[0].dtypes.to_dict() == parts[1].dtypes.to_dict() == frame.dtypes.to_dict()
    none = boardlot_dask.from_keys(service.client(), "dividends", [], npartitions=4)
    assert (none.npartitions, len(none.compute(scheduler="synchronous"))) == (1, 0)


def test_a_record_that_is_not_declared_needs_the_callers_columns(service) -> None:
    client = service.client()
    with pytest.raises(bl.ConfigError, match="does not show the fields of this record: pass meta="):
        boardlot_dask.from_keys(client, "plate_stocks", ["HK.BK1001"], npartitions=1)
    meta = client.fetch_many("plate_stocks", ["HK.BK1001"]).to_pandas()[["plate_code", "code"]]
    keys = ["HK.BK1001"]
    frame = boardlot_dask.from_keys(client, "plate_stocks", keys, npartitions=1, meta=meta)
    assert frame.compute(scheduler="synchronous").shape == (500, 2)


def test_a_range_holds_each_fill_once_in_the_services_order(service, cluster, span) -> None:
    fills = service.client().fills_history(**ACCOUNT, **span).to_pandas()
    assert len(fills) > 1000
    fetched = ranged(service.client(), span).compute()
    assert fetched["deal_id"].tolist() == fills["deal_id"].tolist()
    assert str(fetched["updated_time"].dtype) == "datetime64[us, UTC]"


def test_a_fill_on_a_shared_boundary_belongs_to_one_window(service, span) -> None:
    fills = list(service.client().fills_history(**ACCOUNT, **span))
    boundary = fills[300]["updated_time"]
    around = {"start": boundary - 10**9, "end": boundary + 10**9}
    within = [d["deal_id"] for d in fills if abs(d["updated_time"] - boundary) <= 10**9]
    frame = ranged(service.client(), around, npartitions=2)
    parts = [part.compute(scheduler="synchronous") for part in frame.partitions]
    assert parts[1]["deal_id"].tolist()[0] == fills[300]["deal_id"]
    assert [*parts[0]["deal_id"], *parts[1]["deal_id"]] == within


def test_times_are_what_the_client_takes(service, span) -> None:
    day = datetime.now(timezone.utc).date() - timedelta(days=7)
    midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
    ends = [day, midnight, day.isoformat(), midnight.isoformat(), int(midnight.timestamp()) * 10**6]
    start = midnight - timedelta(days=30)
    client = service.client()
    names = {ranged(client, {"start": start, "end": end})._name for end in ends}
    assert len(names) == 1
    with pytest.raises(bl.ConfigError, match="a naive datetime"):
        ranged(service.client(), {"start": datetime(2026, 1, 1), "end": date(2026, 2, 1)})
    with pytest.raises(bl.ConfigError, match="expected a time after start"):
        ranged(service.client(), {"start": day, "end": day})


def micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def ids(fetched: Any) -> list[str]:
    return fetched["deal_id"].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "kind",
    [
        lambda time: np.int64(micros(time)),
        lambda time: np.uint64(micros(time)),
        pd.Timestamp,
        lambda time: pd.Timestamp(time).tz_convert("Asia/Hong_Kong"),
        lambda time: time.isoformat(),
        lambda time: time.astimezone(timezone(timedelta(hours=8))),
        datetime.date,
    ],
)
@pytest.mark.parametrize("given", [("start",), ("end",), ("start", "end")])
def test_a_range_is_what_fills_history_makes_of_the_same_arguments(
    service, span, kind, given
) -> None:
    times = {"start": span["start"] + timedelta(days=40), "end": span["end"] - timedelta(days=9)}
    asked = {name: kind(times[name]) for name in given}
    fetched = ranged(service.client(), asked, npartitions=3).compute(scheduler="synchronous")
    assert len(fetched) > 100
    assert ids(fetched) == ids(service.client().fills_history(**ACCOUNT, **asked).to_pandas())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.datetime64("2026-01-01"), "datetime64.*an aware datetime"),
        (pd.Timestamp("2026-01-01"), r"naive datetime.*write datetime\(\.\.\., tzinfo="),
        (pd.NaT, "naive datetime"),
        (datetime(2026, 1, 1), "naive datetime"),
        ("2026-01-01T00:00:00", "ISO 8601 with an offset"),
        ("2016-12-31T23:59:60Z", "ISO 8601 with an offset"),
        ("soon", "ISO 8601 with an offset"),
        (1.5e15, r"1500000000000000\.0; expected"),
        (np.float64(1.5e15), r"1500000000000000\.0; expected"),
        (True, "True; expected"),
        (-1, "microseconds since 1970"),
    ],
)
@pytest.mark.parametrize("end", [{}, {"end": date(2030, 1, 1)}])
def test_a_time_that_fills_history_rejects_is_rejected_in_the_same_words(
    service, value, words, end
) -> None:
    client, since = service.client(), len(service.sandbox.requests)
    with pytest.raises(bl.ConfigError, match=words) as refused:
        ranged(client, {"start": value, **end})
    with pytest.raises(bl.ConfigError) as by_client:
        client.fills_history(**ACCOUNT, start=value, **end)
    assert str(refused.value) == str(by_client.value)
    assert len(service.sandbox.requests) == since


@pytest.mark.parametrize("given", [{}, {"start": None, "end": None}, {"start": 0, "end": 0}])
@pytest.mark.parametrize("offset", [-3600.0, 3600.0])
def test_an_open_range_ends_by_the_services_clock_once_for_all_partitions(
    offset, given, tmp_path
) -> None:
    key = bl.generate_key()
    (tmp_path / "key.pem").touch(mode=0o600)
    (tmp_path / "key.pem").write_text(key.private_pem)
    with bl.Sandbox(seed=7, clock_offset=offset) as sandbox:
        auth = bl.ApiKey(sandbox.upload_key(key.public_pem), tmp_path / "key.pem")
        client = bl.Client(sandbox.base_url, auth=auth)
        before = micros(client.server_time())
        frame = ranged(client, given, npartitions=4)
        # The end is past, to the microsecond: nothing arrives in the range later.
        after = micros(client.server_time())
        asked = len(sandbox.requests)
        fetched = frame.compute(scheduler="synchronous")
        received = [request.query for request in sandbox.requests[asked:]]
        everything = client.fills_history(
            **ACCOUNT, start="1970-01-01", end=after + 10**9
        ).to_pandas()
    ends = {int(re.findall(r"end=(\d+)", query)[0]) for query in received if "end=" in query}
    starts = {int(re.findall(r"start=(\d+)", query)[0]) for query in received if "end=" in query}
    assert len(ends) == len(starts) == 4, "the partitions' own"
    assert before <= max(ends) <= after
    assert max(ends) - min(starts) == 90 * 86_400 * 10**6
    latest = everything["deal_id"][
        everything["updated_time"] >= pd.Timestamp(min(starts) * 1000, tz="UTC")
    ]
    assert ids(fetched) == latest.tolist() and len(fetched) > 1_000


def test_a_partition_that_fails_midway_is_tried_again_as_a_whole(service, cluster, span) -> None:
    expected = ids(service.client().fills_history(**ACCOUNT, **span).to_pandas())
    frame = ranged(service.client(max_retries=0), span, npartitions=6)
    service.sandbox.faults = bl.Faults(drop_rate=0.02, seed=5)
    try:
        fetched = frame.compute(retries=50)
    finally:
        service.sandbox.faults = None
    assert ids(fetched) == expected


def test_a_frame_outlives_the_client_that_made_it(service, span) -> None:
    client = service.client()
    frame = ranged(client, span, npartitions=2)
    client.close()
    expected = ids(service.client().fills_history(**ACCOUNT, **span).to_pandas())
    assert ids(frame.compute(scheduler="synchronous")) == expected


def test_arguments_are_rejected_at_once(service) -> None:
    client = service.client()
    keys = boardlot_dask.from_keys
    sent = len(service.sandbox.requests)
    for call, words in [
        (lambda: keys(client, "nothing", SYMBOLS, npartitions=1), "method is 'nothing'"),
        (lambda: keys(client, "dividends", SYMBOLS, npartitions=0), "npartitions is 0"),
        (lambda: keys(client, "dividends", [], npartitions=1, decimals="decimal"), "decimals is"),
        (lambda: keys(client, "dividends", [], npartitions=1, workers=0), "workers is 0"),
        (lambda: keys(client, "dividends", [], npartitions=1, rate_limit=-1.0), "rate_limit"),
        (lambda: keys(object(), "dividends", [], npartitions=1), "a client or the name"),
        (lambda: keys("absent", "dividends", [], npartitions=1), "profile"),
        (
            lambda: boardlot_dask.from_range(
                client, "dividends", **ACCOUNT, start=1, end=2, npartitions=1
            ),
            "method is 'dividends'; expected 'fills_history'",
        ),
    ]:
        with pytest.raises(bl.ConfigError, match=words):
            call()
    assert len(service.sandbox.requests) == sent


def passphrases() -> Any:
    secret = "a passphrase of the test"
    return lambda: secret


@pytest.mark.parametrize("kind", ["text", "bearer", "memory", "closure"])
def test_a_client_that_would_pickle_secrets_is_rejected_at_once(service, kind, tmp_path) -> None:
    if kind == "text":
        auth: Any = bl.ApiKey("key", bl.generate_key().private_pem)
    elif kind == "bearer":
        auth = bl.BearerToken("a-token-of-the-test")
    elif kind == "memory":
        auth = bl.OAuth("client", store=bl.MemoryStore())
    else:
        auth = bl.OAuth("client", store=bl.EncryptedFileStore(tmp_path / "s", passphrases()))
    client = bl.Client(service.sandbox.base_url, auth=auth)
    with pytest.raises(bl.ConfigError, match=r"pickle|cannot be sent") as refused:
        boardlot_dask.from_keys(client, "dividends", SYMBOLS, npartitions=2)
    assert "of the test" not in str(refused.value)


@pytest.mark.parametrize("keys", ["HK.00700", ""])
def test_a_string_is_not_a_list_of_keys(service, keys) -> None:
    since = len(service.sandbox.requests)
    with pytest.raises(bl.ConfigError, match=r"keys is a string; expected a list of keys"):
        boardlot_dask.from_keys(service.client(), "dividends", keys, npartitions=2)
    assert len(service.sandbox.requests) == since


def test_a_frame_holds_the_keys_path_and_not_the_key(service) -> None:
    frame = boardlot_dask.from_keys(service.client(), "dividends", SYMBOLS, npartitions=2)
    carried = pickle.dumps(frame)
    assert service.key_file.name.encode() in carried
    lines = service.key_file.read_text().splitlines()
    assert not any(line.encode() in carried for line in lines if len(line) > 20)


@pytest.mark.parametrize("name", ["Cookie", "X-Proxy-Auth"])
def test_headers_that_may_be_secrets_are_rejected_and_shown_nowhere(service, span, name) -> None:
    client = service.client(headers={name: "canary-7f1e"})
    for make in (
        lambda: boardlot_dask.from_keys(client, "dividends", SYMBOLS, npartitions=2),
        lambda: ranged(client, span, npartitions=2),
    ):
        with pytest.raises(bl.ConfigError, match=name.lower()) as refused:
            make()
        assert "canary" not in str(refused.value)


def test_no_repr_of_a_frame_shows_what_its_client_was_made_with(service, span) -> None:
    client = service.client(headers={"Accept-Language": "canary-7f1e"})
    for frame in (
        boardlot_dask.from_keys(client, "dividends", SYMBOLS, npartitions=2),
        ranged(client, span, npartitions=2),
    ):
        shown = repr(frame) + repr(dict(frame.__dask_graph__())) + repr(frame.expr)
        assert "canary" not in shown and service.key_file.name not in shown
    assert refer(client).pickled


def shares(arguments: Any, partitions: int) -> Any:
    """The rate limit of this process's client, in a worker."""
    made: Any = arguments.client(partitions).__reduce__()
    return made[1][1].get("rate_limit")


def test_the_rate_limit_is_shared_out_among_the_processes(service, cluster) -> None:
    clients = WorkerClients(refer(service.client(rate_limit=90)), None)

    def limits(clients: Any, partitions: int) -> list[Any]:
        workers = list(cluster.nthreads())
        asked = [
            cluster.submit(shares, clients, partitions, workers=[worker], pure=False)
            for worker in workers
        ]
        return cluster.gather(asked)

    assert limits(clients, 8) == [45.0, 45.0]
    assert limits(clients, 1) == [90.0, 90.0]
    assert limits(WorkerClients(refer(service.client(), 30.0), 3), 8) == [10.0, 10.0]
    assert limits(WorkerClients(refer(service.client()), None), 8) == [None, None]
    # A limit with a name is shared by its name, and not divided.
    shared = bl.RateLimit(90, name="dask")
    assert limits(WorkerClients(refer(service.client(rate_limit=shared)), None), 8) == [shared] * 2
    with pytest.raises(bl.ConfigError, match="no name"):
        refer(service.client(rate_limit=bl.RateLimit(90)))
    # Dask's own threads are one process with one client.
    assert shares(clients, 8) == 90.0
    assert clients.client(8) is clients.client(8)


def test_a_pool_of_unknown_size_needs_an_option(service) -> None:
    limited = service.client(rate_limit=500)
    for options, words in [({}, "pass workers="), ({"workers": 2}, None)]:
        frame = boardlot_dask.from_keys(limited, "dividends", SYMBOLS, npartitions=2, **options)
        if words:
            with pytest.raises(bl.ConfigError, match=words):
                frame.compute(scheduler="processes", num_workers=2)
        else:
            assert len(frame.compute(scheduler="processes", num_workers=2)) > 50


def test_an_error_of_a_worker_is_the_clients_own(service, cluster) -> None:
    frame = boardlot_dask.from_keys(
        service.client(), "dividends", ["HK.00700", "HK.99999"], npartitions=2
    )
    with pytest.raises(bl.InvalidSymbol, match=r"HK\.99999") as refused:
        frame.compute()
    assert refused.value.code == -7


def test_frames_of_clients_with_different_options_are_different(service) -> None:
    frames = [
        boardlot_dask.from_keys(service.client(timeout=t), "dividends", SYMBOLS, npartitions=1)
        for t in (5.0, 6.0)
    ]
    assert frames[0]._name != frames[1]._name


def test_only_the_columns_that_are_needed_are_made(service, span) -> None:
    frame = ranged(service.client(), span, npartitions=3)
    narrow = frame[["qty", "code"]]
    made = dict(narrow.optimize().__dask_graph__())
    assert all("deal_id" not in repr(task) for task in made.values())
    fetched = narrow.compute(scheduler="synchronous")
    fills = service.client().fills_history(**ACCOUNT, **span).to_pandas()
    assert fetched.columns.tolist() == ["qty", "code"]
    assert fetched["qty"].tolist() == fills["qty"].tolist()
    totals = frame.groupby("code")["qty"].sum().compute(scheduler="synchronous")
    assert totals.to_dict() == fills.groupby("code")["qty"].sum().to_dict()
    symbols = boardlot_dask.from_keys(service.client(), "dividends", SYMBOLS, npartitions=2)
    assert symbols[["currency"]].compute(scheduler="synchronous").shape[1] == 1
    assert symbols["symbol"].compute(scheduler="synchronous").iloc[0] == "HK.00700"
    assert len(symbols) == len(symbols.compute(scheduler="synchronous"))


@pytest.mark.parametrize("npartitions", [1, 2, 6])
def test_several_accounts_have_a_column_of_their_own(service, span, npartitions) -> None:
    rows = service.client().fills_history(**ACCOUNT, **span).all(max_items=130).to_dicts()
    accounts = [f"60000{n}" for n in range(3)]
    for account in accounts:
        made = [{**row, "deal_id": f"{account}-{row['deal_id']}"} for row in rows]
        service.sandbox.put("fills_history", made, account=account)
    asked = {**span, "acc_id": accounts, "trd_market": "HK"}
    frame = boardlot_dask.from_range(
        service.client(), "fills_history", npartitions=npartitions, **asked
    )
    expected = service.client().fetch_many("fills_history", accounts, trd_market="HK", **span)
    fetched = frame.compute(scheduler="synchronous")
    assert fetched["acc_id"].tolist() == [row["acc_id"] for row in expected]
    assert ids(fetched) == [row["deal_id"] for row in expected]
    assert fetched.dtypes.to_dict() == frame.dtypes.to_dict()
    only = frame["acc_id"].compute(scheduler="synchronous")
    assert only.tolist() == fetched["acc_id"].tolist()
    keyed = boardlot_dask.from_keys(
        service.client(), "fills_history", accounts, npartitions=2, trd_market="HK", **span
    )
    assert ids(keyed.compute(scheduler="synchronous")) == ids(fetched)
