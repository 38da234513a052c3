"""Every time, day and duration that an argument may be: those of pendulum, and of classes whose
own arithmetic and comparisons fail."""

from datetime import date, datetime, timedelta, timezone

import boardlot as bl
import pendulum
import pytest

from ..support.clients import MODES, run, settled
from ..support.service import StandInService, response

AT = datetime(2026, 5, 4, 3, 2, 1, 123456, timezone(timedelta(hours=8)))
DAYS = timedelta(days=3, seconds=2, microseconds=1)


def failing(base):
    """A subclass whose operators raise."""

    def fail(*_):
        raise AssertionError(f"an operator of the caller's {base.__name__}")

    operators = "add radd sub rsub mul rmul floordiv truediv mod divmod neg abs eq ne lt le gt ge"
    names = {f"__{name}__": fail for name in operators.split()}
    methods = {**dict.fromkeys(["total_seconds", "timestamp", "astimezone", "replace"], fail)}
    return type(f"Failing{base.__name__}", (base,), {**names, **methods, "__hash__": None})


TIMES = {
    "pendulum": pendulum.instance(AT),
    "failing": failing(datetime)(2026, 5, 4, 3, 2, 1, 123456, AT.tzinfo),
    "pandas": __import__("pandas").Timestamp(AT),
}
DATES = {"pendulum": pendulum.date(2026, 5, 4), "failing": failing(date)(2026, 5, 4)}
DURATIONS = {
    "pendulum": pendulum.duration(days=3, seconds=2, microseconds=1),
    "interval": pendulum.instance(AT + DAYS) - pendulum.instance(AT),
    "failing": failing(timedelta)(3, 2, 1),
}
FLOW = bl.Endpoint(
    "flow", "GET", "/flow", rows="data", record={"at": "seconds", "day": "date"},
    arguments={"at": "seconds", "day": "date"},
)  # fmt: skip
LATER = 1_790_000_000_000_000
CALLS = {
    "fills_history": lambda c, at, day: c.fills_history("1", "HK", start=at, end=LATER).all(),
    "a day of fills": lambda c, at, day: c.fills_history("1", "HK", start=day, end=LATER).all(),
    "the end": lambda c, at, day: c.fills_history("1", "HK", start=10**15, end=at).all(),
    "trading_days": lambda c, at, day: c.trading_days("HK", day, day),
    "a day of a time": lambda c, at, day: c.trading_days("HK", at, at),
    "call": lambda c, at, day: c.call(FLOW, at=at, day=day),
    "fetch_many": lambda c, at, day: c.fetch_many(
        "fills_history", ["1"], trd_market="HK", start=at, end=LATER
    ),
    "undeclared": lambda c, at, day: c.call(FLOW, other=day),
}


def service(request):
    if "fills" in request.path:
        return response({"s": "ok", "d": {"order_fills": [], "page_flag": "", "completed": True}})
    return response({"ret_code": 0, "data": []})


def sent(call, at, day):
    """The targets of a call's requests."""
    with StandInService(service, clock=0) as server:
        for mode in MODES:
            run(mode, server, lambda client: settled(call(client.client, at, day)))
    first, second = (request.target for request in server.received)
    assert first == second
    return first


@pytest.mark.parametrize("day", DATES)
@pytest.mark.parametrize("at", TIMES)
@pytest.mark.parametrize("call", CALLS)
def test_a_time_of_any_class_is_sent_as_that_of_the_standard_library(call, at, day):
    use = CALLS[call]
    assert sent(use, TIMES[at], DATES[day]) == sent(use, AT, date(2026, 5, 4))


@pytest.mark.parametrize("span", DURATIONS)
@pytest.mark.parametrize("at", TIMES)
@pytest.mark.filterwarnings("ignore:at is", "ignore:the archive .* has fills")
def test_an_archive_takes_times_and_durations_of_any_class(tmp_path, at, span):
    time, length = TIMES[at], DURATIONS[span]
    with (
        bl.Sandbox(today=DATES["failing"], fills=40) as sandbox,
        sandbox.client() as client,
        bl.Archive(tmp_path / "archive.db") as archive,
    ):
        account = sandbox.accounts["trade"][0]
        lists = {"fills": [(account, "HK")], "dividends": ["HK.00700"]}
        archive.update(client, **lists, start=time, overlap=length)
        report = archive.update(client, **lists, max_age=length)
        assert len(report.fresh) == 2
        archive.get(client, "dividends", "HK.00700", max_age=length)
        assert archive.check(unread=length) == []
        assert (
            archive.fills(account, "HK", start=time).all()
            == archive.fills(account, "HK", start=AT).all()
        )
        assert (
            archive.fills(account, "HK", end=time).all()
            == archive.fills(account, "HK", end=AT).all()
        )
        assert archive.seen("dividends", "HK.00700", at=time) == archive.seen(
            "dividends", "HK.00700", at=AT
        )
        negative = {"pendulum": -pendulum.duration(days=1)}.get(span, failing(timedelta)(-1))
        for call in (
            lambda: archive.update(client, **lists, overlap=negative),
            lambda: archive.update(client, **lists, max_age=negative),
            lambda: archive.get(client, "dividends", "HK.00700", max_age=negative),
            lambda: archive.check(unread=negative),
        ):
            with pytest.raises(bl.ConfigError, match="expected a timedelta of 0 or more"):
                call()


@pytest.mark.parametrize("kind", DATES)
def test_a_calendar_takes_days_and_times_of_any_class(kind):
    with bl.Sandbox(today=date(2026, 5, 4)) as sandbox, sandbox.client() as client:
        calendar = client.ipo_calendar()
        week = date(2026, 5, 4), date(2026, 5, 10)
        others = (type(DATES[kind])(day.year, day.month, day.day) for day in week)
        assert list(calendar.between(*others)) == list(calendar.between(*week)) != []
        assert calendar.to_ical(stamp=TIMES[kind]) == calendar.to_ical(stamp=AT)


@pytest.mark.parametrize("value", [failing(datetime)(2026, 5, 4), pendulum.naive(2026, 5, 4)])
def test_a_naive_time_of_any_class_is_rejected(value):
    naive = pytest.raises(bl.ConfigError, match="a naive datetime")
    with bl.Client("https://api.example.com") as client, naive:
        client.fills_history("1", "HK", start=value)
