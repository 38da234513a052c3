"""Custom endpoints, and how they page."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Generic, Literal, final, overload

from typing_extensions import Self, TypeVar

_Row_co = TypeVar("_Row_co", covariant=True, default=dict[str, Any])

@final
class DateRange:
    """Pages backward by moving the end of a date range.

    `end` is the name of the parameter to move. Its next value is read from `next`, a dotted path in the
    response such as `"extra.next_time"`, or it is the day before the earliest date in the records' field
    `before`, such as `"data_date"`. Pass exactly one of the two. With `before`, the rest of a day within
    which a page ends is not read, without an error: use it only for a list that has one row a day, or whose
    pages end with whole days. `unique` is the name of the field that identifies a row, so that rows repeated
    on the next page can be dropped. The iteration ends if `pagination.has_more` is false, or if the next end
    is before the `start` of the query or body. Raises `ConfigError` for a name or path that cannot be used.

    >>> bl.DateRange(next="extra.next_time", unique="time")
    DateRange('end', next='extra.next_time', unique='time')
    """

    def __new__(
        cls,
        end: str = "end",
        *,
        next: str | None = None,
        before: str | None = None,
        unique: str | None = None,
    ) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str]]: ...

# The kinds of fields. Those of arguments are the same and `symbol`.
_FieldKind = Literal[
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

@final
class Endpoint(Generic[_Row_co]):
    """A custom endpoint: an endpoint of the service that boardlot has no method for.

    `name` identifies it in errors and checkpoints. `method` is `"GET"` or `"POST"`. A `{name}` in `path`
    stands for a required argument. `rows` is the dotted path of the records in a response; by default
    the only list in `data`. `paging` is `None`, `"next_key"`, `"page_flag"` or a `DateRange`. `record`
    declares the fields: a dict of their kinds (`text`, `integer`, `number`, `flag`, `decimal`,
    `percent`, `seconds`, `millis`, `micros`, `date`, `object`), or a `TypedDict`; other fields become
    columns whose types are inferred. `arguments` declares the kinds of arguments, which are then
    checked; they may also have the kind `"symbol"`. Other arguments are sent as they are. What is not in the
    path goes into the query or, for POST, into the JSON body, in the order given. `doc` is a description.

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

    @classmethod
    def __class_getitem__(cls, key: Any) -> Any: ...
    @overload
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: type[_Row_co],
        arguments: Mapping[str, _FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Endpoint[_Row_co]: ...
    @overload
    def __new__(
        cls,
        name: str,
        method: str,
        path: str,
        *,
        rows: str | None = None,
        paging: Literal["next_key", "page_flag"] | DateRange | None = None,
        record: Mapping[str, _FieldKind] | None = None,
        arguments: Mapping[str, _FieldKind | Literal["symbol"]] | None = None,
        doc: str = "",
    ) -> Endpoint[dict[str, Any]]: ...
    @property
    def name(self) -> str:
        """Its name, in errors and checkpoints."""
    @property
    def method(self) -> str:
        """`"GET"` or `"POST"`."""
    @property
    def path(self) -> str:
        """The path below the base URL; `{name}` stands for an argument."""
    @property
    def rows(self) -> str | None:
        """The dotted path of the records in a response."""
    @property
    def paging(self) -> str | DateRange | None:
        """`None`, `"next_key"`, `"page_flag"` or a `DateRange`."""
    @property
    def record(self) -> dict[str, str] | type[Any] | None:
        """The declared fields: a dict of their kinds, or the `TypedDict`; `None` if there are none."""
    @property
    def arguments(self) -> dict[str, str]:
        """The declared kinds of arguments."""
    @property
    def doc(self) -> str:
        """The description that was passed."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str, str, str], dict[str, Any]]: ...

def load_endpoints(path: str | PathLike[str], /) -> dict[str, Endpoint[dict[str, Any]]]:
    """The endpoints of a TOML file, by name: a table for each, with the arguments of `Endpoint` as keys.

    ```toml
    [kline]
    method = "GET"
    path = "/api/v1.0/quote/{symbol}/history-kline"
    rows = "data.kline_list"
    paging = { end = "end", next = "extra.next_time", unique = "time" }
    record = { time = "seconds", open = "decimal", close = "decimal" }
    ```

    Raises `ConfigError` if the file at `path` cannot be read, and for a mistake in it, with the line, the
    table and the key.

    >>> text = 'kline = { method = "GET", path = "/api/v1.0/quote/{symbol}/kline" }'
    >>> size = (folder / "endpoints.toml").write_text(text)
    >>> bl.load_endpoints(folder / "endpoints.toml")["kline"].method
    'GET'
    """
