"""An endpoint that a user would declare."""

import boardlot as bl

KLINE = bl.Endpoint(
    "kline",
    "GET",
    "/api/v1.0/quote/{symbol}/history-kline",
    rows="data.kline_list",
    paging=bl.DateRange("end", next="extra.next_time", unique="time"),
    record={"time": "seconds", "open": "decimal", "close": "decimal", "volume": "integer"},
    arguments={"start": "seconds"},
    doc="Candles.",
)
