"""Machines that lack what others have, on which every operation is done.

test_missing_resources.py and test_missing_parts.py try what cannot be done without.
"""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ..support.processes import ROOT
from ..support.system import another_clock

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the jails are those of Linux"),
    pytest.mark.skipif(
        not shutil.which("unshare") or os.geteuid() != 0, reason="most jails need root"
    ),
]
# A user whose name no system knows.
NOBODY = 65_533
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"HOME", "TMPDIR"}}


@pytest.fixture
def folder():
    """A folder that another user reaches, unlike those of pytest."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def ends_on(jail, folder, **environment):
    """How each operation ends behind these arguments, and that `$FOLDER` has all rows then."""
    if "setpriv" in jail:
        os.chown(folder, NOBODY, NOBODY)
    command = [*jail, sys.executable, "-m", "tests.stress.on_this_machine", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**ENVIRONMENT, "FOLDER": str(folder), **environment},
        capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0 and "panicked" not in done.stderr, done.stderr
    ends = json.loads(done.stdout.splitlines()[-1])
    assert ends.pop("rows") == 200
    return ends


def assert_done(ends):
    assert {name: end for name, end in ends.items() if end != {"done": True}} == {}


def shell(first, *before):
    """The arguments that run the others in a shell, after some commands of it."""
    return [*before, "sh", "-c", f'{first} && exec "$@"', "sh"]


MOUNTS = ["unshare", "--mount"]
# Another user, who may still read the interpreter of this one.
CAPABILITIES = "+dac_read_search,+dac_override"
A_USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
          f"--inh-caps={CAPABILITIES}", f"--ambient-caps={CAPABILITIES}"]  # fmt: skip
READ_ONLY = "mount --bind $FOLDER $FOLDER && mount -o remount,bind,ro /"
NO_IPV6 = "ip link set lo up && echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
MACHINES = {
    "without /proc": shell("mount -t tmpfs none /proc", *MOUNTS),
    "read-only root": shell(READ_ONLY, *MOUNTS),
    "without IPv6": shell(NO_IPV6, "unshare", "--net"),
    "without a network but the loopback one": shell("ip link set lo up", "unshare", "--net"),
    "as process 1": ["unshare", "--pid", "--fork", "--mount-proc"],
    "as a user without a name": A_USER,
    "with 64 files": ["prlimit", "--nofile=64"],
    "with 64 threads": [*A_USER, "prlimit", "--nproc=64"],
    "with 256 MB": ["prlimit", f"--data={256 << 20}"],
    "umask 0": shell("umask 0"),
    "umask 777": shell("umask 777"),
}


def wrong_clock(days):
    return {"LD_PRELOAD": str(another_clock()), "FAKETIME": f"{days:+}d"}


LOCALE_C = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
# Machines that lack several things, in the order in which they are taken away: each start takes
# longer than all operations, and what is missing makes up for nothing else that is missing.
TOGETHER = [
    ["without IPv6", "read-only root", "umask 777", "as process 1"],
    ["without a network but the loopback one", "without /proc", "umask 0"],
    ["with 64 threads"],
    ["with 64 files", "with 256 MB"],
]
ENVIRONMENTS = [lambda: {}, partial(wrong_clock, -365), lambda: LOCALE_C, partial(wrong_clock, 365)]


@pytest.mark.parametrize(("machines", "environment"), [*zip(TOGETHER, ENVIRONMENTS, strict=True)],
                         ids=[", ".join(machines) for machines in TOGETHER])  # fmt: skip
def test_every_operation_is_done(machines, environment, folder):
    jail = [argument for machine in machines for argument in MACHINES[machine]]
    assert_done(ends_on(jail, folder, **environment()))


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_every_operation_is_done_without_one_thing(machine, folder):
    assert_done(ends_on(MACHINES[machine], folder))


@pytest.mark.slow
def test_every_operation_is_done_in_the_locale_c(folder):
    assert_done(ends_on([], folder, **LOCALE_C))


@pytest.mark.slow
@pytest.mark.parametrize("days", [-365, 365])
def test_every_operation_is_done_with_a_wrong_clock(days, folder):
    assert_done(ends_on([], folder, **wrong_clock(days)))
