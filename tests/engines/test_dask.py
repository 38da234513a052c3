"""Dask frames: types, windows, the shares of the rate limit, and that no secret travels."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context

import boardlot as bl
import pytest

from ..support.own_endpoints import KLINE

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

from boardlot import dask as boardlot_dask  # noqa: E402
from boardlot._support.engines.partitions import refer  # noqa: E402
from boardlot.dask import WorkerClients  # noqa: E402

from ..support.keys import uploaded_key  # noqa: E402

SYMBOLS = ["HK.00700", "US.AAPL", "MY.1155", "SG.D05", "HK.00005"]
ACCOUNT = {"acc_id": "281756", "trd_market": "HK"}


def again(client, **options):
    """Another client with its key."""
    return bl.Client(client.base_url, auth=client.__reduce__()[1][1]["auth"], **options)


def dividends(client, symbols=SYMBOLS, npartitions=2):
    return boardlot_dask.from_keys(client, "dividends", symbols, npartitions=npartitions)


def fills(client, span):
    return client.fills_history(**ACCOUNT, **span).to_pandas()


@pytest.fixture
def sent(sandbox):
    """The requests since the test began."""
    before = len(sandbox.requests)
    return lambda: sandbox.requests[before:]


@pytest.fixture
def span(client):
    """Ninety days up to now, on the service's clock."""
    now = client.server_time()
    return {"start": now - timedelta(days=90), "end": now}


def ranged(client, span, npartitions=6, **options):
    asked = {**ACCOUNT, **span, "npartitions": npartitions, **options}
    return boardlot_dask.from_range(client, "fills_history", **asked)


def test_keys_come_back_in_their_order_with_declared_types(client, cluster):
    frame = dividends(client, SYMBOLS, npartitions=3)
    assert frame.npartitions == 3
    fetched = frame.compute()
    assert fetched["symbol"].drop_duplicates().tolist() == [s for s in SYMBOLS if s != "MY.1155"]
    assert fetched.dtypes.to_dict() == frame.dtypes.to_dict()
    names = ["symbol", "currency", "payout_ratio"]
    assert list(map(str, frame.dtypes[names])) == ["string", "string", "float64"]
    assert str(frame.dtypes["ex_date"]).startswith("datetime64")
    local = client.fetch_many("dividends", SYMBOLS).to_pandas()
    assert fetched["statement"].tolist() == local["statement"].tolist()


def test_empty_partitions_have_the_types_of_the_others(client):
    symbols = ["HK.00700", "MY.1155"]
    frame = dividends(client, symbols)
    parts = [part.compute(scheduler="synchronous") for part in frame.partitions]
    assert [len(part) > 0 for part in parts] == [True, False]
    assert parts[0].dtypes.to_dict() == parts[1].dtypes.to_dict() == frame.dtypes.to_dict()
    none = dividends(client, [], npartitions=4)
    assert (none.npartitions, len(none.compute(scheduler="synchronous"))) == (1, 0)
    asked = {"acc_id": [], "trd_market": "HK", "npartitions": 3}
    empty = boardlot_dask.from_range(client, "fills_history", **asked)
    frame = empty.compute(scheduler="synchronous")
    assert len(frame) == 0 and frame.dtypes.to_dict() == empty.dtypes.to_dict()


def test_a_record_that_is_not_declared_needs_the_callers_columns(client):
    with pytest.raises(bl.ConfigError, match="does not show the fields of this record: pass meta="):
        boardlot_dask.from_keys(client, "plate_stocks", ["HK.BK1001"], npartitions=1)
    meta = client.fetch_many("plate_stocks", ["HK.BK1001"]).to_pandas()[["plate_code", "code"]]
    asked = {"npartitions": 1, "meta": meta}
    frame = boardlot_dask.from_keys(client, "plate_stocks", ["HK.BK1001"], **asked)
    assert frame.compute(scheduler="synchronous").shape == (500, 2)


def ids(fetched):
    return fetched["deal_id"].tolist()


