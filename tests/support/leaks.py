"""Checks after each test file that nothing that its tests opened is still there.

Garbage is collected at the end of a file, so that objects that were left to the collector are found
there, and not during a test of another file. Then no thread, socket, child process or temporary
folder may be left that was not there before the file, except those of fixtures that outlive it.
"""

import atexit
import contextlib
import gc
import os
import shutil
import sys
import tempfile
import threading
import time
from itertools import starmap
from pathlib import Path

import boardlot
import psutil
import pytest

# Things that a process keeps to its end, with the reason.
PROCESS_WIDE = {
    "multiprocessing.resource_tracker": "one for each process that used multiprocessing",
    "multiprocessing.forkserver": "one for each process that used the start method forkserver",
    "Dask-Offload": "distributed's, one for each process",
}
# Seconds for threads, sockets and children that are about to end: only one that never ends is a
# leak.
DEADLINE = 60.0


class LeakGuard:
    """A plugin that fails the last test of a file after which something is left."""

    def __init__(self):
        self._file = None
        self._before = frozenset()
        self._shared = set()
        self._temporary = Path(tempfile.mkdtemp(prefix="boardlot-tests-"))
        # Removes the folder at the end, after multiprocessing, which is imported later, has removed
        # its own folder in it.
        atexit.register(shutil.rmtree, self._temporary, ignore_errors=True)
        # PostgreSQL, which refuses to run as root, has a folder of its own in this one.
        self._temporary.chmod(0o711)
        # pytest keeps its own folders, for those who look into them after a failure.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        # A folder of this process alone: everything in it belongs to its own tests.
        os.environ["TMPDIR"] = tempfile.tempdir = str(self._temporary)

    def pytest_collection_finish(self):
        # Starts the core's runtime, which keeps its sockets to the end of the process.
        boardlot.generate_key()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        if self._file != item.path:
            self._file, self._before = item.path, self._open()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item, nextitem):
        result = yield
        if nextitem is None or nextitem.path != item.path:
            self._file = None
            if left := self._left():
                pytest.fail(
                    "\n".join(["left open by this file:", *starmap(described, left)]), False
                )
            # Only modules are left, which later collections need not look at again.
            gc.freeze()
        return result

    def pytest_sessionfinish(self):
        # Some modules complain at the end of a process if their objects are not collected.
        gc.unfreeze()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope not in {"session", "package"}:
            return (yield)
        before = self._open()
        result = yield
        self._shared |= self._open() - before
        return result

    def _left(self):
        """The things that were opened since the file began, and do not go away."""
        release_caches()
        gc.collect()
        end = time.monotonic() + DEADLINE
        while left := self._open() - self._before - self._shared:
            if time.monotonic() > end:  # time: nothing else shows that such a thing never ends
                break
            time.sleep(0.02)  # time: between two looks at what is about to end
            gc.collect()
        return sorted(left)

    def _open(self):
        return frozenset(threads() | sockets() | children() | self._folders())

    def _folders(self):
        found = (path.name for path in self._temporary.iterdir())
        # The folder of multiprocessing belongs to the process: its servers have their sockets
        # there.
        return {("folder", name) for name in found if not name.startswith("pymp-")}


def described(kind, name):
    """Describes a thing that was left open; a socket by its line in the system's tables, which has
    addresses and state."""
    for table in ("tcp", "tcp6", "udp", "unix") if kind == "socket" else ():
        file = Path("/proc/self/net", table)
        for line in file.read_text().splitlines() if file.exists() else ():
            if name.removeprefix("socket:[").removesuffix("]") in line.split():
                return f"{kind} {table} {line}"
    return f"{kind} {name}"


def release_caches():
    """Closes everything that libraries keep for the next use in this process."""
    if partitions := sys.modules.get("boardlot._support.engines.partitions"):
        partitions._client.cache_clear()
    if (dask := sys.modules.get("dask.threaded")) and dask.default_pool:
        dask.default_pool.shutdown()
        dask.default_pool = None


def threads():
    """Threads that Python started; those of the core are one pool for the whole process."""
    return {
        ("thread", f"{thread.name} {thread.ident}")
        for thread in threading.enumerate()
        # A dummy is a thread of the core that ran Python once.
        if not isinstance(thread, threading._DummyThread)
        and not any(name in thread.name for name in PROCESS_WIDE)
        # A timer is pytest-timeout's, which ends with the test.
        and not isinstance(thread, threading.Timer)
    }


def sockets():
    """Sockets of this process, if the system lists its files."""
    found = set()
    descriptors = Path("/proc/self/fd")
    for descriptor in descriptors.iterdir() if descriptors.exists() else ():
        with contextlib.suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith("socket:"):
                found.add(("socket", target))
    return found


def children():
    """Child processes that run, or that nothing has waited for."""
    found = set()
    for child in psutil.Process().children():
        try:
            command = " ".join(child.cmdline())
        except psutil.Error:
            command = "ended; nothing has waited for it"
        if not any(name in command for name in PROCESS_WIDE):
            found.add(("child process", f"{child.pid} {command[:200]}"))
    return found
