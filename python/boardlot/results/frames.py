"""Typed columns: records as a pyarrow Table, a pandas or a polars DataFrame.

The columns come from the Rust core as an Arrow stream; no Python code reads single values.
A library is imported only when its function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from boardlot.errors import ConfigError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    Decimals = Literal["float64", "decimal", "string"]
    Invalid = Literal["raise", "null"]

# More nullable columns than the document declares for any record.
MANY_NULLABLE = 200

__all__ = ["to_arrow", "to_pandas", "to_polars"]


class ArrowSource(Protocol):
    """What this module needs from `Records`."""

    def _arrow(self, decimals: str, invalid: str, strings: str, /) -> Any:
        """An object with `__arrow_c_stream__`.

        `strings` is the layout of text in memory: `"utf8"`, `"large"` (64-bit offsets) or `"view"`.
        """


def to_pandas(
    records: ArrowSource, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
) -> pandas.DataFrame:
    """Records as a pandas DataFrame (pandas 2 or newer, with pyarrow).

    Columns, by the kind of their field:

    - text: pandas' own default (`str` in pandas 3, `object` before); null is missing;
    - integer: numpy `int64`, or nullable `Int64` if a value is null, so that all 64 bits are exact;
    - number: `float64`, null as NaN;
    - flag: `bool`, or nullable `boolean` if a value is null;
    - decimal: see `decimals`;
    - timestamp: `datetime64[s, UTC]`, `[ms, UTC]` or `[us, UTC]`, the field's own unit; 0 and
      `""` as NaT;
    - date: `datetime64[ms]` at midnight without a time zone; `--` and `""` as NaT;
    - object: Python dicts.

    Args:
        records: What to convert.
        decimals: `"float64"`; `"decimal"` for exact `decimal.Decimal` objects, null as None
            (Arrow's own decimals are faster, but `price * qty` fails once the digits of both
            exceed 38); or `"string"` for the service's own strings.
        invalid: What to do with a value that is not of its field's declared kind: `"raise"`, or
            `"null"` to make it null.

    Returns:
        A DataFrame with every declared column, even without rows; it owns its data.

    Raises:
        ImportError: pandas or pyarrow is not installed.
        ConfigError: `decimals` or `invalid` is not one of the values above.
        ProtocolError: A value is not of its field's kind and `invalid` is `"raise"`.
    """
    frame: pandas.DataFrame = convert(
        "to_pandas", _columns(records, "to_pandas", decimals, invalid)
    )
    return frame


def to_polars(
    records: ArrowSource, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
) -> polars.DataFrame:
    """Records as a polars DataFrame, directly from the core: pyarrow is not needed.

    Text becomes `String`, integers `Int64`, numbers `Float64`, flags `Boolean`, dates `Date`,
    timestamps `Datetime` in UTC with the field's own unit (polars has no seconds: these become
    milliseconds), objects `Struct`. Arguments and errors are those of `to_pandas`;
    `decimals="decimal"` gives exact `Decimal` columns.
    """
    frame: polars.DataFrame = convert(
        "to_polars", _columns(records, "to_polars", decimals, invalid)
    )
    return frame


def to_arrow(
    records: ArrowSource, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
) -> pyarrow.Table:
    """Records as a pyarrow Table (pyarrow 14 or newer).

    Text becomes `string`, integers `int64`, numbers `double`, flags `bool`, dates `date32`,
    timestamps `timestamp[s|ms|us, tz=UTC]` of the field's own unit, objects `struct`. Arguments
    and errors are those of `to_pandas`; `decimals="decimal"` gives exact decimal columns.
    """
    return convert("to_arrow", _columns(records, "to_arrow", decimals, invalid))


def batch(columns: Any) -> pyarrow.RecordBatch:
    """One page as a pyarrow RecordBatch, from columns with `__arrow_c_stream__`."""
    import pyarrow as pa

    batches = list(pa.RecordBatchReader.from_stream(columns))
    if len(batches) == 1:
        return batches[0]
    # A large page arrives in several batches.
    combined: list[pyarrow.RecordBatch] = (
        pa.Table.from_batches(batches).combine_chunks().to_batches()
    )
    return combined[0]


def convert(function: str, columns: Any) -> Any:
    """The frame that this function returns, from columns with `__arrow_c_stream__`."""
    return CONVERSIONS[function].convert(columns)


def prepare(function: str, decimals: str, invalid: str) -> str:
    """Check the options and load the libraries of a conversion, before anything is fetched for it.

    Returns:
        The layout of text in memory that the conversion needs.

    Raises:
        ImportError: A library is not installed.
        ConfigError: `decimals` or `invalid` is not one of its values.
    """
    if decimals not in ("float64", "decimal", "string"):
        raise ConfigError(f'decimals is {decimals!r}; expected "float64", "decimal" or "string"')
    if invalid not in ("raise", "null"):
        raise ConfigError(f'invalid is {invalid!r}; expected "raise" or "null"')
    conversion = CONVERSIONS[function]
    for library in conversion.libraries:
        try:
            import_module(library)
        except ModuleNotFoundError as missing:
            # Named by the error: installing the extra helps only if that library is missing.
            raise ImportError(
                f"{function}() needs {missing.name}: pip install 'boardlot[{conversion.extra}]'",
                name=missing.name,
            ) from missing
    return conversion.strings


def _columns(records: ArrowSource, function: str, decimals: Decimals, invalid: Invalid) -> Any:
    strings = prepare(function, decimals, invalid)
    return records._arrow(decimals, invalid, strings)


def _pandas(columns: Any) -> pandas.DataFrame:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import types

    table = pa.table(columns)
    # numpy has neither missing integers nor missing booleans: these columns, and objects that may
    # contain them, are converted separately.
    nullable: dict[int, Any] = {}
    for index, column in enumerate(table.columns):
        if column.null_count and types.is_integer(column.type):
            nullable[index] = _nullable_integer(pd, str(column.type)).__from_arrow__(column)
        elif column.null_count and types.is_boolean(column.type):
            boolean: Any = pd.BooleanDtype()
            nullable[index] = boolean.__from_arrow__(column)
        elif types.is_struct(column.type):
            # pyarrow converts an object's integers to floats if one is missing.
            nullable[index] = pd.Series(column.to_pylist(), dtype=object)

    names = table.column_names
    table = table.select([index for index in range(len(names)) if index not in nullable])
    # `self_destruct` frees each column as it is converted, so that memory does not double.
    frame: pandas.DataFrame = table.to_pandas(date_as_object=False, self_destruct=True)
    del table
    if len(nullable) > MANY_NULLABLE:
        # Each insertion copies the frame's list of columns: for this many, build a new frame.
        others = iter(frame.items())
        columns = {
            name: nullable[index] if index in nullable else next(others)[1].array
            for index, name in enumerate(names)
        }
        return pd.DataFrame(columns, copy=False)
    for index, values in nullable.items():
        frame.insert(index, names[index], values)
    return frame


def _nullable_integer(pd: Any, arrow_type: str) -> Any:
    """The nullable pandas dtype of an Arrow integer type: `Int64` of `int64`."""
    return pd.api.types.pandas_dtype(arrow_type.replace("int", "Int").replace("uI", "UI"))


def _polars(columns: Any) -> polars.DataFrame:
    import polars as pl

    return pl.DataFrame(columns)


def _arrow(columns: Any) -> pyarrow.Table:
    import pyarrow as pa

    return pa.table(columns)


class Conversion(NamedTuple):
    """A conversion: its extra, its libraries, its layout of text, and its function."""

    extra: str
    libraries: tuple[str, ...]
    strings: str
    convert: Callable[[Any], Any]


CONVERSIONS = {
    "to_pandas": Conversion("pandas", ("pandas", "pyarrow"), "large", _pandas),
    "to_polars": Conversion("polars", ("polars",), "view", _polars),
    "to_arrow": Conversion("arrow", ("pyarrow",), "utf8", _arrow),
}
