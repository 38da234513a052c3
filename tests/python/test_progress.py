"""The bar of long operations: when it is drawn, and how often."""

import re
from typing import Any

import pytest

tqdm_std = pytest.importorskip("tqdm.std")
from boardlot.progress import Bar  # noqa: E402


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tqdm_std, "time", clock)
    return clock


def drawn(bar: Bar, clock: Clock, counter: dict[str, int], seconds: float, steps: int) -> None:
    for _ in range(steps):
        clock.now += seconds / steps
        counter["n"] += 1
        bar.draw()


@pytest.mark.parametrize("leave", [True, False])
def test_short_work_draws_nothing(leave: bool, clock: Clock, capsys: Any) -> None:
    counter = {"n": 0}
    bar = Bar("fetched", "rows", 50, lambda: counter["n"], leave)
    drawn(bar, clock, counter, 0.9, 40)
    bar.close()
    assert not any(capsys.readouterr())


def test_long_work_is_drawn_ten_times_a_second_at_most(clock: Clock, capsys: Any) -> None:
    counter = {"n": 0}
    bar = Bar("fetched", "rows", 5_000, lambda: counter["n"])
    drawn(bar, clock, counter, 3.0, 3_000)
    redraws = capsys.readouterr().err.count("fetched:")
    assert 15 <= redraws <= 21
    drawn(bar, clock, counter, 0.0, 5)
    bar.close()
    assert "3005/5000" in capsys.readouterr().err


def test_the_rate_is_that_of_what_was_done_since_the_bar_was_made(
    clock: Clock, capsys: Any
) -> None:
    counter = {"n": 1_000_000}
    bar = Bar("fetched", "rows", None, lambda: counter["n"])
    drawn(bar, clock, counter, 2.0, 20)
    rates = re.findall(r"([\d.]+) rows/s", capsys.readouterr().err)
    assert set(rates) == {"10.00"}


def test_an_unchanged_count_is_drawn_for_the_clock(clock: Clock, capsys: Any) -> None:
    bar = Bar("fetched", "rows", 10, lambda: 0)
    for _ in range(3):
        clock.now += 1
        bar.draw()
    assert capsys.readouterr().err.count("fetched:") == 3
