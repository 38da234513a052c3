"""Dask frames as Parquet: whole files only, and a rerun that fetches what is missing."""

from datetime import timedelta

import boardlot as bl
import pytest

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

from boardlot.dask import from_keys, from_range, write_missing  # noqa: E402

from ..support.keys import uploaded_key  # noqa: E402
from ..support.processes import program, run_python  # noqa: E402

SYMBOLS = ["HK.00700", "US.AAPL", "SG.D05", "HK.00005"]


@pytest.fixture
def client(sandbox, tmp_path):
    auth = bl.ApiKey(*uploaded_key(sandbox, tmp_path))
    with bl.Client(sandbox.base_url, auth=auth) as client:
        yield client


@pytest.fixture
def one_by_one():
    """Partitions one after another in this process, where a test can make them fail."""
    with dask.config.set(scheduler="synchronous"):
        yield


def dividends(client, **options):
    return from_keys(client, "dividends", SYMBOLS, npartitions=4, **options)


def fetched(sandbox, since):
    return sum("dividends" in request.path for request in sandbox.requests[since:])


# Of DuckDB, about how it calls pandas.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_a_cluster_lands_fills_as_parquet_that_every_reader_reads(client, cluster, tmp_path):
    import duckdb
    import pandas
    import polars

    now = client.server_time()
    span = {"start": now - timedelta(days=60), "end": now, "npartitions": 5}
    frame = from_range(client, "fills_history", acc_id="281756", trd_market="HK", **span)
    folder = tmp_path / "fills"
    written = write_missing(frame, folder)
    assert write_missing(frame, folder) == []
    assert written == sorted(folder.iterdir()) and len(written) == 5
    local = client.fills_history("281756", "HK", start=span["start"], end=span["end"]).to_pandas()
    for read in (
        pandas.read_parquet(folder),
        polars.read_parquet(folder).to_pandas(),
        duckdb.sql(f"select * from '{folder}/*.parquet'").df(),
        dask.dataframe.read_parquet(folder).compute(),
    ):
        assert sorted(read["deal_id"]) == sorted(local["deal_id"])
        assert read.columns.tolist() == local.columns.tolist()
    times = polars.read_parquet(folder)["updated_time"]
    assert times.dtype == polars.Datetime("us", "UTC")


MAKE_PARTS = program(__file__, "make_parts")


def test_a_rerun_in_another_process_and_at_another_pace_is_the_same(client, tmp_path, one_by_one):
    """The names of the parts are the same, wherever and however they are fetched."""
    auth = client.__reduce__()[1][1]["auth"]
    now = int(client.server_time().timestamp()) * 10**6
    keys = from_keys(client, "dividends", ["HK.00700"], npartitions=1)
    span = {"start": now - 10**12, "end": now, "npartitions": 3}
    fills = from_range(client, "fills_history", acc_id="281756", trd_market="HK", **span)
    frames = enumerate([keys, fills, fills[fills["qty"] > 500]])
    mine = [[part.name for part in write_missing(one, tmp_path / str(n))] for n, one in frames]
    out, _ = run_python(MAKE_PARTS, client.base_url, auth.key_id, tmp_path / "key.pem", now)
    assert [line.split() for line in out.splitlines()] == mine
    assert len({names[0] for names in mine}) == 3


def test_a_rerun_fetches_only_what_is_missing(sandbox, client, tmp_path, one_by_one):
    folder = tmp_path / "parts"
    folder.mkdir()
    # What a killed run left is removed and not used.
    (folder / ".part-00001-abc.writing").write_bytes(b"half")
    written = write_missing(dividends(client), folder)
    assert written == sorted(folder.iterdir())
    assert [path.name[:10] for path in written] == [f"part-0000{place}" for place in range(4)]
    before = written[0].stat().st_mtime_ns
    written[1].unlink()
    written[3].unlink()
    since = len(sandbox.requests)
    assert write_missing(dividends(client, concurrency=2), tmp_path / "parts") == written[1::2]
    assert fetched(sandbox, since) == 2
    assert written[0].stat().st_mtime_ns == before


def test_a_partition_that_breaks_off_leaves_no_file(
    sandbox, client, tmp_path, one_by_one, monkeypatch
):
    import pandas as pd

    whole = pd.DataFrame.to_parquet
    calls = []

    def full_disk(frame, file, **options):
        calls.append(file)
        whole(frame, file, **options)
        if len(calls) == 2:
            file.truncate(100)
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full_disk)
    folder = tmp_path / "parts"
    with pytest.raises(OSError, match="No space left"):
        write_missing(dividends(client), folder)
    (kept,) = folder.iterdir()
    assert kept.name.startswith("part-") and kept.suffix == ".parquet"
    since = len(sandbox.requests)
    assert len(write_missing(dividends(client), folder)) == 3
    assert fetched(sandbox, since) == 3
    assert len(pd.read_parquet(folder)) == len(client.fetch_many("dividends", SYMBOLS))


@pytest.mark.parametrize("kept", [0, -1], ids=lambda kept: f"[:{kept}]")
def test_a_part_that_is_not_whole_is_written_again(kept, sandbox, client, tmp_path, one_by_one):
    written = write_missing(dividends(client), tmp_path)
    before = [path.read_bytes() for path in written]
    written[2].write_bytes(before[2][:kept])
    since = len(sandbox.requests)
    assert write_missing(dividends(client), tmp_path) == [written[2]]
    assert fetched(sandbox, since) == 1
    assert [path.read_bytes() for path in written] == before


def test_a_folder_of_another_frame_is_rejected(sandbox, client, tmp_path, one_by_one):
    write_missing(dividends(client), tmp_path)
    since = len(sandbox.requests)
    with pytest.raises(bl.ConfigError, match="parts of another frame, such as part-00000-"):
        write_missing(from_keys(client, "dividends", SYMBOLS, npartitions=3), tmp_path)
    assert fetched(sandbox, since) == 0


def test_a_frame_made_from_another_can_be_written(client, tmp_path, one_by_one):
    import pandas as pd

    frame = dividends(client)
    large = frame[frame["dividend_per_share"] > 1.0][["symbol", "dividend_per_share"]]
    assert len(write_missing(large, tmp_path / "large")) == 4
    assert write_missing(large, tmp_path / "large") == []
    assert pd.read_parquet(tmp_path / "large")["dividend_per_share"].min() > 1.0
