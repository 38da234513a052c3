"""Random histories of fills at a service whose cursor counts rows, and of an archive that verifies.

While an archive reads, fills are added, corrected and removed, responses are empty, pages are
short, and the work is canceled. After a year, the service no longer lists a fill.
"""

import asyncio
import random
from collections import Counter
from contextlib import closing

import boardlot as bl

from ..support.paged_service import page
from .columns import check_columns
from .service import DAY, fill, take

STEPS = 10
YEAR = 365 * DAY
OPTIONS = {"max_retries": 0, "timeout": 20.0}


def version(one):
    return one["deal_id"], one["updated_time"], one["qty"]


class History:
    def __init__(self, seed, target, service):
        self.chosen, self.service, self.book = random.Random(seed), service, service.book
        self.key = (str(100_000 + seed), "HK")
        self.archive = bl.Archive(target, wait=60.0)
        self.number = 0
        now = self.book.now()
        # More fills are recent than old, and some have the same time.
        size = self.chosen.choice([5, 60, 250])
        self.book.fills[self.key] = [
            self.new(now - self.chosen.choice([DAY, 60 * DAY, YEAR]) * n // size - n % 3)
            for n in range(1, size)
        ]
        # The fills that have existed all the time since the last check.
        self.existed = {}
        self.removed = []
        self.delivered, self.state = Counter(), {}
        self.done = Counter()

    @property
    def served(self):
        return self.book.fills[self.key]

    def new(self, at):
        self.number += 1
        return fill(self.number, at, qty=str(self.chosen.randrange(10**9)))

    def change(self, at_rest):
        """Makes one change of the service's fills."""
        now = self.book.now()
        kind = self.chosen.choice(["new", "late", "correct", "correct", "remove", "back", "older"])
        place = self.chosen.randrange(len(self.served)) if self.served else None
        if kind == "new":
            self.served.append(self.new(now))
        elif kind == "late":
            self.served.append(self.new(now - self.chosen.randrange(1, 300 * DAY)))
        elif kind == "back" and self.removed and at_rest:
            self.served.append(self.removed.pop())
        elif kind == "correct" and place is not None:
            changed = {"qty": str(self.chosen.randrange(10**9)), "updated_time": now}
            self.served[place] = {**self.served[place], **changed}
        elif kind == "older" and place is not None and at_rest:
            # Not during a read: no read could find such a change.
            one = self.served[place]
            changed = {"qty": str(self.chosen.randrange(10**9))}
            changed["updated_time"] = one["updated_time"] - self.chosen.randrange(DAY)
            self.served[place] = {**one, **changed}
        elif kind == "remove" and place is not None and self.chosen.random() < 0.5:
            self.removed.append(self.served.pop(place))
            self.existed.pop(self.removed[-1]["deal_id"], None)

    def forget(self):
        """Removes the fills that the service no longer lists because they are a year old."""
        oldest = self.book.now() - YEAR
        kept = [one for one in self.served if one["updated_time"] > oldest]
        for one in self.served:
            if one not in kept:
                self.existed.pop(one["deal_id"], None)
        self.served[:] = kept

    def disturb(self, received):
        if not received.path.endswith(f"{self.key[0]}/fills_history"):
            return
        self.book.page = self.chosen.choice([50, 50, 50, 20, 7])
        if self.chosen.random() < 0.15:
            self.change(at_rest=False)
        if self.chosen.random() < 0.05:
            self.book.failures[received.path] = [page("fills_history", [], None)]
        self.left -= 1
        if self.left == 0:
            self.cancel()

    def run(self, step, disturbed, cancelled=False):
        """Does a step and returns its result; `None` if the step was cancelled or failed."""
        self.existed = {one["deal_id"]: one for one in self.served}
        self.left = self.chosen.randrange(1, 12) if cancelled else 0
        self.book.page = 50
        self.book.before = self.disturb if disturbed or cancelled else None

        async def work():
            async with bl.AsyncClient(self.service.base_url, **OPTIONS) as client:
                task = asyncio.ensure_future(step(client))
                loop = asyncio.get_running_loop()
                self.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
                (done,) = await asyncio.gather(task, return_exceptions=True)
                return done

        visible = self.visible()
        done = asyncio.run(work())
        self.book.before = None
        after = self.visible()
        # A fill may have been corrected to an older time.
        hidden = {name for name in visible if name in self.existed and name not in after}
        assert not hidden, (hidden, done)
        if isinstance(done, bl.ConfigError):
            assert "has no update of" in str(done)
            return None
        if isinstance(done, (bl.ArchiveUpdateError, asyncio.CancelledError)):
            assert disturbed or cancelled or "no longer lists" in str(done), done
            return None
        assert not isinstance(done, BaseException), done
        return done

    def visible(self):
        return {one["deal_id"]: one for one in self.archive.fills(*self.key).all()}

    def update(self, client, **options):
        return self.archive.update(client, fills=[self.key], start=self.started, **options)

    def verify(self, client, **options):
        return self.archive.verify(client, fills=[self.key], **options)

    def check_at_rest(self):
        """Checks that, after a read at rest, the archive has all listed fills, and older ones."""
        self.forget()
        accepted = self.chosen.random() < 0.5
        report = self.run(lambda client: self.verify(client, accept_gone=accepted), False)
        if report is None:
            report = self.run(lambda client: self.verify(client, accept_gone=True), False)
        listed = {one["deal_id"]: one for one in self.served}
        oldest = min((one["updated_time"] for one in self.served), default=0)
        found = self.visible()
        older = {name for name in found if name not in listed}
        assert {name: found[name] for name in listed} == listed
        assert all(found[name]["updated_time"] < oldest for name in older), older
        assert report.unlisted == len(older)
        ((count,),) = self.archive.sql(
            "select count(*) from fills where account = '" + self.key[0] + "'"
        )
        assert count == len(found)
        check_columns(self.archive)

    def follow(self):
        """Checks that a follower gets each version once, and a follower of changes gets all
        changes."""
        changes = self.archive.changes("fills", self.key)
        found = self.visible()
        wanted = Counter(map(version, found.values())) - self.delivered
        with bl.Client(self.service.base_url, **OPTIONS) as client:
            with closing(
                self.archive.follow(client, fills=self.key, every=0.01, name="plain")
            ) as plain:
                # The last fill was not received, and comes again.
                taken = Counter(map(version, take(plain, wanted.total())))
                assert taken == wanted, (taken - wanted, wanted - taken)
                self.delivered += taken
                if wanted.total():
                    # A fill is stored as received when the next one is requested.
                    self.served.append(self.new(self.book.now()))
                    next(plain)
            if len(changes) > self.taken:
                with closing(
                    self.archive.follow(
                        client, fills=self.key, every=0.01, name="changes", changes=True
                    )
                ) as changed:
                    for one in take(changed, len(changes) - self.taken):
                        self.apply(one)
                    # The last change comes again.
                    self.taken = len(changes) - 1

    def apply(self, one):
        name = one["deal_id"]
        if one["change"] == "gone":
            self.state.pop(name, None)
        else:
            self.state[name] = version(one)

    def play(self):
        self.started = self.book.now() - 2 * YEAR
        self.taken = 0
        self.run(self.update, disturbed=self.chosen.random() < 0.7)
        for _ in range(STEPS):
            for _ in range(self.chosen.randrange(6)):
                self.change(at_rest=True)
            step = self.chosen.choice(
                [
                    "update",
                    "verify",
                    "verify",
                    "killed",
                    "killed update",
                    "rest",
                    "follow",
                    "reopen",
                ]
            )
            self.done[step] += 1
            if step == "update":
                self.run(self.update, disturbed=True)
            elif step == "verify":
                self.run(self.verify, disturbed=True)
            elif step == "killed":
                self.run(self.verify, disturbed=True, cancelled=True)
            elif step == "killed update":
                self.run(self.update, disturbed=True, cancelled=True)
            elif step == "rest":
                self.run(self.update, disturbed=False)
                self.check_at_rest()
            elif step == "follow":
                self.follow()
            else:
                target = self.archive._database
                name = getattr(target, "path", None)
                if name is not None:
                    self.archive.close()
                    self.archive = bl.Archive(name, wait=60.0)
        self.run(self.update, disturbed=False)
        self.check_at_rest()
        self.follow()
        assert self.state == {
            name: version(one) for name, one in self.visible().items() if name in self.state
        }


def check(seed, target, service):
    history = History(seed, target, service)
    with closing(history.archive):
        history.play()
    history.archive.close()
