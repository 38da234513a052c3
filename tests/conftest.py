"""Rules for every test: long forms run only on request, and no test leaves anything open."""

import contextlib
import gc
import os
import signal
import sys
from pathlib import Path

import boardlot as bl
import pytest

from .support.failures import FailureReport
from .support.leaks import LeakGuard
from .support.sandbox_process import allow_many_files
from .support.system import IN_CI, is_of_system

pytest.register_assert_rewrite("tests.support.words")
# inline-snapshot takes it from here. The environments of tools/nightly have other packages.
with contextlib.suppress(ImportError):
    from .support.words import text_in_lines  # noqa: F401


def pytest_addoption(parser):
    parser.addoption(
        "--record-durations", action="store_true", help="write durations into tests/durations.json"
    )
    parser.addoption("--seed", type=int, help="shuffle files, and the tests of each, by this seed")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: the long form of a test, run by `pytest -m slow`")
    config.addinivalue_line("markers", "sandbox_program: runs the program `boardlot-sandbox`")
    # A process that dies ends the run. A restarted worker would hang pytest-xdist 3.8, which waits
    # for tests that are already done.
    config.option.maxworkerrestart = "0"
    config.pluginmanager.register(FailureReport(config))
    # The controlling process runs no tests; only its workers do.
    if not config.getoption("numprocesses", None):
        config.pluginmanager.register(LeakGuard())
    if config.getoption("record_durations"):
        from .support.schedule import DurationRecorder

        config.pluginmanager.register(DurationRecorder())
    # Each of 1,000 users at once has a socket, and so has the service; most shells allow 1,024.
    allow_many_files()
    # With the variable set, each worker and each child would compile all modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Servers of tests are on this machine; tests of proxies set their own.
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for spelling in (name, name.upper()):
            os.environ.pop(spelling, None)
    # In a debug build, a client takes 20 ms to read all of a system's authorities; here the system
    # has one authority, whose key nobody has.
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "system.pem")
    os.environ.pop("SSL_CERT_DIR", None)
    # A shell makes programs in the background ignore Ctrl-C, and `nohup` makes them ignore the end
    # of the terminal; tests send both signals.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="module")
def sandbox(request):
    """A sandbox for the tests of a file, whose `SANDBOX` has its options."""
    with bl.Sandbox(**{"seed": 7, **getattr(request.module, "SANDBOX", {})}) as running:
        yield running


@pytest.fixture(scope="module")
def client(sandbox, tmp_path_factory):
    """A client of the sandbox that can be sent to other processes, because its key is in a file."""
    from .support.keys import uploaded_key

    auth = bl.ApiKey(*uploaded_key(sandbox, tmp_path_factory.mktemp("key")))
    with bl.Client(sandbox.base_url, auth=auth) as running:
        yield running


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The user's configuration file, which does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "boardlot" / "config.toml"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    # The modules that tests import stay to the end. Looking for garbage among them again and again
    # would take a tenth of the time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    long_forms = [item for item in items if item.get_closest_marker("slow")]
    if "slow" in config.option.markexpr:
        if config.pluginmanager.hasplugin("timeout"):
            for item in long_forms:
                item.add_marker(pytest.mark.timeout(3600))
    elif long_forms:
        items[:] = [item for item in items if item not in long_forms]
        config.hook.pytest_deselected(items=long_forms)
    if (seed := config.getoption("seed")) is not None:
        from .support.schedule import shuffled

        items[:] = shuffled(items, seed)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        from .support.schedule import rank

        items.sort(key=lambda item: rank(item.nodeid))


def pytest_collection_finish(session):
    if any(item.get_closest_marker("sandbox_program") for item in session.items):
        from .cli.sandbox_program import compiled

        compiled()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    # Otherwise the run would pass without these tests on a system whose package manager failed.
    if IN_CI and report.skipped and is_of_system(str(report.longrepr)):
        report.outcome, report.longrepr = "failed", f"skipped with CI=true: {report.longrepr[2]}"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """`-n auto` means two workers for each core, as the tests wait for servers and children half of
    the time."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from .support.schedule import LongestFirst

    return LongestFirst(config, log)
