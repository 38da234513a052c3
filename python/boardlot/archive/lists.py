"""The lists that an archive keeps: how each is requested, and what identifies its records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from boardlot import _core
from boardlot._core import _Rows as Rows
from boardlot._support.messages.nearest import did_you_mean
from boardlot.endpoint import DateRange, Endpoint
from boardlot.errors import ConfigError
from boardlot.pager import Pager

ListName = Literal[
    "crypto_orders", "sim_orders", "sim_positions", "ipos", "dividends", "futures", "plates"
]
"""The name of a list that is read as a whole."""
AnyListName = ListName | Literal["fills"]
"""The name of such a list, or `fills`."""


@dataclass(frozen=True)
class ListSpec:
    """A list that is read as a whole, so that a record can disappear from it."""

    name: str
    # The client's method, and its argument that is the key of a list.
    method: str
    key: str
    # The key's column in views and exports.
    column: str
    # The fields that identify a record in its list. The service document shows no fields of a
    # plate's constituents: a record without a code is identified by all of its values.
    identity: tuple[str, ...]
    paged: bool = False
    # Fields that tell apart records of the same identity in one read, such as two dividends of a
    # day.
    distinguishing: tuple[str, ...] = ()
    # Fields that differ with each request: the record has not changed if only they differ.
    ignored: tuple[str, ...] = ()
    # The member next to the list with the total number of records, if the list may be cut.
    total: str | None = None
    # Only for a custom endpoint: the endpoint, and the name, kind and unit of each declared field.
    endpoint: Endpoint | None = None
    fields: list[tuple[str, str, str]] | None = None

    def samples(self, observed: bool = False) -> list[Rows]:
        """Returns objects without rows that together have all declared fields."""
        if self.endpoint is not None:
            # An endpoint without the arguments, since no values for them are known.
            declared: Any = self.endpoint.record
            record = Endpoint(self.name, "GET", "/rows", rows="rows", record=declared)
            return [_core._stored_records(record, [], [], observed)]
        examples = {"account": "0", "symbol": "HK.00700", "plate": "HK.BK1"}
        keys = ("hk", "us", "cn", "sg", "my") if self.name == "ipos" else (examples[self.column],)
        return [self.rows(key, [], observed) for key in keys]

    def place(self, key: str) -> tuple[str, dict[str, str]]:
        """The location of the list in the database."""
        return "lists", {"list": self.name, "key": key}

    def arguments(self, key: str) -> list[tuple[str, Any]]:
        return [(self.key, key)] if self.endpoint is None else list(json.loads(key).items())

    def request(self, client: Any, key: str) -> Any:
        """Calls the list's method of a client whose calls block, and returns the rows or the
        pager."""
        method, arguments = self.endpoint or self.method, self.arguments(key)
        core = client._boardlot_core
        if self.name == "ipos":
            from boardlot.calendar import REQUEST_TYPES

            arguments.append(("request_type", REQUEST_TYPES.get(key)))
        if self.paged:
            return Pager(core.pages(client, method, arguments, None, None))
        return core.call(method, arguments)

    def rows(
        self, key: str, texts: Iterable[str], observed: bool = False, seen_at: int | None = None
    ) -> Rows:
        """Returns the rows of these texts, and checks the key; see `_core._stored_records`."""
        whole = ",".join(texts).encode()
        return _core._stored_records(
            self.endpoint or self.method,
            self.arguments(key),
            [whole] if whole or seen_at is not None else [],
            observed,
            seen_at,
        )

    def key_of(self, given: Any) -> str:
        """Checks the key that a caller passed, and returns it; for a custom endpoint, its
        arguments.

        Raises:
            ConfigError: The key is not valid.
        """
        if self.endpoint is None:
            _core._stored_records(self.method, [(self.key, given)], [])
            return str(given)
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"the key is {given!r}; expected the arguments of {self.name}, such as "
                "{'symbol': 'HK.00700'}"
            )
        arguments = {name: value for name, value in given.items() if value is not None}
        _core._stored_records(self.endpoint, list(arguments.items()), [])
        try:
            # The same arguments in another order are the same list.
            return json.dumps(arguments, sort_keys=True, default=_plain)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"the arguments {given!r} cannot be stored: {error}") from error


def listed(name: str, given: Any, example: str) -> Iterable[Any]:
    """Returns a list that a caller passed.

    Raises:
        ConfigError: The value is not a list.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ConfigError(f"{name} is {given!r}; expected a list, such as {example}")
    return given


