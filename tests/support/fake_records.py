"""Stand-ins for `Records` that need no core: a list of dicts with a schema."""

from typing import NamedTuple


class Field(NamedTuple):
    """Like the core's `SchemaField`."""

    name: str
    kind: str
    unit: str = ""
    doc: str = ""
    values: str | None = None


class FakeRecords(list):
    """Rows with a schema."""

    def __init__(self, rows=(), schema=()):
        super().__init__(rows)
        self.schema = schema

    def __getitem__(self, place):
        found = super().__getitem__(place)
        return FakeRecords(found, self.schema) if isinstance(place, slice) else found


FILL = (
    Field("trd_side", "text", "", "Side, such as BUY"),
    Field("code", "text"),
    Field("stock_name", "text"),
    Field("qty", "decimal", "shares"),
    Field("price", "decimal", "HKD"),
    Field("create_time", "timestamp", "us", "Created time"),
    Field("counter_broker_id", "integer"),
)


def fills(count):
    """Fills with names in narrow and wide characters."""
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
