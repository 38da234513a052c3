"""Every notebook runs from top to bottom, and is stored with its outputs."""

import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from run_notebooks import NOTEBOOKS, run_in

from .test_pages import form

MOST_BYTES = 300_000
# Every version of DuckDB draws its plans in another way.
DRAWN_BY_VERSION = "explain select"

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


# Before each notebook of several in one kernel.
NEW = """
%reset -f
import os
os.chdir({folder!r})
del os
"""


@pytest.fixture(scope="module", autouse=True)
def temporary(tmp_path_factory):
    """Keeps what kernels leave, at home and when they are killed, in a folder of pytest's."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, folder)
        yield


@pytest.fixture(scope="module")
def runs(temporary, tmp_path_factory):
    """The notebooks with the outputs of a run in one kernel: to start one takes longer than most
    notebooks do. Each begins without names, in an empty folder; an error is an output.
    """
    together, ends = nbformat.v4.new_notebook(), [0]
    for path in NOTEBOOKS:
        begin = NEW.format(folder=str(tmp_path_factory.mktemp(path.stem)))
        together.cells += [nbformat.v4.new_code_cell(begin), *code(read(path))]
        ends.append(len(together.cells))
    run_in(str(tmp_path_factory.mktemp("kernel")), together, allow_errors=True)
    fresh = [
        nbformat.v4.new_notebook(cells=together.cells[start + 1 : end])
        for start, end in pairwise(ends)
    ]
    return dict(zip(NOTEBOOKS, fresh, strict=True))


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """The output of a cell: whether it is a chart, and the forms of its lines.

    Numbers and dates are those of the day of the run; see `test_docs`. Warnings are those of the
    libraries installed.
    """
    return [
        ("image/png" in output.get("data", {}), [form(x) for x in text_of(output).splitlines()])
        for output in cell.outputs
        if output.get("name") != "stderr"
    ]


def text_of(output):
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    # pandas 2 calls the type of text `object`.
    return re.sub(r"\bobject$", "str", text.strip(), flags=re.MULTILINE)


@notebooks
def test_a_notebook_runs_and_its_cells_show_what_is_kept(path, runs):
    compare(runs[path], path)


@pytest.mark.slow  # Each in a kernel of its own.
@notebooks
def test_a_notebook_needs_no_other(path, tmp_path):
    compare(run_in(str(tmp_path), read(path)), path)


def read(path):
    return nbformat.read(path, as_version=4)


def compare(fresh, path):
    kept = read(path)
    for cell, old in zip(code(fresh), code(kept), strict=True):
        if DRAWN_BY_VERSION in cell.source:
            assert bool(shown(cell)) == bool(shown(old)), cell.source
        else:
            assert shown(cell) == shown(old), cell.source


@notebooks
def test_the_outputs_kept_are_small_and_of_one_whole_run(path):
    assert path.stat().st_size <= MOST_BYTES
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    assert all(
        output.output_type != "error" and output.get("name") != "stderr" for output in outputs
    )


@notebooks
def test_a_notebook_holds_neither_secrets_nor_places_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    for word in ("PRIVATE KEY", "access_token", "Bearer ", str(Path.home()), "site-packages"):
        assert word not in text


def test_the_first_notebook_leads_to_all_others():
    first, *others = NOTEBOOKS
    linked = re.findall(r"\]\((\S+\.ipynb)\)", first.read_text(encoding="utf-8"))
    assert linked == [path.name for path in others]
    assert len(NOTEBOOKS) == 11
