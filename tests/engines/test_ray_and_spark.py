"""Ray and Spark read every fill once, from workers that die and tasks that fail."""

import importlib
import json
import sys
from datetime import datetime

import boardlot as bl
import pytest

from .conftest import FILLS, PAGES, PARTITIONS

pandas = pytest.importorskip("pandas")


class Ray:
    TIME = "timestamp[us, tz=UTC]"
    RETRYING = (("ray_remote_args", {"retry_exceptions": True, "max_retries": 50}),)

    def __enter__(self):
        self.ray = pytest.importorskip("ray")
        pytest.importorskip("ray.data")
        self.ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        self.ray.data.DataContext.get_current().enable_progress_bars = False
        return self

    def __exit__(self, *_):
        self.ray.shutdown()

    def read(self, client, method, **options):
        options = {name: value for name, value in options.items() if name != "push_filters"}
        read = importlib.import_module("boardlot.ray").read
        return read(client, method, ray_options=dict(self.RETRYING), **options)

    def types(self, dataset):
        return dict(zip(dataset.schema().names, map(str, dataset.schema().types), strict=True))

    def where(self, dataset, condition):
        from ray.data.expressions import col, lit

        return dataset.filter(expr=condition(col, lit))

    def table(self, dataset, *names):
        return dataset.select_columns([*names]).to_pandas()


class Spark:
    TIME = "timestamp"

    def __enter__(self):
        pytest.importorskip("pyspark")
        from pyspark.sql import SparkSession

        self.options = importlib.import_module("boardlot.spark").options
        # Two tasks at a time, each tried up to 30 times.
        builder = SparkSession.builder.master("local[2,30]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.python.filterPushdown.enabled", "true")
        builder = builder.config("spark.sql.session.timeZone", "Asia/Hong_Kong")
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        self.session.dataSource.register(sys.modules["boardlot.spark"].DataSource)
        return self

    def __exit__(self, *_):
        self.session.stop()

    def read(self, client, method, **options):
        reader = self.session.read.format("boardlot").options(**self.options(client))
        texts = {name: self.text(value) for name, value in options.items()}
        return reader.options(method=method, **texts).load()

    def text(self, value):
        if isinstance(value, datetime):
            return value.isoformat()
        return value if isinstance(value, str) else json.dumps(value)

    def types(self, frame):
        return dict(frame.dtypes)

    def where(self, frame, condition):
        from pyspark.sql import functions

        return frame.filter(condition(functions.col, functions.lit))

    def table(self, frame, *names):
        return pandas.DataFrame(frame.select(*names).collect(), columns=names)


@pytest.fixture(scope="module", params=[Ray, Spark], ids=lambda engine: engine.__name__)
def engine(request, service):
    with request.param() as running:
        yield running


@pytest.fixture
def read(engine, service):
    def read(client=None, **options):
        options = {**service.asked, "partitions": PARTITIONS, **options}
        return engine.read(client or service.client, "fills_history", **options)

    return read


ray_alone = pytest.mark.parametrize("engine", [Ray], indirect=True)
spark_alone = pytest.mark.parametrize("engine", [Spark], indirect=True)


def of_code(service, name="code"):
    return lambda column, literal: column(name) == literal(service.code)


def ids(table):
    return sorted(table["deal_id"])


def test_every_fill_is_read_once_with_declared_types(engine, service, read):
    rows = read()
    types = engine.types(rows)
    assert (types["price"], types["updated_time"]) == ("double", engine.TIME)
    with service.counted() as requests:
        assert ids(engine.table(rows, "deal_id")) == ids(service.expected)
    assert len(service.expected) == FILLS
    # Each partition's last page is not full.
    assert PAGES <= len(requests) <= PAGES + PARTITIONS


def test_columns_and_filters_are_the_requests_own_and_the_engines(engine, service, read):
    expected, rows = service.expected_of_code, read(push_filters=True)
    with service.counted() as requests:
        found = engine.table(engine.where(rows, of_code(service)), "qty")
    assert found.columns.tolist() == ["qty"]
    assert found["qty"].sum() == expected["qty"].sum() and len(found) == len(expected)
    assert len(requests) <= len(expected) // 50 + PARTITIONS + 1
    assert all(f"code={service.code}" in request.query for request in requests)
    rows = read(push_filters=True)
    assert engine.where(rows, of_code(service)).count() == len(expected)

    def later(column, literal):
        return column("updated_time") > literal(service.asked["end"])

    with service.counted() as requests:
        assert engine.where(read(push_filters=True), later).count() == 0
    assert len(requests) <= 1


