"""Spark reads every fill once, from workers that die and tasks that fail."""

import boardlot as bl
import pytest

pytest.importorskip("pyspark")

import boardlot.spark
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from .conftest import FILLS, PAGES, PARTITIONS


@pytest.fixture(scope="module")
def spark(service):
    # Two tasks at a time, each tried up to 30 times.
    builder = SparkSession.builder.master("local[2,30]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.python.filterPushdown.enabled", "true")
    builder = builder.config("spark.sql.session.timeZone", "Asia/Hong_Kong")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(boardlot.spark.DataSource)
    yield session
    session.stop()


@pytest.fixture
def load(spark, service):
    def load(client=None, **options):
        times = {name: service.asked[name].isoformat() for name in ("start", "end")}
        asked = {**service.asked, **times, "partitions": str(PARTITIONS), **options}
        reader = spark.read.format("boardlot").option("method", "fills_history")
        reader = reader.options(**boardlot.spark.options(client or service.client))
        return reader.options(**asked).load()

    return load


def ids(frame):
    return sorted(row.deal_id for row in frame.select("deal_id").collect())


def test_every_fill_is_read_once_with_declared_types(service, load):
    frame = load()
    types = dict(frame.dtypes)
    assert (types["price"], types["updated_time"]) == ("double", "timestamp")
    with service.counted() as requests:
        assert ids(frame) == sorted(service.expected["deal_id"])
    assert len(service.expected) == FILLS
    assert PAGES <= len(requests) <= PAGES + PARTITIONS


def test_only_the_columns_that_are_named_are_made(service, load):
    frame = load(columns="qty, code", partitions="2")
    assert frame.columns == ["qty", "code"]
    [(total,)] = frame.agg(f.sum("qty")).collect()
    assert total == service.expected["qty"].sum()


def test_filters_are_the_requests_own_and_sparks(service, load):
    code = service.expected["code"].mode()[0]
    count = int((service.expected["code"] == code).sum())
    with service.counted() as requests:
        assert load(push_filters="true").filter(f.col("code") == code).count() == count
    assert len(requests) <= count // 50 + PARTITIONS + 1
    assert all(f"code={code}" in request.query for request in requests)
    with service.counted() as requests:
        never = f.col("updated_time") > f.lit(service.asked["end"])
        assert load(push_filters="true").filter(never).count() == 0
    assert len(requests) <= 1


def test_without_the_option_queries_of_one_frame_do_not_share_filters(service, load):
    frame = load()
    code = service.expected["code"].mode()[0]
    count = int((service.expected["code"] == code).sum())
    assert frame.filter(f.col("code") == code).count() == count
    assert frame.count() == FILLS


def test_a_killed_worker_neither_loses_nor_doubles_a_fill(service, load):
    frame = load()
    with service.a_worker_is_killed() as killed:
        found = ids(frame)
    assert len(killed) == 1
    assert found == sorted(service.expected["deal_id"])


def test_tasks_that_fail_are_tried_again(service, load):
    frame = load(service.client_with(max_retries=0), partitions="40")
    service.sandbox.faults = bl.Faults(drop_rate=0.003, seed=3)
    try:
        found = ids(frame)
    finally:
        service.sandbox.faults = None
    assert found == sorted(service.expected["deal_id"])


def test_several_keys_are_a_json_list(service, spark):
    reader = spark.read.format("boardlot").options(**boardlot.spark.options(service.client))
    frame = reader.options(method="dividends", symbol='["HK.00700", "US.AAPL"]').load()
    counts = {row["symbol"]: row["count"] for row in frame.groupBy("symbol").count().collect()}
    assert counts == {"HK.00700": 21, "US.AAPL": 76}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partitions": "0"}, "partitions is '0'; expected a positive integer"),
        ({"columns": "colour"}, "colour is not a column; expected some of trd_side"),
        ({"colour": "red"}, "unknown argument 'colour'"),
        ({"push_filters": "yes"}, "push_filters is 'yes'"),
        ({"acc_id": "[1"}, "acc_id is not a valid JSON list"),
    ],
)
def test_an_invalid_option_is_rejected_before_anything_is_sent(service, load, options, words):
    with service.counted() as requests, pytest.raises(Exception, match=words):
        load(**options)
    assert requests == []


def test_a_shared_rate_limit_holds_for_all_workers(service, load):
    limited = service.client_with(rate_limit=bl.RateLimit(10, name="test-engines-spark"))
    code = service.expected["code"].mode()[0]
    with service.timed() as seen:
        assert load(limited, code=code, partitions="8").count() > 1_000
    # Two workers that do not share it would take half as long. What is left is for a first
    # request that is seen late.
    assert len(seen) > 40
    # time: the rate is what is promised
    assert seen[-1] - seen[0] >= 0.8 * (len(seen) - 1) / 10


def test_keys_are_a_set_and_none_are_no_rows(service, spark):
    reader = spark.read.format("boardlot").options(**boardlot.spark.options(service.client))
    twice = reader.options(method="dividends", symbol='["HK.00700", "HK.00700"]').load()
    assert twice.count() == 21
    none = reader.options(method="dividends", symbol="[]").load()
    assert none.count() == 0 and none.columns[:2] == ["symbol", "fiscal_year"]
