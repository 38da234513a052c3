"""A Secret Service of the test's own: a session bus, an empty home, GNOME's keyring daemon."""

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .threads import wait_until

# The environment before any test put stand-ins for browsers into it.
ENVIRONMENT = dict(os.environ)
BUS = Path(__file__).with_name("bus.conf")
NEEDED = ("dbus-daemon", "gnome-keyring-daemon")
UNLOCKED, LOCKED, ABSENT = "unlocked", "locked", "absent"


def missing():
    path = ENVIRONMENT.get("PATH")
    return [name for name in NEEDED if shutil.which(name, path=path) is None]


@dataclass
class Session:
    """A user's session, with the environment that its programs have."""

    home: Path
    environment: dict
    _running: list = field(default_factory=list)

    def start(self, *command, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        child = subprocess.Popen(command, env=self.environment, **{**pipes, **options})
        self._running.append(child)
        return child

    def stop(self):
        for child in reversed(self._running):
            child.kill()
            child.communicate()
        self._running.clear()


@contextlib.contextmanager
def session(folder, state=UNLOCKED):
    """A session whose Secret Service is `state`."""
    home, runtime = folder / "home", folder / "run"
    for place in (home, runtime):
        place.mkdir(mode=0o700)
    kept = {"PATH": ENVIRONMENT["PATH"], "LANG": "C.UTF-8"}
    kept |= {
        name: ENVIRONMENT[name] for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if name in ENVIRONMENT
    }
    bus = runtime / "bus"
    environment = {
        **kept,
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(runtime),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_STATE_HOME": str(home / "state"),
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}",
    }
    running = Session(home, environment)
    try:
        options = ["--nofork", "--nopidfile", f"--address=unix:path={bus}"]
        running.start("dbus-daemon", f"--config-file={BUS}", *options)
        wait_until(bus.exists, "the session bus")
        if state != ABSENT:
            start_keyring(running, unlock=True)
        if state == LOCKED:
            stop_keyring(running)
            start_keyring(running, unlock=False)
        yield running
    finally:
        running.stop()


def start_keyring(running, unlock):
    command = ["gnome-keyring-daemon", "--foreground", "--components=secrets"]
    daemon = running.start(*command, *(["--unlock"] if unlock else []))
    if unlock:
        daemon.stdin.write(b"keyring-password")
    daemon.stdin.close()
    daemon.stdin = None
    wait_until(lambda: owned(running), "the keyring daemon")


def stop_keyring(running):
    daemon = running._running.pop()
    daemon.terminate()
    daemon.communicate()
    wait_until(lambda: not owned(running), "the end of the keyring daemon")


def owned(running):
    """True if a process on the bus is the Secret Service."""
    command = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/"]
    command += ["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]
    asked = subprocess.run(command, env=running.environment, capture_output=True, check=False)
    return b"boolean true" in asked.stdout
