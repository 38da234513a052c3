"""Every call ends: waiting for a turn, a connection or the clock is bounded too."""

import threading
import time

import boardlot as bl
import pytest


def test_waiting_for_a_connection_is_bounded():
    with bl.Sandbox(faults=bl.Faults(latency=30.0)) as stalled:
        client = stalled.client(max_connections=1, timeout=1.0, max_retries=0)
        ends = []

        def call():
            started = time.monotonic()
            with pytest.raises(bl.RequestTimeout):
                client.server_time()
            ends.append(time.monotonic() - started)

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ends) == 8
    # Its own attempt and as much again for its turn, with room for a busy machine: one after
    # another they would take eight seconds.
    assert max(ends) < 6


def test_a_clock_that_is_an_hour_off_is_put_right_before_an_open_range_is_used():
    with bl.Sandbox(seed=3, fills=50, clock_offset=3600.0) as ahead:
        client = ahead.client()
        assert len(client.fills_history("281756", "HK").all()) == 50
        now = client.server_time().timestamp() * 1e6
        ends = [
            int(part.removeprefix("end="))
            for request in ahead.requests
            for part in request.query.split("&")
            if part.startswith("end=") and request.status == 200
        ]
    assert now - ends[-1] < 60e6
