"""Fills of accounts that tests make up."""

import operator

BASE = 1_790_000_000_000_000
CODES = ("HK.00700", "HK.00005", "HK.00001")
COMPARE = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def fill(number, micros):
    """A fill with this number, this many microseconds after the base."""
    return {
        "trd_side": "BUY" if number % 2 else "SELL",
        "deal_id": str(number),
        "order_id": str(number),
        "code": CODES[number % len(CODES)],
        "stock_name": "name",
        "qty": str(number + 1),
        "price": "10.5",
        "create_time": BASE + micros,
        "updated_time": BASE + micros,
        "counter_broker_id": number,
        "counter_broker_name": "",
        "status": "OK",
    }


def fills(times):
    """Fills at these times, the latest first, as the service returns them."""
    return [fill(number, micros) for number, micros in enumerate(sorted(times, reverse=True))]
