"""Programs of the system that some tests need, from the packages in tests/system-packages.txt.

A test whose program is missing is skipped with a reason from here. In continuous integration, where
programs can be installed, the skip is a failure: see tests/conftest.py.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

# The environment before any test put stand-ins for browsers into it.
ENVIRONMENT = dict(os.environ)
# On other systems, some of these programs do not exist.
IN_CI = os.environ.get("CI") == "true" and sys.platform == "linux"
HOW = "tools/install-test-packages installs it"


def not_installed(name):
    """The reason why a test is skipped."""
    return f"{name} is not installed; {HOW}"


def is_of_system(reason):
    """True if a test was skipped for a reason from here."""
    return HOW in reason


def need_program(name):
    """Skips a test without a program."""
    if shutil.which(name) is None:
        pytest.skip(not_installed(name))


def another_clock():
    """The library that gives a program another clock; skips a test without it."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip(not_installed("libfaketime"))
    return found[0]


def chromium():
    """The paths of a browser and its driver; skips a test without them."""
    *browsers, driver = (
        shutil.which(name, path=ENVIRONMENT.get("PATH"))
        for name in ("chromium", "chromium-browser", "google-chrome", "chromedriver")
    )
    browser = next(filter(None, browsers), None)
    if browser is None:
        pytest.skip(not_installed("chromium"))
    assert driver is not None, "chromium is there, but chromedriver is not (chromium-driver)"
    return browser, driver


def need_postgres():
    """Skips a test without the programs of a PostgreSQL server, or its driver."""
    pytest.importorskip("psycopg", reason="the extra postgres")
    from .postgres import folder_of_programs

    if folder_of_programs() is None:
        pytest.skip(not_installed("postgresql"))


def need_pooler():
    """Skips a test without PgBouncer, or a PostgreSQL server for it."""
    need_postgres()
    # PgBouncer is in the folder of root's programs.
    if shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        pytest.skip(not_installed("pgbouncer"))
