"""The notebooks and recipes run on whatever an account has: nothing, one row, purchases alone, and
counters in several currencies. Their numbers are in `test_sums.py`.
"""

import boardlot as bl
import nbformat
import pytest
from run_notebooks import NOTEBOOKS

from ..support.printed import printed_by
from .test_pages import DOCS, blocks, close
from .test_sums import made, paid

pyplot = pytest.importorskip("matplotlib.pyplot")

BOUGHT = [made(2, "BUY", "HK.00700", "100", "10", 3), made(1, "BUY", "HK.00700", "200", "9", 40)]
SOLD = made(3, "SELL", "HK.00700", "100", "12", 2)
SEVERAL = [
    made(9, "SELL", "HK.80700", "50", "11", 1),
    made(8, "BUY", "HK.80700", "50", "10", 2),
    made(7, "SELL", "US.AAPL", "3", "250", 2),
    made(6, "BUY", "US.AAPL", "5", "240", 4),
    *BOUGHT,
]
DIVIDEND = paid("2026/05/05", 1.5, "HKD")
ROWS = {
    "nothing": ([], []),
    "one row": ([SOLD], [DIVIDEND]),
    "purchases": (BOUGHT, [DIVIDEND]),
    "currencies": (SEVERAL, [DIVIDEND, paid("2025/05/05", 0.2, "USD")]),
}
COUNTERS = 'COUNTERS = {"HK.80700": "CNY"}'
# The IPOs are the same for every account. The notebook about logging in counts an account's rows.
READERS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * path.stem.endswith("-logging-in"))
    for path in NOTEBOOKS
    if not path.stem.endswith("-ipo-week")
]


@pytest.fixture(params=ROWS)
def sandbox(request, monkeypatch, tmp_path):
    fills, dividends = ROWS[request.param]
    start = bl.Sandbox
    with start(seed=7) as sandbox:
        sandbox.put("fills_history", fills)
        sandbox.put("dividends", dividends)
        positions = [] if not fills else sandbox_positions(sandbox, len(fills))
        sandbox.put("sim_positions", positions)
        monkeypatch.setattr(bl, "Sandbox", lambda **_: sandbox)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        pyplot.switch_backend("agg")
        yield sandbox
        pyplot.close("all")


def sandbox_positions(sandbox, count):
    with sandbox.client() as client:
        return [*client.sim_positions(sandbox.accounts["sim"][0])][:count]


# An archive without fills says which period it covers.
@pytest.mark.filterwarnings("ignore:the archive .* has fills")
@pytest.mark.parametrize("path", READERS)
def test_a_notebook_runs(sandbox, path, monkeypatch):
    names = {"__name__": "__main__", "display": print}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            printed_by(cell.source.replace("COUNTERS = {}", COUNTERS), path.stem, "exec", names)
    monkeypatch.undo()
    close(names)


@pytest.mark.parametrize("page", ["cookbook", "time-ranges"])
def test_a_recipe_runs(sandbox, page, monkeypatch):
    names = {"__name__": "__main__"}
    for block in blocks(DOCS / f"{page}.md"):
        if block.language == "python" and not block.title:
            printed_by(block.source, page, "exec", names)
    monkeypatch.undo()
    close(names)
