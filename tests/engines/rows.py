"""Fills of accounts that tests make up."""

from datetime import datetime, timedelta, timezone
from itertools import count
from operator import eq, ge, gt, le, lt

BASE = 1_790_000_000_000_000
CODES = ("HK.00700", "HK.00005", "HK.00001")
COMPARE = dict(zip(["==", "<", "<=", ">", ">="], [eq, lt, le, gt, ge], strict=True))
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ACCOUNTS = count(500_000)


def at(micros):
    return EPOCH + timedelta(microseconds=BASE + micros)


def account_of(sandbox, rows):
    """A new account with these fills."""
    account = str(next(_ACCOUNTS))
    sandbox.put("fills_history", rows, account=account)
    return account


def fill(number, micros):
    """A fill with this number, this many microseconds after the base."""
    ids = {"deal_id": str(number), "order_id": str(number), "counter_broker_id": number}
    times = dict.fromkeys(["create_time", "updated_time"], BASE + micros)
    code, side = CODES[number % len(CODES)], "BUY" if number % 2 else "SELL"
    same = {"stock_name": "name", "price": "10.5", "counter_broker_name": "", "status": "OK"}
    return {"trd_side": side, "code": code, "qty": str(number + 1), **ids, **times, **same}


def fills(times):
    """Fills at these times, the latest first, as the service returns them."""
    return [fill(number, micros) for number, micros in enumerate(sorted(times, reverse=True))]
