"""Histories of an archive whose processes are killed: while they fill it, update, verify or follow.

After each kill the archive opens, `check` finds nothing, and the next update completes. Then the
archive has what the service has.
"""

import json
import os
import random
import select
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import boardlot as bl

from ..support.processes import ROOT
from ..support.threads import wait_until
from .columns import check_columns
from .service import PLATE, fill, own_endpoint, path_of

# The statements of one command, of which its process is killed at one.
STEPS = {"fill": 250, "lists": 150, "verify": 200, "follow": 60}


class Children:
    """Processes of `killed`, one at a time."""

    def __init__(self, server):
        self._server = server

    def _line(self):
        return self._server.stdout.readline().strip()

    def _send(self, value):
        self._server.stdin.write(f"{json.dumps(value)}\n".encode())
        self._server.stdin.flush()

    def killed(self, words, steps=0, reached=lambda: False):
        """Runs one, and kills it once that is true; whether it was killed, by itself or by this."""
        self._send([words, steps])
        child = int(self._line())

        def ended():
            return bool(select.select([self._server.stdout], [], [], 0)[0])

        wait_until(lambda: ended() or reached())
        os.kill(child, 9)
        assert self._line() == b"ended"
        self._send(None)
        status = int(self._line())
        assert status in (0, -9), (words, status)
        return status == -9


