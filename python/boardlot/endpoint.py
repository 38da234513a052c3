"""`Endpoint` and `DateRange`: endpoints that the user declares."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from . import _core
from ._built import Self, Value
from ._calls import explained

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # The rows of an endpoint, which are dicts unless its record says more.
    Declared_co = TypeVar("Declared_co", covariant=True, default=dict[str, Any])
else:
    from typing import TypeVar

    # The `TypeVar` of `typing` has defaults since CPython 3.13.
    Declared_co = TypeVar("Declared_co", covariant=True)

# The kinds of fields. Those of arguments are the same and `symbol`.
FieldKind = Literal[
    "text",
    "integer",
    "number",
    "flag",
    "decimal",
    "percent",
    "seconds",
    "millis",
    "micros",
    "date",
    "object",
]


@explained
class Endpoint(Value, Generic[Declared_co]):
    """A custom endpoint: an endpoint of the service that boardlot has no method for.

    `name` identifies it in errors and checkpoints. `method` is `"GET"` or `"POST"`. A `{name}`
    in `path` stands for a required argument. `rows` is the dotted path of the records in a
    response; by default the only list in `data`. `paging` is `None`, `"next_key"`, `"page_flag"`
    or a `DateRange`. `record` declares the fields: a dict of their kinds (`text`, `integer`,
    `number`, `flag`, `decimal`, `percent`, `seconds`, `millis`, `micros`, `date`, `object`), or
    a `TypedDict`; other fields become columns whose types are inferred. `arguments` declares the
    kinds of arguments, which are then checked; they may also have the kind `"symbol"`. Other
    arguments are sent as they are. Arguments that are not in the path go into the query or, for
    POST, into the JSON body, in the order given. `doc` is a description.

    Raises `ConfigError` for a declaration that cannot be used.

    >>> flow = bl.Endpoint(
    ...     "capital_flow",
    ...     "GET",
    ...     "/api/v1.0/quote/{symbol}/capital-flow/history",
    ...     rows="data.capital_flow_list",
    ...     paging=bl.DateRange("end", before="data_date"),
    ...     record={"data_date": "date", "in_flow": "number"},
    ... )
    >>> client.call(flow, symbol="HK.00700").to_polars().columns[:2]
    ['data_date', 'in_flow']
    """

    __slots__ = ()
    _boardlot_core: _core._Endpoint

    @overload
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: type[Declared_co],
        arguments: Mapping[str, FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Endpoint[Declared_co]: ...
    @overload
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: Mapping[str, FieldKind] | None = None,
        arguments: Mapping[str, FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Endpoint[dict[str, Any]]: ...
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: Mapping[str, FieldKind] | type[Any] | None = None,
        arguments: Mapping[str, FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Any:
        core = _core._Endpoint(name, method, path, rows, paging, record, arguments, doc)
        return cls._of_core(core)

    @property
    def name(self) -> str:
        """The name of the endpoint, in errors and checkpoints."""
        return self._boardlot_core.name

    @property
    def method(self) -> str:
        """`"GET"` or `"POST"`."""
        return self._boardlot_core.method

    @property
    def path(self) -> str:
        """The path below the base URL; `{name}` stands for an argument."""
        return self._boardlot_core.path

    @property
    def rows(self) -> str | None:
        """The dotted path of the records in a response."""
        return self._boardlot_core.rows

    @property
    def paging(self) -> Literal["next_key", "page_flag"] | DateRange | None:
        """`None`, `"next_key"`, `"page_flag"` or a `DateRange`."""
        paging = self._boardlot_core.paging
        return DateRange._of_core(paging) if isinstance(paging, _core._DateRange) else paging

    @property
    def record(self) -> dict[str, str] | type[Any] | None:
        """The declared fields: a dict of their kinds, or the `TypedDict`; `None` if there are
        none.
        """
        return self._boardlot_core.record

    @property
    def arguments(self) -> dict[str, str]:
        """The declared kinds of arguments."""
        return self._boardlot_core.arguments

    @property
    def doc(self) -> str:
        """The description that was passed."""
        return self._boardlot_core.doc

    def _boardlot_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        options = ("rows", "paging", "record", "arguments", "doc")
        named = {name: value for name in options if (value := getattr(self, name))}
        return (self.name, self.method, self.path), named


@explained
class DateRange(Value):
    """Pages backward by moving the end of a date range.

    `end` is the name of the parameter to move. Its next value is read from `next`, a dotted path
    in the response such as `"extra.next_time"`, or it is the day before the earliest date in the
    records' field `before`, such as `"data_date"`. Pass exactly one of the two. With `before`,
    if a page ends within a day, the rest of that day is skipped without an error: use it only
    for a list that has one row a day, or whose pages end with whole days. `unique` is the name
    of the field that identifies a row, so that rows repeated on the next page can be dropped.
    The iteration ends if `pagination.has_more` is false, or if the next end is before the
    `start` of the query or body. Raises `ConfigError` for a name or path that cannot be used.

    >>> bl.DateRange(next="extra.next_time", unique="time")
    DateRange('end', next='extra.next_time', unique='time')
    """

    __slots__ = ()
    _boardlot_core: _core._DateRange

    def __new__(
        cls,
        end: str = "end",
        *,
        next: str | None = None,
        before: str | None = None,
        unique: str | None = None,
    ) -> Self:
        return cls._of_core(_core._DateRange(end, next, before, unique))

    def _boardlot_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self._boardlot_core.arguments()


@explained
def load_endpoints(path: str | PathLike[str], /) -> dict[str, Endpoint[dict[str, Any]]]:
    """The endpoints of a TOML file, by name: a table for each, with the arguments of `Endpoint` as
    keys.

    ```toml
    [kline]
    method = "GET"
    path = "/api/v1.0/quote/{symbol}/history-kline"
    rows = "data.kline_list"
    paging = { end = "end", next = "extra.next_time", unique = "time" }
    record = { time = "seconds", open = "decimal", close = "decimal" }
    ```

    Raises `ConfigError` if the file at `path` cannot be read or has a mistake; the error names the
    line, the table and the key.

    >>> text = 'kline = { method = "GET", path = "/api/v1.0/quote/{symbol}/kline" }'
    >>> size = (folder / "endpoints.toml").write_text(text)
    >>> bl.load_endpoints(folder / "endpoints.toml")["kline"].method
    'GET'
    """
    declared = _core._load_endpoints(path)
    return {name: Endpoint._of_core(core) for name, core in declared.items()}
