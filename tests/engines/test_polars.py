"""polars LazyFrames: what is fetched for a query, and that its result is that of an eager frame."""

import importlib
import sys

import boardlot as bl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from .rows import BASE, CODES, COMPARE, account_of, at, fills

pl = pytest.importorskip("polars")

import boardlot.polars  # noqa: E402

SANDBOX = {"fills": 400}
ENGINES = ["in-memory", "streaming"]


@pytest.fixture(scope="module")
def listed(sandbox, client):
    """A scan of 120 fills, and what `fills_history` makes of them."""
    account = account_of(sandbox, fills([n // 3 for n in range(3, 123)]))
    arguments = {"acc_id": account, "trd_market": "HK", "start": at(0), "end": at(60)}
    lazy = boardlot.polars.scan(client, "fills_history", **arguments)
    return lazy, client.fills_history(**arguments).to_polars()


@pytest.fixture
def sent(sandbox):
    """The number of requests since the test began, and the last of them."""
    before = len(sandbox.requests)
    return lambda: [request.query for request in sandbox.requests[before:]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_is_what_to_polars_returns(listed, sent, engine, tmp_path):
    lazy, eager = listed
    assert lazy.collect_schema() == eager.schema
    assert sent() == []
    assert lazy.collect(engine=engine).equals(eager)
    assert len(sent()) == 3
    lazy.sink_parquet(tmp_path / "fills.parquet")
    assert pl.read_parquet(tmp_path / "fills.parquet").equals(eager)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_rows_take_one_request(listed, sent, engine):
    lazy, eager = listed
    assert lazy.head(10).collect(engine=engine).equals(eager.head(10))
    assert len(sent()) == 1
    assert lazy.select("code").head(60).collect(engine=engine).equals(eager.select("code").head(60))
    assert len(sent()) == 3


def test_a_filter_on_the_security_or_the_time_is_the_requests_own(listed, sent):
    lazy, eager = listed
    condition = (pl.col("code") == CODES[1]) & (pl.col("updated_time") >= at(30))
    assert lazy.filter(condition).collect().equals(eager.filter(condition))
    [query] = sent()
    assert f"code={CODES[1]}&start={BASE + 29}&end={BASE + 60}" in query
    between = pl.col("updated_time").is_between(at(10), at(12))
    assert lazy.filter(between).select("qty").collect().equals(eager.filter(between).select("qty"))
    assert f"start={BASE + 9}&end={BASE + 13}" in sent()[-1]
    before = len(sent())
    assert lazy.filter(pl.col("updated_time") < at(-1)).collect().is_empty()
    assert len(sent()) == before


def test_several_keys_have_a_column_of_their_own(client, sent):
    symbols = ["HK.00700", "US.AAPL"]
    lazy = boardlot.polars.scan(client, "dividends", symbol=symbols)
    eager = client.fetch_many("dividends", symbols).to_polars()
    before = len(sent())
    assert lazy.collect().equals(eager)
    assert lazy.group_by("symbol").len().sort("symbol").collect().rows() == [
        ("HK.00700", 21), ("US.AAPL", 61),
    ]  # fmt: skip
    assert len(sent()) == before + 4
    assert lazy.head(3).select("symbol").collect().rows() == [("HK.00700",)] * 3
    assert len(sent()) == before + 5
    assert lazy.select(pl.len()).collect().item() == 82


def test_one_value_has_no_column(client):
    lazy = boardlot.polars.scan(client, "dividends", symbol="HK.00700", decimals="string")
    assert lazy.collect().equals(client.dividends("HK.00700").to_polars(decimals="string"))


@pytest.mark.parametrize("version", ["1.18.0", "1.21.3"])
def test_a_polars_that_loses_filters_of_a_source_is_rejected(monkeypatch, version):
    monkeypatch.setattr(pl, "__version__", version)
    monkeypatch.delitem(sys.modules, "boardlot.polars")
    with pytest.raises(ImportError, match=r"needs polars 1\.22 or newer"):
        importlib.import_module("boardlot.polars")


def test_errors_are_the_clients_own(client, sent):
    lazy = boardlot.polars.scan(client, "dividends", symbol="HK.99999")
    assert sent() == []
    with pytest.raises(bl.InvalidSymbol):
        lazy.collect()
    for arguments, options, words in [
        ((client, "dividends"), {}, "symbol is missing"),
        ((client, "plate_stocks"), {"plate_code": "HK.BK1001"}, "does not show the fields"),
        (("live", "dividends"), {"symbol": "HK.00700"}, "expected a Client"),
    ]:
        with pytest.raises(bl.ConfigError, match=words):
            boardlot.polars.scan(*arguments, **options)


# Codes that the client would not send.
REFUSED = ["", "x y", " HK.00700", "hk.00700", "HK.00700/..", "é", "A" * 33, "\0", "\n"]


@pytest.mark.parametrize("code", REFUSED)
def test_a_code_that_the_client_refuses_is_a_filter_of_the_engine(listed, code):
    lazy, eager = listed
    for condition in (pl.col("code") == code, pl.lit(code) == pl.col("code")):
        assert lazy.filter(condition).collect().equals(eager.filter(condition))
        later = condition & (pl.col("updated_time") > at(30))
        assert lazy.filter(later).select("qty").collect().is_empty()


OPERATIONS = st.sampled_from([*COMPARE])


def conditions():
    """A filter, as a function of nothing: polars expressions have no repr to shrink by."""
    time, code = pl.col("updated_time"), pl.col("code")
    times = st.builds(
        lambda op, n, swap: COMPARE[op](pl.lit(at(n)), time) if swap else COMPARE[op](time, at(n)),
        OPERATIONS, st.integers(-2, 45), st.booleans(),
    )  # fmt: skip
    nanos = st.builds(
        lambda op, n: COMPARE[op](time, pl.lit(at(n)).cast(pl.Datetime("ns", "UTC"))),
        OPERATIONS, st.integers(-2, 45),
    )  # fmt: skip
    codes = st.builds(lambda value: code == value, st.sampled_from([*CODES, "HK.1", *REFUSED]))
    others = st.builds(lambda n: pl.col("qty") < n, st.integers(0, 130))
    one = st.one_of(times, codes, others, nanos)
    return st.recursive(one, lambda inner: st.builds(
        lambda a, b, both: (a & b) if both else (a | b), inner, inner, st.booleans()
    ), max_leaves=4)  # fmt: skip


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("filter"), conditions()),
        st.tuples(st.just("head"), st.integers(0, 130)),
        st.tuples(st.just("slice"), st.integers(0, 60)),
    ),
    max_size=3,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS, columns=st.lists(st.sampled_from(["code", "qty", "status"]), unique=True),
       engine=st.sampled_from(ENGINES))  # fmt: skip
def test_every_query_has_the_result_of_an_eager_frame(listed, steps, columns, engine):
    lazy, eager = listed
    for name, value in steps:
        arguments = (value, 40) if name == "slice" else (value,)
        lazy, eager = getattr(lazy, name)(*arguments), getattr(eager, name)(*arguments)
    if columns:
        lazy, eager = lazy.select(columns), eager.select(columns)
    assert lazy.collect(engine=engine).equals(eager)
