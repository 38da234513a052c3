"""The examples of the modules besides the clients: calendar, charts, dask."""

import doctest
import importlib

import boardlot as bl
import pytest

# Each module with the library that its examples need.
MODULES = {
    "boardlot.calendar": "icalendar",
    "boardlot.dask": "distributed",
    "boardlot.doctor": "ssl",
    "boardlot.plots": "matplotlib",
}


def documented():
    for name, needed in MODULES.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for public in module.__all__:
            yield pytest.param(getattr(module, public), needed, id=f"{name}.{public}")


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


@pytest.mark.parametrize(("function", "needed"), list(documented()))
def test_example(function, needed, sandbox, tmp_path, monkeypatch):
    pytest.importorskip(needed)
    monkeypatch.setenv("MPLBACKEND", "agg")
    key_file = tmp_path / "key.pem"
    key_file.touch(mode=0o600)
    names = {
        "bl": bl,
        "client": sandbox.client(),
        "sandbox": sandbox,
        "key_file": key_file,
        "folder": tmp_path / "parts",
    }
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(function, globs=names):
        runner.run(test)
    assert runner.tries and not runner.failures
