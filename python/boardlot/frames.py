"""Typed columns: records as a pyarrow Table, a pandas or a polars DataFrame.

The core checks the options, imports the libraries and passes the columns as an Arrow stream;
nothing here looks at single values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import timezone
from typing import Any, Protocol

from boardlot import _core
from boardlot._calls import explained
from boardlot._core import _Rows as Rows
from boardlot._support.third_party import pandas, polars, pyarrow
from boardlot.records import Decimals, Invalid

__all__ = ["to_arrow", "to_pandas", "to_polars"]


class ArrowSource(Protocol):
    """The part of `Records`, and of other rows, that this module uses."""

    def _arrow(self, decimals: str, invalid: str, strings: str, /) -> Any:
        """An object with `__arrow_c_stream__`.

        `strings` is the layout of text in memory: `"utf8"`, `"large"` (64-bit offsets) or `"view"`.
        """


@explained
def to_pandas(
    records: ArrowSource, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
) -> pandas.DataFrame:
    """Records as a pandas DataFrame (pandas 2.2 or newer, with pyarrow).

    Columns, by the kind of their field:

    - text: pandas' own default (`str` in pandas 3, `object` before); null is missing;
    - integer: numpy `int64`, or nullable `Int64` if a value is null, so that none of the 64
      bits is ever rounded;
    - number: `float64`, null as NaN;
    - flag: `bool`, or nullable `boolean` if a value is null;
    - decimal: see `decimals`;
    - timestamp: `datetime64[s, UTC]`, `[ms, UTC]` or `[us, UTC]`, the field's own unit; 0 and
      `""` as NaT;
    - date: `datetime64[ms]` at midnight without a time zone; `--` and `""` as NaT;
    - object: Python dicts.

    Args:
        records: The records to convert.
        decimals: `"float64"`; `"decimal"` for exact `decimal.Decimal` objects, null as None
            (Arrow's own decimals are faster, but fail on `price * qty` once the digits of both
            exceed 38); or `"string"` for the service's own strings.
        invalid: What to do with a value that is not of its field's declared kind: `"raise"`, or
            `"null"` to make it null.

    Returns:
        A DataFrame with every declared column, even without rows, then one for each other field.

    Raises:
        ImportError: pandas or pyarrow is not installed.
        ConfigError: `decimals` or `invalid` is not one of the values above.
        ProtocolError: A value is not of its field's kind and `invalid` is `"raise"`.

    Example:
        >>> from boardlot.frames import to_pandas
        >>> to_pandas(client.dividends("HK.00700")).shape
        (21, 11)
    """
    frame: pandas.DataFrame = _core._to_frame("to_pandas", records, decimals, invalid)
    return frame


@explained
def to_polars(
    records: ArrowSource, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
) -> polars.DataFrame:
    """Records as a polars DataFrame, straight from the core: pyarrow is not needed.

    Text becomes `String`, integers `Int64`, numbers `Float64`, flags `Boolean`, dates `Date`,
    timestamps `Datetime` in UTC with the field's own unit (polars has no seconds: these become
    milliseconds), objects `Struct`. For the arguments and errors, see `frames.to_pandas`;
    `decimals="decimal"` returns exact `Decimal` columns.

    Example:
        >>> from boardlot.frames import to_polars
        >>> to_polars(client.dividends("HK.00700")).shape
        (21, 11)
    """
    frame: polars.DataFrame = _core._to_frame("to_polars", records, decimals, invalid)
    return frame


@explained
def to_arrow(
    records: ArrowSource, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
) -> pyarrow.Table:
    """Records as a pyarrow Table (pyarrow 15 or newer).

    Text becomes `string`, integers `int64`, numbers `double`, flags `bool`, dates `date32`,
    timestamps `timestamp[s|ms|us, tz=UTC]` of the field's own unit, objects `struct`. The fields
    carry their unit, kind and description as metadata. For the
    arguments and errors, see `frames.to_pandas`; `decimals="decimal"` returns exact decimals.

    Example:
        >>> from boardlot.frames import to_arrow
        >>> to_arrow(client.dividends("HK.00700")).shape
        (21, 11)
    """
    table: pyarrow.Table = _core._to_frame("to_arrow", records, decimals, invalid)
    return table


def file_columns(rows: Rows, invalid: Invalid = "raise") -> pyarrow.Table:
    """Typed columns for a file, in which a column has one type: undeclared fields are text."""
    import pyarrow as pa

    declared = [field.name for field in rows.schema]
    others = [name for name in rows.names() if name not in declared]
    table = to_arrow(rows.select(*declared), invalid=invalid) if declared else pa.table({})
    texts = list(zip(*rows.texts(others), strict=True)) or [()] * len(others)
    schema = pa.schema([*table.schema, *(pa.field(name, pa.string()) for name in others)])
    columns = [*table.columns, *(pa.array(values, pa.string()) for values in texts)]
    return pa.Table.from_arrays(columns, schema=schema)


def without_empty_objects(table: pyarrow.Table, texts: Collection[str] = ()) -> pyarrow.Table:
    """The table with JSON in place of objects that have no members in any row, as Parquet has no
    type for them. The columns with the names `texts` become JSON, too."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_struct(field.type) and (not field.type.num_fields or field.name in texts):
            values = table.column(place).to_pylist()
            column = pa.array(
                [None if value is None else json.dumps(value, default=str) for value in values],
                pa.string(),
            )
            as_text = pa.field(field.name, pa.string(), metadata=field.metadata)
            table = table.set_column(place, as_text, column)
    return table


