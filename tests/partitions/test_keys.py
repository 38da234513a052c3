"""Keys are a set in the given order; without any, a result is empty and has its columns."""

import boardlot as bl
import boardlot.polars
import polars as pl
import pytest
from boardlot._support.partitions import Query, plan

from .rows import fills

SANDBOX = {"fills": 400}
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
