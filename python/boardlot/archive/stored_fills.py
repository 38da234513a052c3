"""`StoredFills`: the fills that an archive has of an account in a market."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from boardlot import frames
from boardlot._calls import explained
from boardlot._core import _Rows as Rows
from boardlot._support.tables import text_and_html as tables
from boardlot._support.third_party import ArrowTable, CapsuleType, pandas, polars
from boardlot.records import Decimals, Invalid, Records, records_of

if TYPE_CHECKING:
    from boardlot._core import SchemaField
    from boardlot._records import Fill

T = TypeVar("T")
# Number of dicts that are made at a time.
AT_ONCE = 1_000


@explained
class StoredFills:
    """The fills as they were stored when `Archive.fills` was called, latest update first.

    The fills can be read like those of a pager, any number of times, and counted by `len`. A frame
    is made of the stored texts, without a dict for each fill.

    Example:
        >>> archive = bl.Archive(folder / "trades.db")
        >>> _ = archive.update(client, fills=[(account, "HK")])
        >>> fills = archive.fills(account, "HK")
        >>> len(fills) == len(list(fills)) == len(fills.all()) == len(fills.to_pandas())
        True
        >>> next(iter(fills.select("code", "qty"))).keys()
        dict_keys(['code', 'qty'])
        >>> archive.close()
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Fill]:
        for start in range(0, len(self._rows), AT_ONCE):
            yield from self._rows.slice(start, start + AT_ONCE).dicts()

    def __repr__(self) -> str:
        return tables.text(self.all())

    def _repr_html_(self) -> str:
        return tables.html(self.all())

    @property
    def schema(self) -> tuple[SchemaField, ...]:
        """Name, kind, unit and description of each declared field."""
        return self._rows.schema

    def all(self) -> Records[Fill]:
        """The fills as `Records`, with the service's own values."""
        return records_of(self._rows)

    def select(self, *names: str) -> StoredFills:
        """The fills restricted to these fields, in this order.

        Raises:
            ConfigError: No fill has a field of one of these names.
        """
        return StoredFills(self._rows.select(*names))

    def as_type(self, cls: type[T]) -> list[T]:
        """The fills as instances of `cls`; see `Records.as_type`, also for the errors."""
        return self._rows.instances(cls)

    def to_pandas(
        self, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
    ) -> pandas.DataFrame:
        """The fills as a pandas DataFrame; see `boardlot.frames.to_pandas`, also for the errors."""
        return frames.to_pandas(self._rows, decimals=decimals, invalid=invalid)

    def to_polars(
        self, *, decimals: Decimals = "float64", invalid: Invalid = "raise"
    ) -> polars.DataFrame:
        """The fills as a polars DataFrame; see `boardlot.frames.to_polars`, also for the errors."""
        return frames.to_polars(self._rows, decimals=decimals, invalid=invalid)

    def to_arrow(self, *, decimals: Decimals = "float64", invalid: Invalid = "raise") -> ArrowTable:
        """The fills as a pyarrow Table; see `boardlot.frames.to_arrow`, also for the errors."""
        return frames.to_arrow(self._rows, decimals=decimals, invalid=invalid)

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType:
        """The typed columns as an Arrow stream (the PyCapsule interface)."""
        return self._rows._arrow("float64", "raise", "utf8").__arrow_c_stream__(requested_schema)

    if not TYPE_CHECKING:
        # The method only says what to write instead.

        def __getitem__(self, key):
            raise TypeError("stored fills have no indices: `archive.fills(...).all()` has them")
