"""`Records`: the rows of a list, as a `list` of dicts that knows their declared fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, SupportsIndex, TypeVar, get_args, overload

from ._calls import explained
from ._core import (
    SchemaField,
    _ArrowStream as ArrowStream,
    _Rows as Rows,
    _Shape as Shape,
    _to_frame,
    _typed_dicts,
)
from ._support.third_party import ArrowTable, CapsuleType, pandas, polars
from .errors import BoardlotError

R = TypeVar("R")
T = TypeVar("T")
Decimals = Literal["float64", "decimal", "string"]
Invalid = Literal["raise", "null"]
NO_FIELDS = Shape()


@explained
class Records(list[R]):
    """A list of dicts with the service's own values: decimals are strings, and undeclared fields
    stay. List and dicts are yours to change, and every function that takes a list takes it.

    `to_pandas()`, `to_polars()`, `to_arrow()` and the Arrow PyCapsule interface return typed
    columns of the rows as they are when called: the declared fields, then the others. A field
    that you added is a column by its values: `bool`, `int`, `float`, `str`, `Decimal`, aware
    `datetime`, `date`, an `Enum` of these, `dict` or `list`; any other value is a `ConfigError`.

    Slices and `copy()` are `Records` with the whole list's `schema`, `meta` and `errors`; `+` and
    `*` return lists. `Records([...])` of your own dicts declares no fields.

    - `meta`: the members next to the list and in the `pagination` object; for `fetch_many`, by key.
    - `errors`: the keys that failed in `fetch_many(on_error="collect")`, each with its error.

    >>> records = client.dividends("HK.00700")
    >>> len(records), records[0]["process"], records.meta["total_dividend_count"]
    (21, 'Implementation', 21)
    >>> records.to_pandas().shape, records.to_polars().shape, records.to_arrow().num_rows
    ((21, 11), (21, 11), 21)
    >>> records.copy() is records, records.copy() == records
    (False, True)
    >>> list(records.select("currency", "ex_date")[0])
    ['currency', 'ex_date']
    >>> class Paid(NamedTuple):
    ...     ex_date: str
    ...     dividend_per_share: Decimal
    >>> records.as_type(Paid)[0].dividend_per_share > 0
    True
    >>> type(records.to_dicts(typed=True)[0]["ex_date"]).__name__
    'date'
    """

    def __init__(self, rows: Iterable[R] = (), /) -> None:
        super().__init__(rows)
        self._shape = NO_FIELDS
        self.meta: dict[str, Any] = {}
        self.errors: dict[str, BoardlotError] = {}
        if isinstance(rows, Records):
            self._shape, self.meta, self.errors = rows._shape, rows.meta, rows.errors

    @property
    def schema(self) -> tuple[SchemaField, ...]:
        """Name, kind, unit and description of each declared field."""
        return self._shape.schema

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> R: ...
    @overload
    def __getitem__(self, index: slice, /) -> Records[R]: ...
    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice):
            return self._with(super().__getitem__(index))
        return super().__getitem__(index)

    def copy(self) -> Records[R]:
        """The same dicts in another list, with schema, meta and errors."""
        return Records(self)

    def _with(self, rows: list[Any]) -> Records[Any]:
        """Other rows with the same schema, meta and errors."""
        records = Records(rows)
        records._shape, records.meta, records.errors = self._shape, self.meta, self.errors
        return records

    def select(self, *names: str, undeclared: bool = False) -> Records[dict[str, Any]]:
        """New dicts of these fields alone, in this order, and a schema of nothing else.

        A name that is neither declared nor in any dict raises `ConfigError`; of an empty list,
        `undeclared=True` permits any names.
        """
        rows: Any = self
        found = list(dict.fromkeys(name for row in rows for name in row)) if rows else None
        shape = self._shape.select(names, found, undeclared)
        records: Records[Any] = self._with(
            [{name: row[name] for name in names if name in row} for row in rows]
        )
        records._shape = shape
        return records

    def as_type(self, cls: type[T]) -> list[T]:
        """The rows as a list of instances of `cls`: a dataclass, a `NamedTuple`, a
        `msgspec.Struct` or another class with annotated fields that accepts them as keywords.

        Each field is converted to its annotation: `str` (a number as Python shows it), `int`,
        `float`, `bool`, `Decimal`, `datetime` (aware, UTC), `date`, an `Enum`, `dict`, `list`,
        `Any`, or one of these with `| None`. Fields that the class lacks are skipped; a field that
        a row lacks takes its default.

        Raises a `ConfigError` if an annotation is not supported or a required field is unknown,
        and a `ProtocolError` that names row, field, value and type if a value cannot be converted.
        """
        return self._rows().instances(cls)

    def to_dicts(self, *, typed: bool = False) -> list[dict[str, Any]]:
        """The dicts as a plain list; with `typed=True`, new ones with `Decimal`, `datetime` (UTC),
        `date` and `None` as the schema declares. Then raises `ProtocolError` for a value that is
        not of its kind.
        """
        rows: Any = self
        return _typed_dicts(rows, self._shape) if typed else list(rows)

    def to_pandas(
        self, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
    ) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; see `boardlot.frames.to_pandas`."""
        frame: pandas.DataFrame = _to_frame("to_pandas", self, decimals, invalid)
        return frame

    def to_polars(
        self, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
    ) -> polars.DataFrame:
        """The rows as a polars DataFrame; see `boardlot.frames.to_polars`."""
        frame: polars.DataFrame = _to_frame("to_polars", self, decimals, invalid)
        return frame

    def to_arrow(self, *, decimals: Decimals = "float64", invalid: Invalid = "raise") -> ArrowTable:
        """The rows as a pyarrow Table; see `boardlot.frames.to_arrow`."""
        return _to_frame("to_arrow", self, decimals, invalid)

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType:
        """The typed columns as an Arrow stream (the PyCapsule interface)."""
        return self._arrow("float64", "raise", "utf8").__arrow_c_stream__(requested_schema)

    def _arrow(self, decimals: str, invalid: str, strings: str) -> ArrowStream:
        return self._rows()._arrow(decimals, invalid, strings)

    def _rows(self) -> Rows:
        return Rows.of_dicts(self, self._shape)

    def __repr__(self) -> str:
        from ._support.tables.text_and_html import text

        rows: Any = self
        return text(rows)

    def _repr_html_(self) -> str:
        from ._support.tables.text_and_html import html

        rows: Any = self
        return html(rows)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """The type of pydantic: records as they are, and `Records` of any list of dicts."""
        from pydantic_core import core_schema

        row: Any = (*get_args(source), dict[str, Any])[0]
        rows = handler.generate_schema(list[row])
        made = core_schema.no_info_after_validator_function(cls, rows)
        return core_schema.json_or_python_schema(
            json_schema=made,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), made]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=rows
            ),
        )


def records_of(rows: Rows, errors: dict[str, BoardlotError] | None = None) -> Records[Any]:
    """The records of rows of the service."""
    records: Records[Any] = Records(rows.dicts())
    records._shape, records.meta, records.errors = rows.shape, rows.meta, errors or {}
    return records
