"""Rows that charts draw."""

from datetime import date


def fill(code="HK.1", side="BUY", price="5", time=10**15, **more):
    return {"trd_side": side, "code": code, "price": price, "create_time": time, **more}


def paid(ex_date="2025-01-31", amount=1.5, **more):
    return {"dividend_per_share": amount, "ex_date": ex_date, **more}


def event(name, day, code="MY.1", market="my"):
    """An event of an IPO, on a date or a day of November 2026."""
    when = date(2026, 11, day) if isinstance(day, int) else day
    return {"code": code, "event": name, "date": when, "market": market, "name": "太阳能 SOLAR"}