def test_a_partition_that_fails_midway_is_tried_again_as_a_whole(sandbox, client, cluster, span):
    expected = ids(fills(client, span))
    fragile = again(client, max_retries=0)
    frame = ranged(fragile, span, npartitions=6)
    # A frame outlives the client that made it.
    fragile.close()
    sandbox.faults = bl.Faults(drop_rate=0.02, seed=5)
    try:
        fetched = frame.compute(retries=50)
    finally:
        sandbox.faults = None
    assert ids(fetched) == expected


def test_arguments_are_rejected_at_once(client, sent):
    for change, words in [
        ({"decimals": "decimal"}, "decimals is"),
        ({"workers": 0}, "workers is 0"),
        ({"rate_limit": -1.0}, "rate_limit"),
        ({"client_or_profile": object()}, "a client or the name"),
        ({"client_or_profile": "absent"}, "profile"),
        ({"keys": "HK.00700"}, "keys is a string"),
    ]:
        asked = {"method": "dividends", "keys": SYMBOLS, "npartitions": 1, **change}
        with pytest.raises(bl.ConfigError, match=words):
            boardlot_dask.from_keys(**{"client_or_profile": client, **asked})
    with pytest.raises(bl.ConfigError, match="'dividends'; expected 'fills_history'"):
        boardlot_dask.from_range(client, "dividends", **ACCOUNT, npartitions=1)
    assert sent() == []


def test_a_frame_holds_the_keys_path_and_not_the_key(sandbox, tmp_path):
    client = bl.Client(sandbox.base_url, auth=bl.ApiKey(*uploaded_key(sandbox, tmp_path)))
    carried = pickle.dumps(dividends(client))
    assert b"key.pem" in carried
    lines = (tmp_path / "key.pem").read_text().splitlines()
    assert not any(line.encode() in carried for line in lines if len(line) > 20)


def test_headers_are_shown_nowhere_and_rejected_if_they_may_be_secrets(client, span):
    def frames(header):
        with_header = again(client, headers={header: "canary-7f1e"})
        yield lambda: dividends(with_header)
        yield lambda: ranged(with_header, span, npartitions=2)

    for make in frames("Cookie"):
        with pytest.raises(bl.ConfigError, match="cookie") as refused:
            make()
        assert "canary" not in str(refused.value)
    for make in frames("Accept-Language"):
        frame = make()
        shown = repr(frame) + repr(dict(frame.__dask_graph__())) + repr(frame.expr)
        assert "canary" not in shown and "key.pem" not in shown


def shares(arguments, partitions):
    """The rate limit of this process's client, in a worker."""
    return arguments.client(partitions).__reduce__()[1][1].get("rate_limit")


def test_the_rate_limit_is_shared_out_among_the_processes(client, cluster):
    clients = WorkerClients(refer(again(client, rate_limit=90)), None)

    def limits(clients, partitions):
        asked, workers = (clients, partitions), list(cluster.nthreads())
        return cluster.gather(
            [cluster.submit(shares, *asked, workers=[one], pure=False) for one in workers]
        )

    assert limits(clients, 8) == [45.0, 45.0]
    assert limits(clients, 1) == [90.0, 90.0]
    assert limits(WorkerClients(refer(client, 30.0), 3), 8) == [10.0, 10.0]
    assert limits(WorkerClients(refer(client), None), 8) == [None, None]
    # A limit with a name is shared by its name, and not divided.
    shared = bl.RateLimit(90, name="dask")
    assert limits(WorkerClients(refer(again(client, rate_limit=shared)), None), 8) == [shared] * 2
    with pytest.raises(bl.ConfigError, match="no name"):
        refer(again(client, rate_limit=bl.RateLimit(90)))
    # Dask's own threads are one process with one client.
    assert shares(clients, 8) == 90.0
    assert clients.client(8) is clients.client(8)


def test_a_pool_of_unknown_size_needs_an_option(client):
    keys = (again(client, rate_limit=500), "dividends", SYMBOLS)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        options = {"scheduler": "processes", "pool": pool}
        with pytest.raises(bl.ConfigError, match="pass workers="):
            boardlot_dask.from_keys(*keys, npartitions=2).compute(**options)
        frame = boardlot_dask.from_keys(*keys, npartitions=2, workers=1)
        assert len(frame.compute(**options)) > 50


