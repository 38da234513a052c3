"""One call during an outage, by hand: what is sent again, and what the caller learns."""

import boardlot as bl
import pytest


@pytest.fixture
def sandbox():
    with bl.Sandbox() as running:
        yield running


def sent(sandbox):
    """The statuses of the responses to requests for dividends, in order."""
    return [one.status for one in sandbox.requests if one.path.endswith("/dividends")]


def test_a_failure_of_the_service_is_tried_again(sandbox):
    sandbox.fail_next("dividends", status=503)
    with sandbox.client() as client:
        assert len(client.dividends("HK.00700")) > 0
    assert sent(sandbox) == [503, 200]


def test_an_outage_that_lasts_is_an_error_that_may_be_tried_again_later(sandbox):
    sandbox.faults = bl.Faults(error_rate=1.0)
    with sandbox.client(max_retries=1) as client, pytest.raises(bl.ServiceError) as caught:
        client.dividends("HK.00700")
    assert caught.value.retryable and caught.value.hint
    assert len(sent(sandbox)) == 2


def test_a_mistake_of_the_caller_is_not_tried_again(sandbox):
    with sandbox.client() as client, pytest.raises(bl.InvalidSymbol):
        client.dividends("HK.99999")
    assert len(sent(sandbox)) == 1


def test_a_hook_sees_each_attempt(sandbox):
    seen = []
    sandbox.fail_next("dividends", status=503)
    with sandbox.client(on_request=lambda event: seen.append(event.attempt)) as client:
        client.dividends("HK.00700")
    assert seen == [1, 2]
