"""What the build of a wheel and the benchmarks run of the package, in short."""

import json

import train

from benches import hooks


def test_the_training_of_a_wheel_runs():
    train.train(rounds=1, requests=2, fills=60)


def test_the_benchmarks_get_the_rows_of_a_page_as_a_client_does():
    rows = [{"code": f"HK.{number:05}", "qty": str(number)} for number in range(3)]
    body = json.dumps({"s": "ok", "d": {"order_fills": rows, "completed": True}}).encode()
    assert hooks.reader_of("fills_history", hooks.FILLS)(body) == rows
    assert list(hooks.pager_of([body])) == rows