@contextmanager
def children():
    command = [sys.executable, "-m", "tests.archive.killed", "serve"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # Nothing is read ahead: `select` would not see it.
    with subprocess.Popen(command, cwd=ROOT, bufsize=0, **pipes) as server:
        try:
            yield Children(server)
        finally:
            server.kill()


class History:
    def __init__(self, target, service, folder, processes, seed):
        self.chosen, self.target = random.Random(seed), target
        self.service, self.book, self.processes = service, service.book, processes
        self.client = bl.Client(service.base_url, timeout=20.0)
        self.done = Counter()
        self.accounts, self.completed, self.number = [], [], 0
        self.lists = {path_of("plates", PLATE): [], own_endpoint().path: []}
        # What each list contained at a time.
        self.seen = {}
        self.fields = "close"
        self.followed, self.versions = folder / "followed.txt", set()
        self.followed.touch()

    def kill(self, kind, *words):
        """Kills such a command, at one of its statements or after one of its requests."""
        arguments = [words[0], self.target, self.service.base_url, *words[1:]]
        if self.chosen.random() < 0.7:
            steps = self.chosen.randrange(1, STEPS[kind])
            was_killed = self.processes.killed(arguments, steps)
        else:
            wanted = len(self.service.received) + self.chosen.randrange(30)
            was_killed = self.processes.killed(
                arguments, 0, lambda: len(self.service.received) >= wanted
            )
        self.done[kind] += was_killed

    def run(self, kills):
        steps = [self.fill, self.update, self.update, self.verify, self.follow]
        self.add_account()
        with self.client:
            while sum(self.done.values()) < kills:
                self.chosen.choice(steps)()
            with bl.Archive(self.target) as archive:
                self.complete(archive, self.accounts[0])
                self.check(archive)
        self.check_followed()
        return self.done

    def add_account(self):
        account = str(100_000 + len(self.accounts))
        self.accounts.append(account)
        self.book.put_fills(self.chosen.randrange(1, 160), account)
        self.note(account)
        return account

    def change(self, account):
        """Changes the fills of an account, and the lists."""
        served, now = self.book.fills[account, "HK"], self.book.now()
        for _ in range(self.chosen.randrange(4)):
            self.number += 1
            place = self.chosen.randrange(len(served))
            kind = self.chosen.choice(["new", "late", "amended"])
            if kind == "amended":
                changed = {"qty": str(self.chosen.randrange(10**6)), "updated_time": now - 1}
                served[place] = {**served[place], **changed}
            else:
                ago = 1 if kind == "new" else self.chosen.randrange(1, 10**11)
                served.append(fill(10_000 + self.number, now - ago))
        for path in self.lists:
            numbers = self.chosen.sample(range(40), self.chosen.randrange(1, 40))
            if self.chosen.random() < 0.7:
                self.book.lists[path] = [
                    {"code": f"HK.{n:05}", "close": f"{n}.5", "open": f"{n}.1"} for n in numbers
                ]
        self.note(account)

    def note(self, account):
        """Notes the versions that the follower may have."""
        if account == self.accounts[0]:
            self.versions |= self.served_versions()

    def fill(self):
        account = self.add_account()
        self.kill("fill", "lists", account, self.fields)
        self.after(account)

    def update(self):
        account = self.chosen.choice(self.accounts)
        self.change(account)
        self.fields = self.chosen.choice(["close", "close open", "open"])
        self.kill("lists", "lists", account, self.fields)
        self.after(account)

    def verify(self):
        if not self.completed:
            return
        account = self.chosen.choice(self.completed)
        self.change(account)
        served = self.book.fills[account, "HK"]
        # Not the oldest one, which would be unlisted.
        served.sort(key=lambda one: one["updated_time"])
        if len(served) > 2:
            del served[self.chosen.randrange(1, len(served))]
        self.note(account)
        existing = {one["deal_id"] for one in served}
        with bl.Archive(self.target) as archive:
            before = self.ids(archive, account)
        self.kill("verify", "verify", account)
        with bl.Archive(self.target) as archive:
            assert before & existing <= self.ids(archive, account)
            archive.verify(self.client, fills=[(account, "HK")], accept_gone=True)
        self.after(account)

    def ids(self, archive, account):
        return {one["deal_id"] for one in archive.fills(account, "HK").all()}

    def follow(self):
        account = self.accounts[0]
        self.kill("follow", "follow", account, str(self.followed))
        self.change(account)
        self.after(account)

    def served_versions(self):
        served = self.book.fills[self.accounts[0], "HK"]
        return {f"{one['deal_id']}@{one['updated_time']}" for one in served}

    def after(self, account):
        """What holds after each kill."""
        with bl.Archive(self.target) as archive:
            for one in archive.check():
                # That its first read is not complete yet.
                assert one.kind in ("gap", "unread") and one.key == f"{account} HK", str(one)
            self.complete(archive, account)
            assert not (found := archive.check()), [str(one) for one in found]

    def own(self):
        return own_endpoint(**dict.fromkeys(self.fields.split(), "decimal"))

    def complete(self, archive, account):
        own, key = self.own(), (account, "HK")
        archive.update(self.client, fills=[key], plates=[PLATE], lists=[(own, {})])
        self.completed = sorted({*self.completed, account})
        expected = {one["deal_id"]: one for one in self.book.fills[key]}
        found = {one["deal_id"]: one for one in archive.fills(*key).all()}
        assert expected == {name: found.get(name) for name in expected}
        for list_, key, path in (("plates", PLATE, path_of("plates", PLATE)), (own, {}, own.path)):
            rows = self.book.lists.get(path, [])
            assert list(archive.seen(list_, key)) == rows
            name = "plates" if list_ == "plates" else "own"
            ((at,),) = archive._database.read(LAST_SEEN, (name,))
            if at is not None:
                self.seen[name, at] = list(rows)

    def check(self, archive):
        """After a verification, the archive has what the service has, and had."""
        keys = [(account, "HK") for account in self.accounts]
        archive.update(self.client, fills=keys)
        archive.verify(self.client, fills=keys, accept_gone=True)
        for key in keys:
            listed = {one["deal_id"]: one for one in self.book.fills[key]}
            found = {one["deal_id"]: one for one in archive.fills(*key).all()}
            oldest = min(one["updated_time"] for one in listed.values())
            assert listed == {name: found[name] for name in listed}
            assert all(found[name]["updated_time"] < oldest for name in {*found} - {*listed})
            assert archive.gaps(*key) == []
        for (name, at), rows in self.seen.items():
            list_, key = ("plates", PLATE) if name == "plates" else (self.own(), {})
            assert list(archive.seen(list_, key, at=at)) == rows, (name, at)
        assert check_columns(archive)
        assert not (found := archive.check()), [str(one) for one in found]

    def check_followed(self):
        """The follower had each version once, and at last all that are there."""
        last = self.served_versions()
        self.versions |= last

        def delivered():
            return self.followed.read_text().split()

        self.processes.killed(
            ["follow", self.target, self.service.base_url, self.accounts[0], str(self.followed)],
            0,
            lambda: last <= set(delivered()),
        )
        lines = delivered()
        assert len(lines) == len(set(lines)), "fills came twice"
        assert last <= set(lines) <= self.versions


LAST_SEEN = "select max(s.seen_at) from snapshots s join lists l on l.id = s.list where l.list = ?"
