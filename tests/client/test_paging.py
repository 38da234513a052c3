"""Paging against the sandbox: any breaks, any page size, every fill once and in order."""

import json

import boardlot as bl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ACCOUNT = "281756"


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=3, fills=230) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def client(sandbox):
    return sandbox.client()


@pytest.fixture(scope="module")
def span(client):
    end = int(client.server_time().timestamp() * 1e6)
    return {"start": end - 89 * 24 * 3600 * 10**6, "end": end}


@pytest.fixture(scope="module")
def fills(client, span):
    fills = client.fills_history(ACCOUNT, "HK", **span).all()
    assert len(fills) == 230
    return fills


@settings(max_examples=40, deadline=None)
@given(page_size=st.integers(10, 50), steps=st.lists(st.integers(1, 60), max_size=6))
def test_every_fill_comes_once_and_in_order_whatever_breaks(client, span, fills, page_size, steps):
    def start(resume):
        return client.fills_history(ACCOUNT, "HK", page_size=page_size, resume=resume, **span)

    seen, checkpoint = [], None
    for number, step in enumerate(steps):
        pager = start(checkpoint)
        if number % 2:
            seen.extend(pager.all(max_items=step))
        else:
            seen.extend(fill for _, fill in zip(range(step), pager, strict=False))
        checkpoint = pager.checkpoint()
    seen.extend(row for page in start(checkpoint).pages() for row in page)
    assert fills == seen


def test_an_open_range_is_fixed_and_travels_with_the_checkpoint(sandbox, client):
    sandbox.reset()
    pager = client.fills_history(ACCOUNT, "HK")
    next(pager)
    checkpoint = pager.checkpoint()
    start, end = json.loads(checkpoint)["at"]["range"]
    assert end - start == 90 * 86_400_000_000
    list(client.fills_history(ACCOUNT, "HK", resume=checkpoint))
    ranges = {
        tuple(part for part in request.query.split("&") if part.startswith(("start", "end")))
        for request in sandbox.requests
        if request.path.endswith("/fills_history")
    }
    assert len(ranges) == 1


def test_history_pages_backward_by_moving_the_end_of_its_range(client):
    query = {"start": "2026-01-01", "end": "2026-06-30", "limit": 30}
    flow = client.paginate(
        "GET",
        "/api/v1.0/quote/HK.00700/capital-flow/history",
        paging=bl.DateRange("end", before="data_date"),
        rows="data.capital_flow_list",
        query=query,
    )
    days = [row["data_date"] for page in flow.pages() for row in reversed(page)]
    assert days == sorted(set(days), reverse=True)
    assert (days[0], days[-1]) == ("2026-06-30", "2026-01-02")

    klines = client.paginate(
        "GET",
        "/api/v1.0/quote/HK.00700/history-kline",
        paging=bl.DateRange("end", next="extra.next_time"),
        rows="data.kline_list",
        query=query,
    ).all()
    assert len(klines) == len(days)


def test_a_page_that_fails_midway_raises_and_the_rest_comes_later(sandbox, client, span, fills):
    pager = client.fills_history(ACCOUNT, "HK", page_size=10, **span)
    seen = [next(pager) for _ in range(15)]
    sandbox.faults = bl.Faults(drop_rate=1.0)
    try:
        with pytest.raises(bl.TransportError) as failure:
            for fill in pager:
                seen.append(fill)
    finally:
        sandbox.faults = None
    resume = failure.value.checkpoint
    seen.extend(client.fills_history(ACCOUNT, "HK", page_size=10, resume=resume, **span))
    assert fills == seen


def test_gathering_that_fails_loses_nothing(sandbox, client, span, fills):
    pager = client.fills_history(ACCOUNT, "HK", page_size=10, **span)
    seen = [next(pager) for _ in range(15)]
    sandbox.faults = bl.Faults(drop_rate=0.7, seed=1)
    try:
        with pytest.raises(bl.BoardlotError):
            pager.all()
    finally:
        sandbox.faults = None
    assert fills == seen + list(pager.all())
