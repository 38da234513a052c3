"""Frames of records: types, nulls, exactness, and the words where a library is missing."""

import json
import sys
from decimal import Decimal
from typing import Any

import pytest
from boardlot import _core, errors, frames

from ..support.fake_records import FakeRecords, Field

pa = pytest.importorskip("pyarrow")

BIG = 2**63 - 1
SCHEMA = (
    Field("code", "text"),
    Field("whole", "integer"),
    Field("part", "integer"),
    Field("number", "number"),
    Field("flag", "flag"),
    Field("maybe", "flag"),
    Field("price", "decimal"),
    Field("s", "timestamp", "s"),
    Field("ms", "timestamp", "ms"),
    Field("us", "timestamp", "us"),
    Field("day", "date"),
    Field("pair", "object"),
)
ROWS = [
    {
        "code": "HK.1", "whole": BIG, "part": BIG, "number": 1.5, "flag": True, "maybe": True,
        "price": "0.1", "s": 1, "ms": 1, "us": "1", "day": "2026-01-02", "pair": {"base": "BTC"},
    },
    {
        "code": None, "whole": 1 - BIG, "part": None, "number": None, "flag": False, "maybe": None,
        "price": "", "s": 0, "ms": 0, "us": "", "day": "--", "pair": None,
    },
]  # fmt: skip


def records(rows: Any = ROWS) -> FakeRecords:
    return FakeRecords(rows, SCHEMA)


def test_pandas_types_and_nulls() -> None:
    pd = pytest.importorskip("pandas")
    frame = frames.to_pandas(records())
    assert list(frame.columns) == [field.name for field in SCHEMA]
    dtypes = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert dtypes.pop("code") in ("str", "object")
    assert dtypes == {
        "whole": "int64",
        "part": "Int64",
        "number": "float64",
        "flag": "bool",
        "maybe": "boolean",
        "price": "float64",
        "s": "datetime64[s, UTC]",
        "ms": "datetime64[ms, UTC]",
        "us": "datetime64[us, UTC]",
        "day": "datetime64[ms]",
        "pair": "object",
    }
    assert frame["whole"].tolist() == [BIG, 1 - BIG]
    assert frame["part"][0] == BIG and frame["part"][1] is pd.NA
    assert frame["us"][0] == pd.Timestamp(1, unit="us", tz="UTC")
    assert frame["day"][0] == pd.Timestamp("2026-01-02")
    assert frame.loc[1].isna().tolist() == [name not in ("whole", "flag") for name in frame.columns]


def test_pandas_of_no_rows_has_every_column() -> None:
    pytest.importorskip("pandas")
    frame = frames.to_pandas(records([]))
    assert frame.shape == (0, len(SCHEMA))
    assert str(frame["us"].dtype) == "datetime64[us, UTC]"


def test_pandas_data_can_be_written_to() -> None:
    pytest.importorskip("pandas")
    kept = FakeRecords([{"n": 1.0, "i": 1}], (Field("n", "number"), Field("i", "integer")))
    frame = frames.to_pandas(kept)
    frame.loc[0, "n"] = 2.0
    frame["i"] += 1
    assert frame.loc[0].tolist() == [2.0, 2.0]
    assert frames.to_pandas(kept).loc[0].tolist() == [1.0, 1.0]


def test_exact_decimals() -> None:
    pytest.importorskip("pandas")
    rows = [{"price": "0.1"}, {"price": "123456789012345678.0000000001"}, {"price": ""}]
    kept = FakeRecords(rows, (Field("price", "decimal"),))
    prices = frames.to_pandas(kept, decimals="decimal")["price"]
    assert prices[0] == Decimal("0.1") and prices[2] is None
    assert prices.sum() == Decimal("123456789012345678.1000000001")
    assert (prices * prices)[0] == Decimal("0.01")
    strings = frames.to_pandas(kept, decimals="string")["price"]
    assert strings.tolist() == ["0.1", "123456789012345678.0000000001", ""]
    assert frames.to_arrow(kept, decimals="decimal").schema.field("price").type.scale == 10