def test_a_killed_worker_neither_loses_nor_doubles_a_fill(engine, service, read):
    with service.a_worker_is_killed() as killed:
        table = engine.table(read(), "deal_id")
    assert len(killed) == 1
    assert ids(table) == ids(service.expected)


def test_tasks_that_fail_are_tried_again(engine, service, read):
    rows = read(service.client_with(max_retries=0), partitions=40)
    with service.failing(drop_rate=0.003, seed=3):
        table = engine.table(rows, "deal_id")
    assert ids(table) == ids(service.expected)


def test_several_keys_have_a_column_of_their_own(engine, service):
    symbols = ["HK.00700", "US.AAPL", "SG.D05"]
    rows = engine.read(service.client, "dividends", symbol=symbols, partitions=2)
    expected = service.client.fetch_many("dividends", symbols).to_pandas()
    assert sorted(engine.table(rows, "symbol")["symbol"]) == sorted(expected["symbol"])


def test_keys_are_a_set_and_none_are_no_rows(engine, service):
    twice = engine.read(service.client, "dividends", symbol=["HK.00700"] * 2, partitions=2)
    assert twice.count() == 21
    none = engine.read(service.client, "dividends", symbol=[], partitions=2)
    assert none.count() == 0 and [*engine.types(none)][:2] == ["symbol", "fiscal_year"]


def test_a_shared_rate_limit_holds_for_all_workers(engine, service, read):
    name = f"test-engines-{type(engine).__name__}"
    limited = service.client_with(rate_limit=bl.RateLimit(10, name=name))
    with service.timed() as seen:
        engine.table(read(limited, code=service.code, partitions=8), "deal_id")
    # Two workers that do not share it would take half as long. What is left is for a first
    # request that is seen late.
    assert len(seen) > 40
    # time: the rate is what is promised
    assert seen[-1] - seen[0] >= 0.8 * (len(seen) - 1) / 10


@ray_alone
def test_a_renamed_column_is_filtered_by_its_new_name(engine, service, read):
    renamed = read(code=service.code).rename_columns({"code": "security", "stock_name": "code"})
    found = engine.where(renamed, of_code(service, "security"))
    found = engine.table(found, "security", "qty")
    assert found.columns.tolist() == ["security", "qty"]
    assert found["qty"].sum() == service.expected_of_code["qty"].sum()
    assert len(found) == len(service.expected_of_code)


@ray_alone
@pytest.mark.parametrize("version", ["2.50.0", "2.54.1"])
def test_a_ray_that_leaves_renaming_to_the_source_is_rejected(engine, monkeypatch, version):
    monkeypatch.setattr(engine.ray, "__version__", version)
    monkeypatch.delitem(sys.modules, "boardlot.ray", raising=False)
    with pytest.raises(ImportError, match=r"needs Ray 2\.60 or newer"):
        importlib.import_module("boardlot.ray")


@spark_alone
def test_only_the_columns_that_are_named_are_made(engine, service, read):
    frame = read(columns="qty, code", partitions=2)
    assert frame.columns == ["qty", "code"]
    assert engine.table(frame, "qty")["qty"].sum() == service.expected["qty"].sum()


@spark_alone
def test_without_the_option_queries_of_one_frame_do_not_share_filters(engine, service, read):
    frame = read()
    assert engine.where(frame, of_code(service)).count() == len(service.expected_of_code)
    assert frame.count() == FILLS


@spark_alone
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partitions": "0"}, "partitions is '0'; expected a positive integer"),
        ({"columns": "color"}, "color is not a column; expected some of trd_side"),
        ({"color": "red"}, "unknown argument 'color'"),
        ({"push_filters": "yes"}, "push_filters is 'yes'"),
        ({"acc_id": "[1"}, "acc_id is not a valid JSON list"),
    ],
)
def test_an_invalid_option_is_rejected_before_anything_is_sent(service, read, options, words):
    with service.counted() as requests, pytest.raises(Exception, match=words):
        read(**options)
    assert requests == []
