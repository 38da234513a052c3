"""One list of 120 rows, by hand: read in pages, resumed, and read on after a failure."""

import boardlot as bl
import pytest

ACCOUNT = "281756"
# 2026-01-05 00:00 UTC, in microseconds.
FIRST = 1_767_571_200_000_000
# The service returns the latest first.
FILLS = [
    {"deal_id": str(number), "code": "HK.00700", "updated_time": FIRST + number}
    for number in reversed(range(120))
]


@pytest.fixture
def sandbox():
    with bl.Sandbox() as running:
        running.put("fills_history", FILLS, account=ACCOUNT)
        yield running


@pytest.fixture
def client(sandbox):
    with sandbox.client(max_retries=0) as running:
        yield running


def test_a_loop_reads_every_row_once(client):
    assert list(client.fills_history(ACCOUNT, "HK")) == FILLS


def test_no_page_is_requested_before_its_rows_are_read(client):
    pager = client.fills_history(ACCOUNT, "HK", page_size=50)
    assert pager.requests == 0
    pages = [len(page) for page in pager.pages()]
    assert pages == [50, 50, 20] and pager.requests == 3


def test_a_limit_ends_a_list_within_a_page(client):
    assert client.fills_history(ACCOUNT, "HK", page_size=50).all(max_items=60) == FILLS[:60]


def test_a_checkpoint_continues_after_the_last_row_that_was_read(client):
    pager = client.fills_history(ACCOUNT, "HK", page_size=50)
    read = [next(pager) for _ in range(60)]
    checkpoint = pager.checkpoint()
    rest = client.fills_history(ACCOUNT, "HK", page_size=50, resume=checkpoint)
    assert [*read, *rest] == FILLS


def test_a_pager_that_failed_reads_on_where_it_was(sandbox, client):
    pager = client.fills_history(ACCOUNT, "HK", page_size=50)
    read = [next(pager)]
    sandbox.faults = bl.Faults(error_rate=1.0)
    # The next page may have been requested ahead; one after it fails.
    with pytest.raises(bl.ServiceError):
        for row in pager:
            read.append(row)
    sandbox.faults = None
    assert [*read, *pager] == FILLS
