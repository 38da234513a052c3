"""Stand-ins for `Records` that need no core: a list of dicts with a schema, and Arrow columns."""

from __future__ import annotations

from typing import Any, NamedTuple


class Field(NamedTuple):
    """Like the core's `SchemaField`."""

    name: str
    kind: str
    unit: str = ""
    doc: str = ""
    values: str | None = None


class FakeRecords(list):  # type: ignore[type-arg]
    """Rows with a schema; counts how many rows were read."""

    def __init__(self, rows: Any = (), schema: tuple[Field, ...] = ()) -> None:
        super().__init__(rows)
        self.schema = schema
        self.meta: dict[str, Any] = {}
        self.asked: list[tuple[str, str, str]] = []

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return FakeRecords(found, self.schema) if isinstance(place, slice) else found

    def _arrow(self, decimals: str, invalid: str, strings: str) -> Any:
        """The columns that the core would build, by pyarrow."""
        import pyarrow as pa

        self.asked.append((decimals, invalid, strings))
        view = getattr(pa, "string_view", pa.large_string)  # New in pyarrow 16.
        text = {"utf8": pa.string(), "large": pa.large_string(), "view": view()}[strings]
        decimal = {"float64": pa.float64(), "decimal": pa.decimal128(38, 10), "string": text}
        columns = {}
        for field in self.schema:
            values = [row.get(field.name) for row in self]
            kind: Any
            if field.kind == "timestamp":
                kind = pa.timestamp(field.unit, "UTC")
                values = [int(value) if value not in (0, "", None) else None for value in values]
            elif field.kind == "date":
                kind = pa.date32()
                values = [None if value in ("--", "", None) else value for value in values]
                values = pa.array(values, pa.string()).cast(kind)
            elif field.kind == "decimal":
                kind = decimal[decimals]
                values = [value or None for value in values] if decimals != "string" else values
                values = pa.array(values, pa.string()).cast(kind)
            elif field.kind == "object":
                kind = None
            else:
                kinds = {"text": text, "integer": pa.int64(), "flag": pa.bool_()}
                kind = kinds.get(field.kind, pa.float64())
            columns[field.name] = pa.array(values, kind) if isinstance(values, list) else values
        return pa.table(columns)


HOSTILE = '\x1b[31m<script>alert("x")</script>\u202e\nend'

FILL = (
    Field("trd_side", "text", "", "Side, such as BUY"),
    Field("code", "text"),
    Field("stock_name", "text"),
    Field("qty", "decimal", "shares"),
    Field("price", "decimal", "HKD"),
    Field("create_time", "timestamp", "us", "Created time"),
    Field("counter_broker_id", "integer"),
)


def fills(count: int) -> FakeRecords:
    """Fills with names of both widths."""
    rows = [
        {
            "trd_side": "BUY" if i % 2 else "SELL",
            "code": "HK.00700",
            "stock_name": "腾讯控股" if i % 3 else "Tencent",
            "qty": str(100 * i),
            "price": ["388", "388.2", "388.25"][i % 3],
            "create_time": 1_767_600_000_000_000 + i * 1_000_000,
            "counter_broker_id": 6998,
        }
        for i in range(count)
    ]
    return FakeRecords(rows, FILL)