def test_an_error_of_a_worker_is_the_clients_own(client, cluster):
    with pytest.raises(bl.InvalidSymbol, match=r"HK\.99999") as refused:
        dividends(client, ["HK.00700", "HK.99999"]).compute()
    assert refused.value.code == -7


def test_only_the_columns_that_are_needed_are_made(client, span):
    frame = ranged(client, span, npartitions=3)
    narrow = frame[["qty", "code"]]
    made = dict(narrow.optimize().__dask_graph__())
    assert all("deal_id" not in repr(task) for task in made.values())
    fetched = narrow.compute(scheduler="synchronous")
    expected = fills(client, span)
    assert fetched.columns.tolist() == ["qty", "code"]
    assert fetched["qty"].tolist() == expected["qty"].tolist()
    totals = frame.groupby("code")["qty"].sum().compute(scheduler="synchronous")
    assert totals.to_dict() == expected.groupby("code")["qty"].sum().to_dict()
    symbols = dividends(client)
    assert symbols[["currency"]].compute(scheduler="synchronous").shape[1] == 1
    assert symbols["symbol"].compute(scheduler="synchronous").iloc[0] == "HK.00700"
    with dask.config.set(scheduler="synchronous"):
        assert len(symbols) == len(symbols.compute())


@pytest.mark.parametrize("npartitions", [2, 6])
def test_several_accounts_have_a_column_of_their_own(sandbox, client, span, npartitions):
    rows = client.fills_history(**ACCOUNT, **span).all(max_items=130).to_dicts()
    accounts = [f"60000{n}" for n in range(3)]
    for account in accounts:
        made = [{**row, "deal_id": f"{account}-{row['deal_id']}"} for row in rows]
        sandbox.put("fills_history", made, account=account)
    frame = ranged(client, span, npartitions, acc_id=accounts)
    expected = client.fetch_many("fills_history", accounts, trd_market="HK", **span)
    fetched = frame.compute(scheduler="synchronous")
    assert fetched["acc_id"].tolist() == [row["acc_id"] for row in expected]
    assert ids(fetched) == [row["deal_id"] for row in expected]
    assert fetched.dtypes.to_dict() == frame.dtypes.to_dict()
    only = frame["acc_id"].compute(scheduler="synchronous")
    assert only.tolist() == fetched["acc_id"].tolist()
    keyed = boardlot_dask.from_keys(
        client, "fills_history", accounts, npartitions=2, trd_market="HK", **span
    )
    assert ids(keyed.compute(scheduler="synchronous")) == ids(fetched)


KLINE_SYMBOLS = ["HK.00700", "HK.00005", "HK.00001"]


def test_many_keys_of_a_declared_endpoint_are_a_frame(sandbox, client):
    for number, symbol in enumerate(KLINE_SYMBOLS):
        rows = [{"time": n + 1, "close": f"{number}.5", "volume": n} for n in range(150)]
        sandbox.serve(KLINE, rows, symbol=symbol)
    frame = boardlot_dask.from_keys(client, KLINE, KLINE_SYMBOLS, npartitions=2)
    computed = frame.compute(scheduler="synchronous")
    assert list(computed.columns) == ["symbol", "time", "open", "close", "volume"]
    assert computed["symbol"].unique().tolist() == KLINE_SYMBOLS and len(computed) == 450
    assert isinstance(computed["time"].dtype, pd.DatetimeTZDtype)
    assert computed["volume"].dtype == "Int64"
    assert frame.dtypes.to_dict() == computed.dtypes.to_dict()
    # The same declaration has the same name, and another has not.
    other = bl.Endpoint("kline", "GET", KLINE.path, record={"time": "seconds"})
    again, others = (
        boardlot_dask.from_keys(client, one, KLINE_SYMBOLS, npartitions=2) for one in (KLINE, other)
    )
    assert again._name == frame._name != others._name
