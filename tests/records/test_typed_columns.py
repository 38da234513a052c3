"""Section 2: the typed columns of each record, in Arrow, pandas, Polars and typed dicts."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest
from pyarrow import types

from ..support.clients import PAGERS, run, same
from ..support.vectors import scripted_responses, table, vector_case

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# (endpoint, name of a vector with rows, columns): section 2, field by field.
SHAPES = [
    (
        record["endpoint"],
        name,
        {f: kind for kind, fs in record["columns"].items() for f in fs.split()},
    )
    for record in table("columns")["records"]
    for name in record["vectors"]
]
MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
shapes = pytest.mark.parametrize(
    ("endpoint", "name", "kinds"), SHAPES, ids=[f"{e}-{n.replace(' ', '_')}" for e, n, _ in SHAPES]
)


def records(endpoint, name):
    """The `Records` of a vector; those of a pager's first page."""
    case = vector_case(endpoint, name)
    args, kwargs = case["call"]["args"], case["call"]["kwargs"]

    async def use(client):
        if endpoint in PAGERS:
            (page,) = await client.pages(client.pager(endpoint, *args, **kwargs))
            return page
        return await client.call(endpoint, *args, **kwargs)

    return run("sync", scripted_responses(case), use), case["result"]


def expected(kind, value):
    """The typed form of a value of the service; decimals are exact."""
    if value is None:
        return None
    if kind in ("ms", "us"):
        ticks = int(value) if value != "" else 0
        return EPOCH + timedelta(microseconds=ticks * MICROSECONDS[kind]) if ticks else None
    if kind == "date":
        return None if value in ("", "--") else date.fromisoformat(value.replace("/", "-"))
    if kind == "decimal":
        return Decimal(value) if value else None
    if kind == "float":
        return float(value)
    return value or None if kind == "count" else value


def column_of(rows, name, kind):
    return [expected(kind, row.get(name)) for row in rows]


def is_text(kind):
    if types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def arrow_type_is(kind, arrow, decimals="float64"):
    if kind == "decimal":
        if decimals == "decimal":
            return types.is_decimal(arrow)
        return is_text(arrow) if decimals == "string" else types.is_float64(arrow)
    if kind in ("ms", "us"):
        return types.is_timestamp(arrow) and arrow.unit == kind and arrow.tz in ("UTC", "+00:00")
    if kind == "date":
        return types.is_date(arrow)
    if kind == "int" and types.is_dictionary(arrow):
        arrow = arrow.value_type
    simple = {
        "text": is_text,
        "int": types.is_integer,
        "count": types.is_integer,
        "bool": types.is_boolean,
        "float": types.is_float64,
        "any": lambda _: True,
    }
    return simple[kind](arrow)


def assert_columns(table, rows, kinds, decimals="float64"):
    unknown = {name for row in rows for name in row} - set(kinds)
    assert len(table.column_names) == len(set(table.column_names))
    assert set(table.column_names[: len(kinds)]) == set(kinds)
    assert set(table.column_names[len(kinds) :]) == unknown
    assert table.num_rows == len(rows)
    for name, kind in kinds.items():
        arrow = table.schema.field(name).type
        assert arrow_type_is(kind, arrow, decimals), f"{name} is {arrow}, wanted {kind}"
        if kind == "any":
            continue
        values = column_of(rows, name, kind)
        if kind == "decimal" and decimals == "string":
            values = [row.get(name) for row in rows]
        elif kind == "decimal" and decimals == "float64":
            values = [None if value is None else float(value) for value in values]
        got = table.column(name).to_pylist()
        if kind == "decimal" and decimals == "string":
            # It is not stated whether "" stays as sent or is null.
            got, values = [v or None for v in got], [v or None for v in values]
        assert got == values, name


@shapes
def test_arrow_columns_have_the_declared_types_and_values(endpoint, name, kinds):
    result, rows = records(endpoint, name)
    for decimals in ("float64", "decimal", "string"):
        assert_columns(result.to_arrow(decimals=decimals), rows, kinds, decimals)
    # As any library reads them.
    assert_columns(result.to_arrow(), rows, kinds)


POLARS = {
    **{"decimal": pl.Float64, "float": pl.Float64, "bool": pl.Boolean, "date": pl.Date},
    **{
        "int": pl.Int64,
        "count": pl.Int64,
        "ms": pl.Datetime("ms", "UTC"),
        "us": pl.Datetime("us", "UTC"),
    },
}


@shapes
def test_frames_and_typed_dicts_have_the_same_values(endpoint, name, kinds):
    result, rows = records(endpoint, name)
    table, pandas, polars = result.to_arrow(), result.to_pandas(), result.to_polars()
    assert table.column_names == list(pandas.columns) == polars.columns
    typed = result.to_dicts(typed=True)
    assert len(typed) == len(rows)
    for field, kind in kinds.items():
        if kind == "any":
            continue
        values, column = table[field].to_pylist(), pandas[field]
        assert polars[field].to_list() == values, field
        assert polars.schema[field] == POLARS.get(kind, polars.schema[field]), field
        shown = [None if pd.isna(value) else value for value in column]
        if kind == "date":
            shown = [value and value.date() for value in shown]
        assert shown == values, field
        if kind in ("ms", "us"):
            assert getattr(column.dtype, "pyarrow_dtype", column.dtype).unit == kind
        assert kind not in ("decimal", "float") or pd.api.types.is_float_dtype(column.dtype), field
        for got, row in zip(typed, rows, strict=True):
            value = expected(kind, row.get(field))
            assert same(got.get(field), value), field
            assert kind != "decimal" or value is None or str(got[field]) == row[field]


def test_every_documented_field_is_in_some_vector():
    seen = {}
    for endpoint, name, kinds in SHAPES:
        found = seen.setdefault((endpoint, frozenset(kinds)), set())
        found |= {key for row in vector_case(endpoint, name)["result"] for key in row}
    assert len(seen) == 11
    for (endpoint, columns), found in seen.items():
        assert columns <= found, f"{endpoint}: {columns - found}"
