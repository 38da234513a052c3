"""The lists that an archive keeps: how each is requested, and what identifies its records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from boardlot import _core
from boardlot.errors import ConfigError

__all__ = ["LISTS", "ListSpec", "Series", "list_named"]


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
    # Fields that change with each request, which is not a change of the record.
    ignored: tuple[str, ...] = ()
    # The member next to the list that tells how many records there are, if the list may be cut.
    total: str | None = None

    @property
    def examples(self) -> tuple[str, ...]:
        """Keys whose lists have, between them, all declared fields."""
        if self.name == "ipos":
            return ("hk", "us", "cn", "sg", "my")
        return ({"account": "0", "symbol": "HK.00700", "plate": "HK.BK1"}[self.column],)

    def arguments(self, key: str) -> list[tuple[str, Any]]:
        return [(self.key, key)]

    def request(self, client: Any, key: str) -> Any:
        """The records or pager of a client's method."""
        arguments: dict[str, Any] = {self.key: key}
        if self.name == "ipos":
            from boardlot.calendar import REQUEST_TYPES

            arguments["request_type"] = REQUEST_TYPES.get(key)
        return getattr(client, self.method)(**arguments)

    def records(self, key: str, texts: Iterable[str], observed: bool = False) -> Any:
        """`Records` of the text of each; see `_core._stored_records`. Checks the key."""
        whole = ",".join(texts).encode()
        return _core._stored_records(
            self.method, self.arguments(key), [whole] if whole else [], observed
        )

    def keys(self, given: Iterable[Any]) -> list[str]:
        """The keys that a caller passed, checked; each once.

        Raises:
            ConfigError: One is not valid.
        """
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise ConfigError(f"{self.name} is {given!r}; expected a list, such as [{given!r}]")
        keys = []
        for key in given:
            _core._stored_records(self.method, [(self.key, key)], [])
            keys.append(str(key))
        return list(dict.fromkeys(keys))


@dataclass(frozen=True)
class Series:
    """The fills of one account in one market."""

    account: str
    market: str

    def __str__(self) -> str:
        return f"{self.account} {self.market}"

    @property
    def arguments(self) -> list[tuple[str, Any]]:
        return [("acc_id", self.account), ("trd_market", self.market)]

    def records(self, texts: Iterable[bytes]) -> Any:
        """`Records` of texts of many fills each; see `_core._stored_records`."""
        return _core._stored_records("fills_history", self.arguments, texts)

    @classmethod
    def checked(cls, given: Any) -> Series:
        """The series that a caller passed as an account and a market.

        Raises:
            ConfigError: It is not a pair, or one of the two is not valid.
        """
        if isinstance(given, Series):
            return given
        pair = tuple(given) if isinstance(given, (list, tuple)) else ()
        if len(pair) != 2:
            raise ConfigError(
                f"fills is {given!r}; expected an account and a market, such as ('281756', 'HK')"
            )
        account, market = pair
        if "\0" in str(market):
            raise ConfigError(f"market is {market!r}; expected a string without U+0000")
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
        # The service sends no identifier of a dividend.
        ListSpec(
            "dividends", "dividends", "symbol", "symbol", ("ex_date", "pub_date"),
            total="total_dividend_count",
        ),
        ListSpec("futures", "reference_futures", "symbol", "symbol", ("code",)),
        ListSpec("plates", "plate_stocks", "plate_code", "plate", ("code",), paged=True),
    )
}  # fmt: skip


def list_named(name: str) -> ListSpec:
    """The list with this name.

    Raises:
        ConfigError: There is none.
    """
    if not isinstance(name, str) or name not in LISTS:
        hint = "; use archive.fills() for fills" if name == "fills" else ""
        hint = hint or _core._did_you_mean(str(name), [*LISTS])
        raise ConfigError(f"list is {name!r}; expected one of {', '.join(LISTS)}{hint}")
    return LISTS[name]