def is_pair(given: Any) -> bool:
    """True if a caller passed two values."""
    return isinstance(given, (list, tuple)) and len(given) == 2


def _plain(value: Any) -> Any:
    """Returns a time as text, which endpoints accept as an argument, too."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{value!r} is not text, a number or a time")


@dataclass(frozen=True)
class Series:
    """The fills of one account in one market."""

    account: str
    market: str

    def __str__(self) -> str:
        return f"{self.account} {self.market}"

    @property
    def place(self) -> tuple[str, dict[str, str]]:
        """The location of the series in the database."""
        return "series", {"account": self.account, "market": self.market}

    @property
    def arguments(self) -> list[tuple[str, Any]]:
        return [("acc_id", self.account), ("trd_market", self.market)]

    def rows(
        self, texts: Iterable[bytes], observed: bool = False, seen_at: int | None = None
    ) -> Rows:
        """The rows of texts of many fills each; see `_core._stored_records`."""
        return _core._stored_records("fills_history", self.arguments, texts, observed, seen_at)

    def changed(self, texts: Iterable[str]) -> Rows:
        """The rows of changes of fills."""
        whole = ",".join(texts).encode()
        return self.rows([whole] if whole else [], observed=True)

    @classmethod
    def checked(cls, given: Any) -> Series:
        """Returns the series that a caller passed as an account and a market.

        Raises:
            ConfigError: The value is not a pair, or one of the two is not valid.
        """
        if isinstance(given, Series):
            return given
        if not is_pair(given):
            raise ConfigError(
                f"fills is {given!r}; expected an acc_id and a trd_market, such as ('281756', 'HK')"
            )
        account, market = given
        if is_pair(account) or is_pair(market):
            raise ConfigError(
                f"fills is {given!r}, several pairs; expected one: an acc_id and a "
                "trd_market, such as ('281756', 'HK')",
                hint="Call it once for each, in a thread or task of its own.",
            )
        if "\0" in str(market):
            raise ConfigError(f"trd_market is {market!r}; expected a string without U+0000")
        _core._stored_records("fills_history", [("acc_id", account), ("trd_market", market)], [])
        return cls(str(account), str(market))


LISTS = {
    one.name: one
    for one in (
        ListSpec("crypto_orders", "crypto_orders", "acc_id", "account", ("order_id",), paged=True),
        ListSpec("sim_orders", "sim_orders", "acc_id", "account", ("order_id",)),
        ListSpec("sim_positions", "sim_positions", "acc_id", "account", ("pstn_id",)),
        ListSpec(
            "ipos", "ipo_list", "market", "market", ("code",),
            ignored=("apply_countdown_secs", "placing_countdown_secs"),
        ),
        # The service sends no identifier of a dividend. Its description may be restated with it.
        ListSpec(
            "dividends", "dividends", "symbol", "symbol", ("ex_date", "pub_date"),
            distinguishing=("fiscal_year", "statement", "currency"),
            total="total_dividend_count",
        ),
        ListSpec("futures", "reference_futures", "symbol", "symbol", ("code",)),
        ListSpec("plates", "plate_stocks", "plate_code", "plate", ("code",), paged=True),
    )
}  # fmt: skip


# The name of a custom endpoint whose lists are archived: its views are named after it.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,49}", re.ASCII)
# Names that are taken: by views, by tables, by the objects that databases create with a table, and
# names that the databases have reserved or define themselves.
TAKEN = re.compile(
    rf"fills|{'|'.join(LISTS)}|.*_history|(sqlite|pg|json|jsonb|pragma)_.*|"
    "bytecode|completion|dbstat|fts[0-9].*|generate_series|tables_used|"
    "(archive|coverage|endpoints|fill_versions|followers|lists|series|snapshots|snapshot_records"
    "|versions)(_.*)?"
)
# Columns of views and changes besides the fields, and the most bytes of a column's name in
# PostgreSQL.
COLUMNS = {"key", "seen_at", "change", "record"}
COLUMN_MAX = 63
# The columns that each table of PostgreSQL has.
SYSTEM_COLUMNS = {"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}


def custom_list(given: Any) -> tuple[ListSpec, str]:
    """Checks a custom endpoint and its arguments, and returns their list and its key.

    Raises:
        ConfigError: The value is not such a pair, or one of the two is not valid.
    """
    pair = given if is_pair(given) else (None, None)
    if not isinstance(pair[0], Endpoint) or not isinstance(pair[1], Mapping):
        raise ConfigError(
            f"lists has {given!r}; expected an Endpoint and its arguments, such as "
            "(KLINE, {'symbol': 'HK.00700'})"
        )
    spec = custom_spec(pair[0])
    return spec, spec.key_of(pair[1])


def columns_of(rows: Rows) -> list[tuple[str, str, str]]:
    """The name, kind and unit of each field that is declared for rows.

    The kind `integer not zero` has 0 for null.
    """
    return [
        (
            field.name,
            "integer not zero" if field.zero_is_null and field.kind == "integer" else field.kind,
            field.unit or "",
        )
        for field in rows.schema
    ]


def custom_spec(endpoint: Endpoint) -> ListSpec:
    """The archive's description of a custom endpoint.

    Raises:
        ConfigError: Its name cannot be the name of a view, or a field's name the name of a column.
    """
    name = endpoint.name
    if not NAME.fullmatch(name) or TAKEN.fullmatch(name.lower()):
        raise ConfigError(
            f"the endpoint's name is {name!r}, which cannot be the name of a view; expected at "
            "most 50 letters, digits, _ and -, and no name that the archive or a database uses"
        )
    # Without `unique`, a record is identified by all of its values, like a record without a code.
    paging = endpoint.paging
    # A `DateRange` is pickled with the arguments that it was made of.
    options = paging._boardlot_arguments()[1] if isinstance(paging, DateRange) else {}
    identity = (options.get("unique") or "",)
    spec = ListSpec(name, "", "", "key", identity, paged=paging is not None, endpoint=endpoint)
    fields = columns_of(spec.samples()[0])
    columns = COLUMNS | SYSTEM_COLUMNS
    for field, _, _ in fields:
        # Databases do not distinguish upper and lower case in names.
        if field.lower() in columns or len(field.encode()) > COLUMN_MAX or "\0" in field:
            raise ConfigError(
                f"the field {field!r} of the endpoint {name!r} cannot be a column of an archive; "
                f"expected at most {COLUMN_MAX} bytes without U+0000, another name than "
                f"{', '.join(sorted(COLUMNS))} and PostgreSQL's own "
                f"({', '.join(sorted(SYSTEM_COLUMNS))}), and a name that differs from the "
                "names of other fields by more than upper and lower case",
                hint="Leave it out of the endpoint's `record`: the column `record` has all fields.",
            )
        columns.add(field.lower())
    return replace(spec, fields=fields)


def list_named(name: str | Endpoint, *others: str) -> ListSpec:
    """The list with this name, or those of a custom endpoint.

    Args:
        name: The name or the endpoint.
        others: More names that the caller accepts, for the error.

    Raises:
        ConfigError: There is none.
    """
    if isinstance(name, Endpoint):
        return custom_spec(name)
    if not isinstance(name, str) or name not in LISTS:
        known = [*others, *LISTS]
        hint = "; use archive.fills() for fills" if name == "fills" else ""
        hint = hint or did_you_mean(str(name), known)
        raise ConfigError(f"list is {name!r}; expected one of {', '.join(known)}{hint}")
    return LISTS[name]
