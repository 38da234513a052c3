"""Several processes that write one archive at once, the same lists and different ones."""

import os
import subprocess
import sys

import boardlot as bl
import pytest

from ..support.processes import ROOT
from ..support.threads import wait_until
from .columns import check_columns
from .service import HK, PLATE, fill, own_endpoint, path_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="locks of POSIX")

FEW, MANY = (2, 6), (4, 60)


@pytest.mark.parametrize("writers, rounds", [FEW, pytest.param(*MANY, marks=pytest.mark.slow)])
def test_security_45_writers_at_once_wait_for_each_other_and_lose_nothing(
    target, book, client, service, writers, rounds
):
    """Also beside definitions of the same endpoint and replacements of the same views."""
    accounts = [HK, *[(str(number), "HK") for number in range(1, writers + 1)]]
    for account, market in accounts:
        book.put_fills(60, account, market)
    book.page = 20
    plate = path_of("plates", PLATE)
    book.lists[plate] = [{"code": f"HK.{n:05}"} for n in range(30)]
    book.lists[own_endpoint().path] = [{"close": f"{n}.5", "open": str(n)} for n in range(30)]

    def change(received):
        """The service gets fills, and its lists change, while they are read."""
        number = len(service.received)
        if number % 7 == 0:
            key = accounts[number % len(accounts)]
            book.fills[key].append(fill(10_000 + number, book.now() - 1))
        if number % 5 == 0:
            for path in (plate, own_endpoint().path):
                book.lists[path] = [*book.lists[path][1:], book.lists[path][0]]

    with bl.Archive(target) as archive:
        archive.update(client, fills=[HK])
    book.before = change
    command = [sys.executable, "-m", "tests.archive.writers", target, service.base_url]
    children = [
        subprocess.Popen([*command, str(number), str(rounds)], cwd=ROOT)
        for number in range(1, writers + 1)
    ]
    try:
        with bl.Archive(target) as archive:
            while any(child.poll() is None for child in children):
                # A reader sees complete reads: each fill once.
                found = [one["deal_id"] for one in archive.fills(*HK).all()]
                assert len(found) == len(set(found))
    finally:
        for child in children:
            wait_until(lambda child=child: child.poll() is not None)
    assert [child.returncode for child in children] == [0] * writers
    book.before = None
    own = own_endpoint(close="decimal", open="decimal")
    with bl.Archive(target) as archive:
        archive.update(client, fills=accounts, plates=[PLATE], lists=[(own, {})])
        archive.verify(client, fills=accounts)
        for key in accounts:
            assert sorted(archive.fills(*key).all(), key=str) == sorted(book.fills[key], key=str)
        assert archive.seen("plates", PLATE) == book.lists[plate]
        assert archive.seen(own, {}) == book.lists[own.path]
        assert archive.sql("select sum(close) as n from own").to_dicts() == [{"n": 450.0}]
        assert archive.check() == [] and check_columns(archive)
