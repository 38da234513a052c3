"""The examples of docs/scale-out.md for Ray and Spark run as they are; DataFusion reads a pager."""

import datetime
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "scale-out.md").read_text("utf-8")
EXAMPLE = r"^```py\n(import boardlot\.(ray|spark)\n.*?)^```$"
EXAMPLES = {name: code for code, name in re.findall(EXAMPLE, PAGE, re.MULTILINE | re.DOTALL)}


@pytest.fixture
def run(service, tmp_path, monkeypatch):
    """Runs an example after what the page has before it, in an empty folder; what it writes."""
    monkeypatch.chdir(tmp_path)
    given = {"client": service.client, "account": service.asked["acc_id"], "dt": datetime}
    given |= {"start": service.asked["start"], "now": service.asked["end"]}

    def run(name):
        import pyarrow.dataset as ds

        exec(EXAMPLES[name], given)
        [folder] = (path for path in tmp_path.iterdir() if path.is_dir())
        table = ds.dataset(folder, exclude_invalid_files=True, format="parquet").to_table()
        return table.to_pandas()

    return run


def test_the_example_of_ray(service, run):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        written = run("ray")
    finally:
        ray.shutdown()
    since = service.asked["end"] - datetime.timedelta(days=7)
    expected = service.expected[service.expected["updated_time"] >= since]
    assert len(written) == len(expected) > 1_000
    assert written["qty"].sum() == expected["qty"].sum()


def test_the_example_of_spark(service, run):
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    try:
        written = run("spark").groupby("code")["sum(qty)"].sum().to_dict()
    finally:
        SparkSession.builder.getOrCreate().stop()
    assert written == service.expected.groupby("code")["qty"].sum().to_dict()


def test_datafusion_reads_a_pager(service):
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    expected = service.expected_of_code
    pager = service.client.fills_history(**service.asked, code=service.code)
    context.from_arrow(pager, "fills")
    found = context.sql("select count(*) as n, sum(qty) as total from fills").to_pydict()
    assert found == {"n": [len(expected)], "total": [expected["qty"].sum()]}