def test_polars_types_without_pyarrow() -> None:
    pl = pytest.importorskip("polars")
    frame = frames.to_polars(records())
    assert dict(frame.schema) == {
        "code": pl.String,
        "whole": pl.Int64,
        "part": pl.Int64,
        "number": pl.Float64,
        "flag": pl.Boolean,
        "maybe": pl.Boolean,
        "price": pl.Float64,
        "s": pl.Datetime("ms", "UTC"),
        "ms": pl.Datetime("ms", "UTC"),
        "us": pl.Datetime("us", "UTC"),
        "day": pl.Date,
        "pair": pl.Struct({"base": pl.String}),
    }
    assert frame["part"].to_list() == [BIG, None]
    exact = frames.to_polars(records(), decimals="decimal")
    assert exact["price"].to_list() == [Decimal("0.1"), None]
    assert frames.to_polars(records([])).shape == (0, len(SCHEMA))


@pytest.mark.parametrize(
    ("convert", "strings"),
    [(frames.to_arrow, "utf8"), (frames.to_pandas, "large"), (frames.to_polars, "view")],
)
def test_what_is_requested_of_the_core(convert, strings: str) -> None:  # type: ignore[no-untyped-def]
    kept = records()
    convert(kept, decimals="string", invalid="null")
    assert kept.asked == [("string", "null", strings)]
    with pytest.raises(
        errors.ConfigError, match="decimals is 'exact'; expected 'float64', 'decimal' or 'string'"
    ):
        convert(kept, decimals="exact")
    with pytest.raises(errors.ConfigError, match="invalid is 'skip'; expected 'raise' or 'null'"):
        convert(kept, invalid="skip")
    assert len(kept.asked) == 1


@pytest.mark.parametrize(
    ("convert", "missing", "extra"),
    [
        (frames.to_pandas, "pandas", "pandas"),
        (frames.to_pandas, "pyarrow", "pandas"),
        (frames.to_polars, "polars", "polars"),
        (frames.to_arrow, "pyarrow", "arrow"),
    ],
)
def test_a_missing_library_says_what_to_install(  # type: ignore[no-untyped-def]
    convert, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError) as caught:
        convert(records())
    said = f"{convert.__name__}() needs {missing}: pip install 'boardlot[{extra}]'"
    assert str(caught.value) == said
    assert caught.value.name == missing


def long_pager(last):
    """Two pages of fills, the first longer than a part of the columns."""

    def page(fills, flag, completed):
        body = {"order_fills": fills, "page_flag": flag, "completed": completed}
        return json.dumps({"s": "ok", "d": body}, separators=(",", ":")).encode()

    many = [{"deal_id": str(n), "price": f"{n}.5", "updated_time": n + 1} for n in range(70_000)]
    arguments = [("acc_id", "1"), ("trd_market", "HK"), ("end", 1_790_000_000_000_000)]
    return many, _core._pager_from_bodies(
        "fills_history", arguments, [page(many, "more", False), page(last, "", True)]
    )


def test_columns_that_grow_in_parts_are_one_frame():
    last = [{"deal_id": "last", "price": "", "unknown": True, "updated_time": 0}]
    many, pager = long_pager(last)
    table = pager.to_arrow()
    assert table.num_rows == len(many) + 1
    assert table["deal_id"].to_pylist() == [*(fill["deal_id"] for fill in many), "last"]
    assert table["price"].to_pylist() == [*(float(fill["price"]) for fill in many), None]
    assert table["unknown"].to_pylist() == [*(None for _ in many), True]
    assert table["updated_time"].null_count == 1


def test_a_value_in_a_later_part_is_named_by_its_place_in_the_whole():
    _, pager = long_pager([{"deal_id": "a"}, {"deal_id": "b", "price": "much"}])
    with pytest.raises(errors.ProtocolError, match="price of record 70001 is"):
        pager.to_arrow()
