"""A second service, written from the document alone, with what that leaves open drawn by a seed.

Every way to read returns the service's rows, every failure is the error that the document says, and
every request is as the document says. What is planted in the rows or in a request is noticed.
"""

import asyncio
import dataclasses
import json
from decimal import Decimal
from itertools import chain, islice

import boardlot as bl
import pytest

from .second_service import END, FIELDS, LISTS, START, Literal, Server, Service, Truth

pa = pytest.importorskip("pyarrow")

# As many as draw every form at least once.
SHORT, LONG = 25, 2_000
PAGED = {"plate_stocks", "crypto_orders", "fills_history"}
ANNOTATIONS = {"text": str, "decimal": Decimal, "bool": bool}


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        yield server


def calls(service):
    """Each call as its name, the kind of its rows and their key, and its arguments."""
    yield "trading_days", ("trading_days", ("HK", "2026-01-01", "2026-01-31")), ["HK", *DAYS], {}
    for symbol in ("HK.HSImain", "US.a-b_c.D"):
        yield "reference_futures", ("reference_futures", symbol), [symbol], {}
    yield "dividends", ("dividends", "HK.00700"), ["HK.00700"], {}
    for market in service.markets:
        default = 4 if market == "cn" else 11
        named = {"request_type": default} if service.request_type else {}
        yield "ipo_list", (f"ipo_list {market}", market), [market], named
    account, size = service.account, {"page_size": service.page_size}
    yield "sim_orders", ("sim_orders", account), [account], {}
    yield "sim_positions", ("sim_positions", account), [account], {}
    yield "crypto_orders", ("crypto_orders", account), [int(account)], size
    span = {"start": START, "end": END}
    yield "fills_history", ("fills_history", account), [account, "HK"], {**span, **size}
    yield "plate_stocks", ("plate_stocks", "HK.BK7"), ["HK.BK7"], {"limit": service.limit}


DAYS = ("2026-01-01", "2026-01-31")


def instances(kind, truth):
    """A class with some of the fields, and what its instances have."""
    kinds = FIELDS.get(kind, {})
    usable = {
        name: ANNOTATIONS[kind]
        for name, kind in kinds.items()
        if kind in ANNOTATIONS
        and truth.rows
        and all(row.get(name) is not None for row in truth.rows)
    }
    if not usable:
        return None, []
    made = dataclasses.make_dataclass("Row", list(usable.items())[:4])
    names = [field.name for field in dataclasses.fields(made)]
    convert = {
        name: usable[name] if usable[name] is Decimal else (lambda sent: sent) for name in names
    }
    rows = [made(**{name: convert[name](row[name]) for name in names}) for row in truth.rows]
    return made, rows


def read_records(truth, kind, call):
    """Every way to read a list that comes in one response."""
    records = call()
    truth.check(records)
    truth.check_typed(records.to_dicts(typed=True))
    truth.check_columns(records.to_arrow())
    made, rows = instances(kind, truth)
    if made is not None:
        assert records.as_type(made) == rows


def read_pager(truth, kind, call, dice):
    """Every way to read a list in pages, and on from any position."""
    truth.check(call())
    truth.check(call().all())
    truth.check(chain.from_iterable(call().pages()))
    truth.check_typed(call().all().to_dicts(typed=True))
    truth.check_columns(call().to_arrow())
    truth.check_columns(pa.RecordBatchReader.from_stream(call()).read_all())
    names = [name for name in FIELDS.get(kind, {}) if all(name in row for row in truth.rows)][:3]
    if names:
        selected = [{name: row[name] for name in names} for row in truth.rows]
        assert [dict(row) for row in call().select(*names)] == selected
    made, rows = instances(kind, truth)
    if made is not None:
        assert list(call().as_type(made)) == rows
    pager = call()
    first = list(islice(pager, dice.randrange(len(truth.rows) + 1)))
    truth.check(first + list(call(resume=pager.checkpoint())))


def read_everything(server, seed, *, only=None):
    service = server.service = Service(seed)
    with bl.Client(server.base_url, auth=service.credential(), max_retries=0) as client:
        for method, (kind, key), arguments, named in calls(service):
            if only is not None and method != only:
                continue
            truth = Truth(kind, service.data.of(kind, key))

            def call(method=method, arguments=arguments, named=named, **more):
                return getattr(client, method)(*arguments, **named, **more)

            if method in PAGED:
                read_pager(truth, kind, call, service.dice)
            else:
                read_records(truth, kind, call)
        if only is None:
            symbols = ["HK.1", "US.2", "SG.3"]
            many = client.fetch_many("dividends", symbols, concurrency=2)
            expected = [
                row for key in symbols for row in Truth("", service.data.of("dividends", key)).rows
            ]
            Truth.check(Holder(expected), [drop_key(row) for row in many])
            asyncio.run(read_asynchronously(server, service))
    assert not service.problems, service.problems


@dataclasses.dataclass
class Holder:
    rows: list


def drop_key(row):
    return {name: value for name, value in row.items() if name != "symbol"}


async def read_asynchronously(server, service):
    async with bl.AsyncClient(server.base_url, auth=service.credential(), max_retries=0) as client:
        for method, (kind, key), arguments, named in calls(service):
            truth = Truth(kind, service.data.of(kind, key))
            if method not in PAGED:
                truth.check(await getattr(client, method)(*arguments, **named))
                continue
            call = getattr(client, method)
            truth.check([row async for row in call(*arguments, **named)])
            truth.check(await call(*arguments, **named).all())
            pages = [page async for page in call(*arguments, **named).pages()]
            truth.check(chain.from_iterable(pages))


