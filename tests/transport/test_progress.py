"""The bar of long operations: when it is drawn, and how often."""

import asyncio
import io
import re
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import boardlot as bl
import pytest

tqdm_std = pytest.importorskip("tqdm.std")
from boardlot._support.progress import Bar, watched  # noqa: E402


class Clock:
    """Stands still until the test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def no_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """tqdm's own thread, which would live to the end of the process."""
    monkeypatch.setattr(tqdm_std.tqdm, "monitor_interval", 0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tqdm_std, "time", clock)
    return clock


def drawn(bar: Bar, clock: Clock, seconds: float, steps: int) -> None:
    for _ in range(steps):
        clock.now += seconds / steps
        bar.add(1)


def test_short_work_draws_nothing(clock: Clock, capsys: Any) -> None:
    bar = Bar("fetched", "rows", 50)
    drawn(bar, clock, 0.9, 40)
    bar.close()
    assert not any(capsys.readouterr())


def test_long_work_is_drawn_ten_times_a_second_at_most(clock: Clock, capsys: Any) -> None:
    bar = Bar("fetched", "rows", 5_000)
    drawn(bar, clock, 3.0, 3_000)
    redraws = capsys.readouterr().err.count("fetched:")
    assert 15 <= redraws <= 21
    drawn(bar, clock, 0.0, 5)
    bar.close()
    assert "3005/5000" in capsys.readouterr().err


def shown_total(screen: str) -> str:
    """The total that the bar shows last: `done/total`, or `done rows` without a total."""
    return re.findall(r"(\d+/\d+|\d+ rows) \[", screen)[-1]


def test_a_bar_shows_the_total_that_the_service_reports(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("boardlot._support.progress.DELAY", 0.0)
    with bl.Sandbox(seed=7, plate_stocks=230, fills=60) as sandbox, sandbox.client() as client:

        def shown(received: int = 0, resume: bool = False, **limits: int) -> str:
            pager = client.plate_stocks("HK.BK1001", limit=50)
            for _ in range(received):
                next(pager)
            if resume:
                pager = client.plate_stocks("HK.BK1001", limit=50, resume=pager.checkpoint())
            pager.all(progress=True, **limits)
            return shown_total(capsys.readouterr().err)

        async def awaited() -> None:
            async with sandbox.async_client() as async_client:
                await async_client.plate_stocks("HK.BK1001").all(progress=True)

        assert shown() == "230/230"
        assert shown(max_items=60) == "60/60"
        assert shown(received=3) == shown(received=3, resume=True) == "227/227"
        # How many came before this page, no cursor tells.
        assert shown(received=120) == shown(received=120, resume=True) == "110 rows"
        assert shown(max_pages=2) == "100 rows"
        asyncio.run(awaited())
        assert shown_total(capsys.readouterr().err) == "230/230"
        # The service reports no total of fills.
        client.fills_history(sandbox.accounts["trade"][0], "HK").all(progress=True)
        assert shown_total(capsys.readouterr().err) == "60 rows"


class Broken(io.StringIO):
    """A terminal that was closed, or a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError("No space left on device")


def test_a_bar_that_cannot_be_drawn_is_not_an_error(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Broken())
    bar = Bar("fetched", "rows", 50)
    drawn(bar, clock, 5.0, 40)
    bar.close()


@pytest.mark.parametrize("turns", [0, 3])
@pytest.mark.parametrize("outcome", ["rows", ValueError("down"), asyncio.CancelledError()])
def test_a_result_is_returned_in_the_turn_in_which_it_came(turns: int, outcome: Any) -> None:
    """Driven by hand: a suspension after the result could be cancelled, and the result lost."""
    finished = []

    async def work() -> Any:
        for _ in range(turns):
            await asyncio.sleep(0)
        finished.append(True)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def main() -> None:
        running = watched(work(), Bar("fetched", "rows", None, lambda: 0))
        with pytest.raises((StopIteration, ValueError, asyncio.CancelledError)) as done:
            while True:
                assert not finished, "suspended although the result had come"
                running.send(None)  # type: ignore[attr-defined]
        assert done.value is outcome or done.value.value == outcome

    asyncio.run(main())


@pytest.mark.skipif(find_spec("ipywidgets") is not None, reason="ipywidgets is installed")
def test_a_notebook_without_widgets_gets_no_red_warning() -> None:
    code = "import boardlot._support.progress as p; p.Bar('x', 'y', 1, int).close(); import sys; "
    code += "sys.exit('tqdm.auto' in sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
