"""Fills as a service may send them, and their sums by hand: corrected, late, cancelled, and with a
side and a status that its documentation does not name.
"""

from datetime import datetime, timedelta, timezone

# Half past one at night in Hong Kong, on the next day.
NOW = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
EVENING = NOW - timedelta(days=10, hours=6, minutes=30)


def fill(number, status, side, code, qty, price, created, updated):
    times = [
        int((EVENING + timedelta(days=day)).timestamp()) * 1_000_000 for day in (created, updated)
    ]
    return {
        **{"trd_side": side, "deal_id": str(number), "order_id": "1", "code": code},
        **{"stock_name": code, "qty": qty, "price": price},
        **{"create_time": times[0], "updated_time": times[1], "status": status},
        **{"counter_broker_id": 1, "counter_broker_name": "One"},
    }


# Sorted as the service does; the columns are those of `fill`.
BEFORE = [
    fill(2, "OK", "SELL", "HK.00700", "40", "3.00", 6, 6),
    fill(5, "OK", "SHORT_SELL", "HK.00005", "20", "50.00", 3, 3),
    fill(4, "HALTED", "BUY", "HK.00005", "7", "10.00", 2, 2),
    fill(3, "CANCELLED", "BUY", "HK.00700", "1000", "2.50", 1, 1),
    fill(1, "OK", "BUY", "HK.00700", "100", "2.50", 0, 0),
]
CORRECTED = fill(1, "OK", "BUY", "HK.00700", "300", "2.50", 0, 8)
# This fill arrives after others that have a later time.
LATE = fill(6, "OK", "BUY", "HK.00005", "10", "60.00", 4, 4)
AFTER = [CORRECTED, BEFORE[0], LATE, *BEFORE[1:4]]
# The fills without values that the documentation does not name.
USUAL = [fill for fill in AFTER if fill["deal_id"] not in ("4", "5")]

SHARES = {
    ("OK", "HK.00700"): 340,
    ("OK", "HK.00005"): 30,
    ("CANCELLED", "HK.00700"): 1000,
    ("HALTED", "HK.00005"): 7,
}
TURNOVER = {
    ("OK", "HK.00700"): 870,
    ("OK", "HK.00005"): 1600,
    ("CANCELLED", "HK.00700"): 2500,
    ("HALTED", "HK.00005"): 70,
}
TURNOVER_BY_STATUS = {"OK": 2470, "CANCELLED": 2500, "HALTED": 70}
# The fills of each day of trading, in Hong Kong.
BY_DAY = {
    str((EVENING + timedelta(days=days + 1)).date()): [number]
    for number, days in {"1": 0, "3": 1, "4": 2, "5": 3, "6": 4, "2": 6}.items()
}