def fail_everywhere(server, seed, ways=("async", "sync")):
    """Every failure, with every form that the document leaves open."""
    service = server.service = Service(seed)
    if "async" in ways:
        asyncio.run(fail_asynchronously(server, service))
    if "sync" in ways:
        fail_synchronously(server, service)
    assert not service.problems, service.problems


def fail_synchronously(server, service):
    with bl.Client(server.base_url, auth=service.credential(), max_retries=0) as client:
        for method, (arguments, named), failure in planned(service):
            with pytest.raises(failure.wanted) as caught:
                list(getattr(client, method)(*arguments, **named))
            failure.check(method, caught.value)


async def fail_asynchronously(server, service):
    async with bl.AsyncClient(server.base_url, auth=service.credential(), max_retries=0) as client:
        for method, (arguments, named), failure in planned(service):
            call = getattr(client, method)(*arguments, **named)
            with pytest.raises(failure.wanted) as caught:
                await (call.all() if method in PAGED else call)
            failure.check(method, caught.value)


@dataclasses.dataclass
class Failure:
    status: int
    wanted: type
    code: int | None

    def check(self, method, error):
        assert type(error) is self.wanted, (method, self, error)
        assert method in error.endpoint and error.hint.strip()
        if isinstance(error, bl.ApiError):
            assert error.http_status == self.status
            assert self.code is None or error.code == self.code


def planned(service):
    """Each failure of each method, which the service responds with next."""
    by_method = {method: (arguments, named) for method, _, arguments, named in calls(service)}
    for method, status, body, wanted, code in service.failures():
        service.failure = (status, {}, service.written(body))
        yield method, by_method[method], Failure(status, wanted, code)


@pytest.mark.parametrize("first", range(0, SHORT, 5))
def test_every_way_to_read_returns_the_rows_of_any_service(server, first):
    for seed in range(first, first + 5):
        read_everything(server, seed)


@pytest.mark.parametrize("first", range(0, SHORT, 5))
def test_every_failure_of_any_service_is_the_error_that_the_document_says(server, first):
    for seed in range(first, first + 5):
        fail_everywhere(server, seed, ["sync" if seed % 2 else "async"])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, LONG, 50))
def test_two_thousand_services_hold(server, first):
    for seed in range(first, first + 50):
        read_everything(server, seed)
        fail_everywhere(server, seed)


def dropped(rows):
    return rows[:-1]


def doubled(rows):
    return rows[:1] + rows


def swapped(rows):
    return [rows[1], rows[0], *rows[2:]]


def changed(rows):
    """One character of one value of the last row."""
    *others, last = rows
    if isinstance(last.value, str):
        return [*others, Literal(json.dumps(f"{last.value[:-1]}x"))]
    name = next(name for name, sent in last.value.items() if isinstance(sent, str) and sent)
    return [*others, Literal(json.dumps({**last.value, name: f"{last.value[name][:-1]}~"}))]


@pytest.mark.parametrize("planted", [dropped, doubled, swapped, changed])
@pytest.mark.parametrize("method", ["trading_days", "plate_stocks", *LISTS])
def test_a_row_that_is_dropped_doubled_swapped_or_changed_is_noticed(server, method, planted):
    # A service with rows enough for each change.
    seeds = (seed for seed in range(10_000) if is_long_enough(seed, method))
    seed = next(seeds)
    read_everything(server, seed, only=method)

    service = server.service
    with bl.Client(server.base_url, auth=service.credential(), max_retries=0) as client:
        service.change_rows = planted
        for name, (kind, key), arguments, named in calls(service):
            if name == method:
                truth = Truth(kind, service.data.of(kind, key))
                with pytest.raises(AssertionError):
                    truth.check(getattr(client, method)(*arguments, **named))
                break


def is_long_enough(seed, method):
    service = Service(seed)
    lists = (of for name, of, *_ in calls(service) if name == method)
    return all(len(service.data.of(*of)) > 2 for of in lists)


def flipped(text, at):
    return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


@pytest.mark.parametrize("method", ["plate_stocks", "fills_history", "dividends", "ipo_list"])
def test_a_byte_of_a_request_that_is_changed_is_noticed(server, method):
    service = server.service = Service(3, signed=True)
    # The signature does not cover the nonce (5.2).
    named_headers = ("authorization", "x-api-key", "x-timestamp")
    arguments, named = next(
        (arguments, named) for name, _, arguments, named in calls(service) if name == method
    )

    def planted(part, at):
        def change(verb, target, headers, body):
            if part == "target":
                target = flipped(target, at % len(target))
            elif part == "body":
                body = flipped(body.decode(), at % len(body)).encode()
            elif part == "method":
                verb = {"GET": "POST", "POST": "GET"}[verb]
            else:
                # The last characters of Base64 may have bits that mean nothing.
                at_most = len(headers[part]) - 3 if part == "authorization" else len(headers[part])
                headers = {**headers, part: flipped(headers[part], at % at_most)}
            return verb, target, headers, body

        return change

    parts = ["method", "target", *named_headers, *(["body"] if method == "plate_stocks" else [])]
    with bl.Client(server.base_url, auth=service.credential(), max_retries=0) as client:
        list(getattr(client, method)(*arguments, **named))
        assert not service.problems
        for part in parts:
            for at in range(0, 60, 7):
                service.change_request = planted(part, at)
                with pytest.raises(bl.ServiceError):
                    list(getattr(client, method)(*arguments, **named))
                assert len(service.problems) == 1, (part, at)
                service.problems.clear()
