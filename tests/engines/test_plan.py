"""The plan: every row in exactly one partition, whatever the borders and filters are."""

import pickle
from datetime import timedelta

import boardlot as bl
import boardlot.polars
import polars as pl
import pytest
from boardlot._support.engines.partitions import Condition, Filters, Query, plan, refer
from hypothesis import HealthCheck, given, settings, strategies as st

from .rows import BASE, CODES, COMPARE, EPOCH, account_of, at, fills

SANDBOX = {"fills": 400}
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Few microseconds, so that many rows have the same time, and many a time at a border.
TIMES = st.lists(st.integers(1, 30), max_size=60)


@QUICK
@given(
    times=TIMES, parts=st.integers(1, 40), bounds=st.tuples(st.integers(0, 30), st.integers(1, 9))
)
def test_every_row_is_in_exactly_one_partition(sandbox, client, times, parts, bounds):
    rows = fills(times)
    account = account_of(sandbox, rows)
    start, end = bounds[0], bounds[0] + bounds[1]
    arguments = {"acc_id": account, "trd_market": "HK", "start": at(start), "end": at(end)}
    expected = [fill["deal_id"] for fill in client.fills_history(**arguments)]
    partitions = plan(client, Query.of("fills_history", arguments), parts)
    assert len(partitions) == min(parts, end - start)
    read = [row["deal_id"] for part in partitions for row in part.read(client, ["deal_id"])[1]]
    # In the order of the list, so also none twice.
    assert read == expected
    inside = {r["deal_id"] for r in rows if BASE + start < r["updated_time"] < BASE + end}
    assert inside <= set(expected)


CONDITIONS = st.lists(
    st.one_of(
        st.builds(Condition, st.just("code"), st.just("=="), st.sampled_from([*CODES, "HK.9", ""])),
        st.builds(
            Condition,
            st.just("updated_time"),
            st.sampled_from(["==", "<", "<=", ">", ">="]),
            st.integers(-3, 33).map(at),
        ),
        st.builds(Condition, st.just("qty"), st.just("<"), st.integers(0, 60)),
    ),
    max_size=3,
)


def meets(row, conditions):
    typed = {**row, "updated_time": EPOCH + timedelta(microseconds=row["updated_time"])}
    typed["qty"] = int(row["qty"])
    return all(COMPARE[c.operator](typed[c.column], c.value) for c in conditions)


@QUICK
@given(times=TIMES, parts=st.integers(1, 5), conditions=CONDITIONS)
def test_filters_that_are_pushed_down_and_applied_again_are_the_filters_alone(
    sandbox, client, times, parts, conditions
):
    rows = fills(times)
    account = account_of(sandbox, rows)
    arguments = {"acc_id": account, "trd_market": "HK", "start": at(0), "end": at(31)}
    query = Query.of("fills_history", arguments)
    expected = [row["deal_id"] for row in rows if meets(row, conditions)]
    read = [
        row
        for partition in plan(client, query, parts, Filters.of(conditions))
        for row in partition.read(client, query.columns())[1]
    ]
    assert [row["deal_id"] for row in read if meets(row, conditions)] == expected


def test_keys_are_split_before_ranges(sandbox, client):
    accounts = [account_of(sandbox, fills([1, 2])) for _ in range(4)]
    arguments = {"acc_id": accounts, "trd_market": "HK", "start": at(0), "end": at(9)}
    query = Query.of("fills_history", arguments)
    assert [p.keys for p in plan(client, query, 2)] == [tuple(accounts[:2]), tuple(accounts[2:])]
    many = plan(client, query, 8)
    assert [(p.keys, p.part, p.parts) for p in many] == [
        ((account,), part, 2) for account in accounts for part in range(2)
    ]
    for partitions in (plan(client, query, 2), many):
        keyed = [
            (key or row["acc_id"], row["deal_id"])
            for partition in partitions
            for key, rows in [partition.read(client, ["acc_id", "deal_id"])]
            for row in (rows.dicts() if hasattr(rows, "dicts") else rows)
        ]
        assert keyed == [(account, each) for account in accounts for each in ("0", "1")]


def test_an_open_range_ends_once_for_all_partitions(sandbox, client):
    account = sandbox.accounts["trade"][0]
    query = Query.of("fills_history", {"acc_id": account, "trd_market": "HK"})
    before = client.server_time()
    partitions = plan(client, query, 3)
    ends = {dict(partition.query.arguments)["end"] for partition in partitions}
    # The service tells whole milliseconds.
    after = client.server_time() + timedelta(milliseconds=1)
    assert len(ends) == 1 and before <= ends.pop() <= after


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"trd_market": "HK"}, "acc_id is missing"),
        ({"acc_id": "1", "trd_market": "HK", "code": "x" * 33}, "code is"),
        ({"acc_id": ["1", "2"], "trd_market": ["HK"]}, "acc_id and trd_market are lists"),
        ({"acc_id": ["1", 2.5], "trd_market": "HK"}, "acc_id is 2.5"),
        ({"acc_id": "1", "trd_market": "HK", "color": "red"}, "unknown argument 'color'"),
    ],
)
def test_an_invalid_argument_is_rejected_before_anything_is_sent(sandbox, client, arguments, words):
    before = len(sandbox.requests)
    with pytest.raises(bl.ConfigError, match=words):
        plan(client, Query.of("fills_history", arguments), 2)
    assert len(sandbox.requests) == before