def record_batch(columns: Any) -> pyarrow.RecordBatch:
    """One page as a pyarrow RecordBatch, from columns with `__arrow_c_stream__`."""
    import pyarrow as pa

    parts = list(pa.RecordBatchReader.from_stream(columns))
    if len(parts) == 1:
        return parts[0]
    # A large page comes in parts.
    whole: list[pyarrow.RecordBatch] = pa.Table.from_batches(parts).combine_chunks().to_batches()
    return whole[0]


def pandas_frame(columns: Any) -> pandas.DataFrame:
    """A pandas DataFrame from columns with `__arrow_c_stream__`; called by the core."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import types

    table = pa.table(columns)
    # numpy has neither missing integers nor missing booleans: these columns, and objects that may
    # contain such values, are converted separately.
    nullable: dict[int, Any] = {}
    for place, column in enumerate(table.columns):
        if column.null_count and types.is_integer(column.type):
            nullable[place] = _nullable_integer(pd, str(column.type)).__from_arrow__(column)
        elif column.null_count and types.is_boolean(column.type):
            boolean: Any = pd.BooleanDtype()
            nullable[place] = boolean.__from_arrow__(column)
        elif types.is_struct(column.type):
            # pyarrow makes floats of an object's integers where one is missing.
            nullable[place] = pd.Series(column.to_pylist(), dtype=object)

    names = table.column_names
    timestamps = [] if _knows_utc() else [*_times_in_utc(table)]
    for place in timestamps:
        # The times stay as they are, without a zone: pyarrow would need a time zone database for
        # UTC, and pandas needs none.
        plain = table.column(place).cast(pa.timestamp(table.schema.field(place).type.unit))
        table = table.set_column(place, names[place], plain)
    table = table.select([place for place in range(len(names)) if place not in nullable])
    # `self_destruct` frees each column as it is converted, so that not all data is in memory twice.
    # Arrow's threads need the interpreter for it: up to version 3.13, CPython ends them when the
    # program exits, and pyarrow would wait for them forever. The conversion is not faster with
    # these threads.
    frame: pandas.DataFrame = table.to_pandas(
        date_as_object=False, self_destruct=True, use_threads=False
    )
    del table
    left = [place for place in range(len(names)) if place not in nullable]
    for place in timestamps:
        column = frame.iloc[:, left.index(place)].dt.tz_localize(timezone.utc)
        frame.isetitem(left.index(place), column)
    if not nullable:
        return frame
    # The columns are joined at once: inserting a column takes longer the wider the frame is.
    rest = iter(frame.items())
    columns = {
        name: nullable[place] if place in nullable else next(rest)[1].array
        for place, name in enumerate(names)
    }
    return pd.DataFrame(columns, copy=False)


def _knows_utc() -> bool:
    """True if there is a time zone database, of the system or of the package `tzdata`."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo("UTC") is not None
    except (LookupError, OSError):
        return False


def _times_in_utc(table: Any) -> Iterator[int]:
    for place, field in enumerate(table.schema):
        if getattr(field.type, "tz", None) == "UTC":
            yield place


def _nullable_integer(pd: Any, arrow_type: str) -> Any:
    """The nullable pandas dtype of an Arrow integer type: `Int64` of `int64`."""
    return pd.api.types.pandas_dtype(arrow_type.replace("int", "Int").replace("uI", "UI"))
