"""Ray reads every fill once, from workers that die and tasks that fail."""

import importlib
import sys

import boardlot as bl
import pytest

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

import boardlot.ray  # noqa: E402
from ray.data.expressions import col, lit  # noqa: E402

from .conftest import FILLS, PAGES, PARTITIONS  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture
def read(service):
    def read(client=None, **options):
        options = {**service.asked, "partitions": PARTITIONS, **options}
        return boardlot.ray.read(client or service.client, "fills_history", **options)

    return read


def test_every_fill_is_read_once_with_declared_types(service, read):
    dataset = read()
    types = dict(zip(dataset.schema().names, map(str, dataset.schema().types), strict=True))
    assert types["price"] == "double" and types["updated_time"] == "timestamp[us, tz=UTC]"
    with service.counted() as requests:
        table = dataset.to_pandas()
    assert sorted(table["deal_id"]) == sorted(service.expected["deal_id"])
    assert len(table) == FILLS
    # Each partition's last page is not full.
    assert PAGES <= len(requests) <= PAGES + PARTITIONS


def test_columns_and_filters_are_the_requests_own(service, read):
    code = service.expected["code"].mode()[0]
    expected = service.expected[service.expected["code"] == code]
    with service.counted() as requests:
        found = read().filter(expr=col("code") == lit(code)).select_columns(["qty"]).to_pandas()
    assert found.columns.tolist() == ["qty"]
    assert found["qty"].sum() == expected["qty"].sum() and len(found) == len(expected)
    assert len(requests) <= len(expected) // 50 + PARTITIONS + 1
    assert all(f"code={code}" in request.query for request in requests)
    assert read().filter(expr=col("code") == lit(code)).count() == len(expected)
    later = lit(service.asked["end"])
    with service.counted() as requests:
        assert read().filter(expr=col("updated_time") > later).count() == 0
    assert len(requests) <= 1


def test_a_killed_worker_neither_loses_nor_doubles_a_fill(service, read):
    with service.a_worker_is_killed() as killed:
        table = read().select_columns(["deal_id"]).to_pandas()
    assert len(killed) == 1
    assert sorted(table["deal_id"]) == sorted(service.expected["deal_id"])


def test_tasks_that_fail_are_tried_again(service, read):
    fragile = service.client_with(max_retries=0)
    options = {"ray_remote_args": {"retry_exceptions": True, "max_retries": 50}}
    service.sandbox.faults = bl.Faults(drop_rate=0.003, seed=3)
    try:
        table = read(fragile, partitions=40, ray_options=options).to_pandas()
    finally:
        service.sandbox.faults = None
    assert sorted(table["deal_id"]) == sorted(service.expected["deal_id"])


def test_several_keys_have_a_column_of_their_own(service):
    symbols = ["HK.00700", "US.AAPL", "SG.D05"]
    dataset = boardlot.ray.read(service.client, "dividends", symbol=symbols, partitions=2)
    counts = dataset.to_pandas().groupby("symbol").size().to_dict()
    expected = service.client.fetch_many("dividends", symbols).to_pandas()
    assert counts == expected.groupby("symbol").size().to_dict()


def test_a_renamed_column_is_filtered_by_its_new_name(service, read):
    code = service.expected["code"].mode()[0]
    expected = service.expected[service.expected["code"] == code]
    renamed = read(code=code).rename_columns({"code": "security", "stock_name": "code"})
    found = renamed.filter(expr=col("security") == lit(code)).select_columns(["security", "qty"])
    found = found.to_pandas()
    assert found.columns.tolist() == ["security", "qty"]
    assert found["qty"].sum() == expected["qty"].sum() and len(found) == len(expected)


@pytest.mark.parametrize("version", ["2.50.0", "2.54.1"])
def test_a_ray_that_leaves_renaming_to_the_source_is_rejected(monkeypatch, version):
    monkeypatch.setattr(ray, "__version__", version)
    monkeypatch.delitem(sys.modules, "boardlot.ray")
    with pytest.raises(ImportError, match=r"needs Ray 2\.60 or newer"):
        importlib.import_module("boardlot.ray")


def test_a_shared_rate_limit_holds_for_all_workers(service, read):
    limited = service.client_with(rate_limit=bl.RateLimit(10, name="test-engines-ray"))
    code = service.expected["code"].mode()[0]
    with service.timed() as seen:
        read(limited, code=code, partitions=8).materialize()
    # Two workers that do not share it would take half as long. What is left is for a first
    # request that is seen late.
    assert len(seen) > 40
    # time: the rate is what is promised
    assert seen[-1] - seen[0] >= 0.8 * (len(seen) - 1) / 10


def test_keys_are_a_set_and_none_are_no_rows(service):
    twice = boardlot.ray.read(service.client, "dividends", symbol=["HK.00700"] * 2, partitions=2)
    assert twice.count() == 21
    asked = {"trd_market": "HK", "partitions": 2}
    none = boardlot.ray.read(service.client, "fills_history", acc_id=[], **asked)
    assert none.count() == 0 and none.schema().names[:2] == ["acc_id", "trd_side"]
