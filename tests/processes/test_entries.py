"""A process ends as it would without boardlot, whatever its other threads are doing in it."""

import subprocess
import sys

import pytest

from ..support.entries import Workplace, entries

# As many threads as entries call each other's slices of time; more of them only take longer.
TOGETHER = 16


@pytest.fixture(autouse=True)
def no_profiles(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def end_of(names, times, folder):
    command = [sys.executable, "-m", "tests.processes.beside", str(folder), *names]
    for _ in range(times):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), names


def groups():
    # Those of one class are in different groups, as they wait for the same things.
    found = entries()
    count = -(-len(found) // TOGETHER)
    return [found[first::count] for first in range(count)]


def test_every_entry_can_be_called():
    failed = {}
    with Workplace() as workplace:
        for name in entries():
            try:
                workplace.caller(name)()
            except (TypeError, KeyError, AttributeError) as error:
                failed[name] = error
            except Exception:
                pass
    assert not failed


@pytest.mark.parametrize(
    "times", [1, pytest.param(10, marks=pytest.mark.slow)], ids=["once", "ten times"]
)
@pytest.mark.parametrize("names", groups(), ids=lambda names: names[0])
def test_security_49_a_process_ends_beside_daemon_threads_in_its_entries(names, times, tmp_path):
    end_of(names, times, tmp_path)
