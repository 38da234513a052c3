"""Records, their fields and columns."""

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex, final, overload

import pandas
import polars
from typing_extensions import CapsuleType, Self

from ..errors import BoardlotError
from ._types import _T, _Decimals, _Invalid, _Row_co, _Table

@final
class SchemaField:
    """A declared field of records."""

    @property
    def name(self) -> str:
        """The name on the wire, in dicts and of the column."""
    @property
    def kind(self) -> str:
        """`text`, `integer`, `number`, `flag`, `decimal`, `timestamp`, `date` or `object`."""
    @property
    def unit(self) -> str:
        """The unit, if there is one; of a timestamp `s`, `ms` or `us`."""
    @property
    def doc(self) -> str:
        """What the field means, in one line."""
    @property
    def zero_is_null(self) -> bool:
        """True if 0 means that there is no value, so that it is null in columns: of timestamps, and where the
        service document says so.
        """
    @property
    def values(self) -> str | None:
        """The name of the enum of its values, if the service documents a closed set."""

@final
class ArrowStream:
    """Typed columns that any library with the Arrow PyCapsule interface can consume once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

# A `Sequence` by registration: it inherits nothing.
@final
class Records(Sequence[_Row_co]):
    """A sequence of records, whose length is fixed.

    `records[i]` and iteration return dicts with the service's own values, unchanged. Slices are
    `Records`. It equals a list of the same dicts. `to_pandas()`, `to_polars()`, `to_arrow()` and
    the Arrow PyCapsule interface return typed columns of the declared schema.

    Each dict is made when it is first asked for, and kept: `records[i] is records[i]`. It is yours to
    change. Every later access has the change: indices, slices, iteration, `==`, `to_dicts()` and
    pickles. Columns, `select`, `as_type`, `to_dicts(typed=True)` and `to_json` are always the service's
    own values. `+` and `*` return lists.

    >>> records = client.dividends("HK.00700")
    >>> len(records), records[0]["process"], records.meta["total_dividend_count"]
    (21, 'Implementation', 21)
    >>> records.index(records[1]), records.count(records[1])
    (1, 1)
    >>> for record in records[:2]:
    ...     record["seen"] = True
    >>> [record.pop("seen", False) for record in records[:3]]
    [True, True, False]
    >>> type(records + records).__name__, len(sum([records, records], []))
    ('list', 42)
    >>> records[:1].select("currency").to_json()
    '[{"currency":"HKD"}]'
    >>> list(records.select("currency", "ex_date")[0])
    ['currency', 'ex_date']
    >>> class Paid(NamedTuple):
    ...     ex_date: str
    ...     dividend_per_share: Decimal
    >>> records.as_type(Paid)[0].dividend_per_share > 0
    True
    >>> type(records.to_dicts(typed=True)[0]["ex_date"]).__name__
    'date'
    >>> records.to_pandas().shape, records.to_polars().shape, records.to_arrow().num_rows
    ((21, 11), (21, 11), 21)
    """

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> _Row_co: ...
    @overload
    def __getitem__(self, key: slice, /) -> Records[_Row_co]: ...
    def __iter__(self) -> RecordsIterator[_Row_co]: ...
    def __reversed__(self) -> RecordsIterator[_Row_co]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def __add__(self, value: Records[_T] | list[_T], /) -> list[_Row_co | _T]: ...
    def __radd__(self, value: list[_T], /) -> list[_Row_co | _T]: ...
    def __mul__(self, value: SupportsIndex, /) -> list[_Row_co]: ...
    def __rmul__(self, value: SupportsIndex, /) -> list[_Row_co]: ...
    def count(self, value: Any) -> int:
        """The number of records that equal `value`."""
    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The index of the first record from `start` to `stop` that equals `value`. Raises `ValueError` if
        there is none.
        """
    @property
    def meta(self) -> dict[str, Any]:
        """The members next to the list and in the `pagination` object; for `fetch_many`, by key."""
    @property
    def errors(self) -> dict[str, BoardlotError]:
        """The keys that failed in `fetch_many(on_error="collect")`, each with its error."""
    @property
    def schema(self) -> tuple[SchemaField, ...]:
        """Name, kind, unit and description of each declared field."""
    def select(self, *names: str, undeclared: bool = False) -> Records[dict[str, Any]]:
        """The records restricted to these fields, in this order: dicts, frames, `schema` and iteration
        contain nothing else. The dicts are new, with the service's own values. A name is unknown if it
        is neither declared nor in any record; while there are no records, `undeclared=True` permits any
        names. Raises `ConfigError` for an unknown name.
        """
    def as_type(self, cls: type[_T]) -> list[_T]:
        """The records as a list of instances of `cls`: a dataclass, a `NamedTuple`, a
        `msgspec.Struct` or another class with annotated fields that accepts them as keywords.

        Each field is converted to its annotation: `str` (as sent), `int`, `float`, `bool`, `Decimal`,
        `datetime` (aware, UTC), `date`, an `Enum`, `dict`, `list`, `Any`, or one of these with `| None`.
        Fields that the class lacks are skipped; a field that a record lacks takes its default.

        Raises a `ConfigError` if an annotation is not supported or a required field is unknown, and a
        `ProtocolError` that names record, field, value and type if a value cannot be converted.
        """
    def to_dicts(self, *, typed: bool = False) -> list[dict[str, Any]]:
        """The records as a list of their dicts; with `typed=True`, of new ones with `Decimal`, `datetime`
        (UTC), `date` and `None` as the schema declares, of the service's own values. Then raises
        `ProtocolError` for a value that is not of its kind.
        """
    def to_json(self) -> str:
        """The service's JSON text of the list: its own values, whatever became of the dicts. `json.dumps` and
        orjson write lists alone: pass them `list(records)`.
        """
    def to_pandas(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> pandas.DataFrame:
        """The records as a pandas DataFrame; see `boardlot.frames.to_pandas`.
        Its values are the service's own, whatever became of the dicts.
        """
    def to_polars(
        self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise"
    ) -> polars.DataFrame:
        """The records as a polars DataFrame; see `boardlot.frames.to_polars`.
        Its values are the service's own, whatever became of the dicts.
        """
    def to_arrow(self, *, decimals: _Decimals = "float64", invalid: _Invalid = "raise") -> _Table:
        """The records as a pyarrow Table; see `boardlot.frames.to_arrow`.
        Its values are the service's own, whatever became of the dicts.
        """
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...
    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: dict[int, Any]) -> Self: ...
    def _arrow(self, decimals: str, invalid: str, strings: str) -> ArrowStream: ...
    def _json(self, names: list[str] | None = None) -> list[str]: ...
    def _names(self) -> list[str]: ...
    def _take(self, indices: list[int]) -> Records[_Row_co]: ...
    def _texts(self, names: list[str]) -> list[list[str | None]]: ...
    def _repr_html_(self) -> str: ...

@final
class RecordsIterator(Iterator[_Row_co]):
    """An iterator over records, which creates each dict on demand."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> _Row_co: ...
    def __length_hint__(self) -> int: ...
