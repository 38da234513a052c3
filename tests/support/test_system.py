"""Nothing is skipped unseen: what cannot be installed is said, and fails with CI=true."""

import os
import shutil
import subprocess
import sys

import pytest

from .processes import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packages of Debian")
PACKAGES = (ROOT / "tests" / "system-packages.txt").read_text().split()
# What the script needs besides what a test puts in its way.
TOOLS = ["sh", "cat", "dirname", "tr", "true"]


@pytest.fixture
def install(tmp_path):
    """Runs the script with these programs only; returns what it said and what it ran."""
    programs, commands = tmp_path / "bin", tmp_path / "commands"
    programs.mkdir()
    commands.touch()
    for name in TOOLS:
        (programs / name).symlink_to(shutil.which(name))

    def run(ci="", **scripts):
        for name, script in scripts.items():
            path = programs / name.replace("_", "-")
            path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> {commands}\n{script}\n')
            path.chmod(0o755)
        done = subprocess.run(
            [ROOT / "tools" / "install-test-packages"],
            env={"PATH": str(programs), "CI": ci},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr, commands.read_text()

    return run


NOTHING_INSTALLED = "exit 1"
ROOT_USER, OTHER_USER = "echo 0", "echo 1000"


def test_a_package_manager_that_fails_is_said_with_what_is_skipped(install):
    said, commands = install(dpkg_query=NOTHING_INSTALLED, id=ROOT_USER, apt_get="exit 100")
    assert "the package manager failed" in said
    for package in PACKAGES:
        assert f"  {package}: the tests" in said
        # Perhaps only one of them is not to be had.
        assert f"--no-install-recommends {package}\n" in commands


def test_a_system_without_the_packages_or_the_right_to_install_them_is_said(install):
    assert "no packages of Debian" in install()[0]
    said, commands = install(dpkg_query=NOTHING_INSTALLED, id=OTHER_USER, apt_get="")
    assert "sudo apt-get install chromium" in said and "apt-get" not in commands


def test_on_a_machine_of_continuous_integration_they_are_installed_by_sudo(install):
    sudo = 'shift 2; exec "$@"'
    programs = {"dpkg_query": NOTHING_INSTALLED, "id": OTHER_USER, "apt_get": "", "sudo": sudo}
    _, commands = install(ci="true", **programs)
    assert f"apt-get install -y -qq --no-install-recommends {' '.join(PACKAGES)}" in commands
    assert "sudo apt-get install" in install(ci="true", **{**programs, "sudo": "exit 1"})[0]


def test_nothing_is_said_or_done_if_all_are_there(install):
    said, commands = install(dpkg_query="echo install ok installed", id=ROOT_USER, apt_get="exit 1")
    assert said == "" and "apt-get" not in commands


# Tests that need a program, by its name in what they say.
SKIPPED = {
    "chromium": "tests/support/test_chromium.py",
    "gnome-keyring-daemon": "tests/security/test_keyring.py",
    "postgresql": "tests/archive/test_trouble.py::TestServer",
    "zsh": "tests/cli/test_completion.py",
}


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_test_that_is_skipped_for_such_a_program_fails_with_ci(ci, tmp_path):
    # Without any program, and without the folder where PostgreSQL is found.
    (tmp_path / "python").symlink_to(sys.executable)
    code = f"""if True:
        import pathlib, sys, pytest
        glob = pathlib.Path.glob
        pathlib.Path.glob = lambda path, name: [] if "initdb" in name else glob(path, name)
        options = ["-q", "-rsfE", "-p", "no:cacheprovider", "-p", "no:xdist"]
        sys.exit(pytest.main([*options, *{list(SKIPPED.values())!r}]))"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path), "CI": ci, "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == (1 if ci else 0), done.stdout
    outcome = ("FAILED ", "ERROR ") if ci else "SKIPPED "
    summary = [line for line in done.stdout.splitlines() if line.startswith(outcome)]
    for program in SKIPPED:
        reason = f"{program} is not installed; tools/install-test-packages"
        assert any(reason in line for line in summary), (program, done.stdout)