@pytest.mark.parametrize("partitions", [0, 2.0, True, "2"])
def test_the_number_of_partitions_is_a_positive_integer(client, partitions):
    query = Query.of("dividends", {"symbol": "HK.00700"})
    with pytest.raises(bl.ConfigError, match="expected a positive integer"):
        plan(client, query, partitions)


def test_a_part_that_no_range_has_is_rejected(client):
    arguments = [("acc_id", "1"), ("trd_market", "HK"), ("start", at(0)), ("end", at(2))]
    for part in [(2, 2), (0, 3)]:
        with pytest.raises(bl.ConfigError, match="is not a part of this call's time range"):
            client._boardlot_core.part_of_pages(client, "fills_history", arguments, part)
    with pytest.raises(bl.ConfigError, match="has no time range"):
        client._boardlot_core.part_of_pages(
            client, "plate_stocks", [("plate_code", "HK.BK1001")], (0, 2)
        )


def test_a_partition_and_its_reference_have_no_secret(client):
    query = Query.of("dividends", {"symbol": ["HK.00700", "US.AAPL"]})
    [first, _] = plan(client, query, 2)
    sent = pickle.dumps((refer(client), first))
    assert b"PRIVATE KEY" not in sent
    reference, partition = pickle.loads(sent)
    with reference.client() as of_worker:
        key, rows = partition.read(of_worker, ["ex_date"])
    assert (key, len(rows)) == (None, 21)


@pytest.mark.parametrize(
    "credentials",
    [
        lambda _: bl.ApiKey("key", bl.generate_key().private_pem),
        lambda _: bl.BearerToken("canary-1"),
        lambda _: bl.OAuth("client", store=bl.MemoryStore()),
        lambda path: bl.OAuth("client", store=bl.EncryptedFileStore(path, lambda: "canary-2")),
    ],
)
def test_credentials_without_a_reference_are_rejected(credentials, tmp_path):
    client = bl.Client("https://api.example.com", auth=credentials(tmp_path / "tokens"))
    with pytest.raises(bl.ConfigError) as refused:
        refer(client)
    assert "canary" not in str(refused.value)


LISTS = {
    "fills_history": ("acc_id", {"trd_market": "HK"}),
    "crypto_orders": ("acc_id", {}),
    "sim_positions": ("acc_id", {}),
    "dividends": ("symbol", {}),
    "ipo_list": ("market", {}),
    bl.Endpoint(
        "flow", "GET", "/api/v1.0/{day}/{n}", rows="data.list", record={"a": "decimal"},
        arguments={"day": "date", "n": "integer"},
    ): ("day", {"n": 1}),
}  # fmt: skip


@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("again", [["1", 1], [1, "2", "1", 2, "1"]])
def test_a_key_that_is_given_twice_is_read_once_where_it_came_first(
    sandbox, client, again, partitions
):
    for account in ("1", "2"):
        sandbox.put("fills_history", fills([1, 2, 3]), account=account)
    once = list(dict.fromkeys(map(str, again)))
    asked = {"trd_market": "HK", "start": "2026-01-01"}
    query = Query.of("fills_history", {"acc_id": again, **asked})
    planned = [key for part in plan(client, query, partitions) for key in part.keys]
    assert list(dict.fromkeys(map(str, planned))) == once
    frame = boardlot.polars.scan(client, "fills_history", acc_id=again, **asked).collect()
    assert frame["acc_id"].to_list() == [account for account in once for _ in range(3)]


@pytest.mark.parametrize("method", LISTS, ids=lambda method: getattr(method, "name", method))
@pytest.mark.parametrize("keys", [[], iter(())], ids=["list", "iterator"])
def test_without_keys_nothing_is_sent_and_every_column_is_there(sandbox, client, method, keys):
    name, fixed = LISTS[method]
    sent = len(sandbox.requests)
    lazy = boardlot.polars.scan(client, method, **{name: keys}, **fixed)
    for query in (lazy, lazy.head(3), lazy.filter(pl.col(name) == "x")):
        frame = query.collect()
        assert frame.is_empty() and frame.schema == lazy.collect_schema()
    assert lazy.select(pl.len()).collect().item() == 0
    assert lazy.collect_schema().names()[0] == name and len(lazy.collect_schema()) > 1
    assert len(sandbox.requests) == sent


def test_without_keys_the_other_arguments_are_checked(client):
    with pytest.raises(bl.ConfigError, match="page_size is 51"):
        boardlot.polars.scan(client, "fills_history", acc_id=[], trd_market="HK", page_size=51)
