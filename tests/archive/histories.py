"""Random histories of an archive, compared with a simple model after each step.

Between the steps, the service gets new, late and amended fills, its plate changes and its clock is
set. The steps are updates (some are cancelled, some fail, and several may run at once), another
service, a follower, a read through the archive, and closing and opening it; in PostgreSQL, its
connections are terminated, too.

`BOARDLOT_TEST_HISTORIES` is the number of histories that `test_model` runs.
"""

import asyncio
import random
from collections import Counter
from datetime import timedelta

import boardlot as bl

from .columns import check_columns
from .service import DAY, fill, fills_path, path_of, serve, unavailable

HOUR = timedelta(hours=1)
# Number of histories in one archive.
TOGETHER = 50
STEPS = 8


class History:
    """A history of one account and one plate, which no other history has."""

    def __init__(self, seed, world):
        self.chosen = random.Random(seed)
        self.world, self.book = world, world.service.book
        self.key, self.plate = (str(seed), "HK"), f"HK.BK{seed}"
        self.path = path_of("plates", self.plate)
        self.book.fills[self.key] = []
        self.book.lists[self.path] = []
        # The archive's content: fills by id, and the plate, which may be one of several. Unless the
        # last update was complete, the archive may have more fills, which an earlier update had
        # begun to read.
        self.fills, self.plates, self.surely = {}, [[]], True
        # The service's time at the last complete update.
        self.read_at = 0
        # All versions of fills that the service ever had.
        self.versions = set()
        self.delivered = {}
        self.number = 0

    def change(self):
        """Changes the data at the service."""
        served, now = self.book.fills[self.key], self.book.now()
        for _ in range(self.chosen.randrange(4)):
            kind = self.chosen.choice(["new", "new", "late", "amended", "plate"])
            if kind in ("new", "late"):
                self.number += 1
                ago = self.chosen.randrange(1, 5 * DAY) if kind == "late" else self.number % 7 + 1
                served.append(fill(self.number, now - ago))
            elif kind == "amended" and served:
                place = self.chosen.randrange(len(served))
                amended = {"qty": str(self.chosen.randrange(10**6)), "updated_time": now - 1}
                if served[place]["updated_time"] < now - 1:
                    served[place] = {**served[place], **amended}
            elif kind == "plate":
                numbers = self.chosen.sample(range(12), self.chosen.randrange(12))
                self.book.lists[self.path] = [{"code": f"HK.{n:05}"} for n in numbers]
        self.versions |= set(map(version, served))

    def known(self):
        """The newest version of each fill that the archive has after a complete read."""
        fills = dict(self.fills)
        now = self.read_at = self.book.now()
        for one in self.book.fills[self.key]:
            before = fills.get(one["deal_id"])
            readable = one["updated_time"] <= now
            if readable and (before is None or before["updated_time"] <= one["updated_time"]):
                fills[one["deal_id"]] = one
        return fills

    def lists(self):
        return {"fills": [self.key], "plates": [self.plate]}

    def check(self):
        found = {one["deal_id"]: one for one in self.world.archive.fills(*self.key).all()}
        assert set(map(version, found.values())) <= self.versions
        # A read that began before the service's clock was set back also reads data ahead of the
        # clock; and an update that ended early may have finished an earlier one.
        expected = {
            name: found[name]
            if not self.surely or found[name]["updated_time"] > self.read_at
            else one
            for name, one in self.fills.items()
        }
        more = {
            name: one
            for name, one in found.items()
            if name not in self.fills and (not self.surely or one["updated_time"] > self.read_at)
        }
        assert found == {**expected, **more}, (found, self.fills)
        for name, one in self.fills.items():
            assert found[name]["updated_time"] >= one["updated_time"], name
        plate = self.world.archive.seen("plates", self.plate)
        assert plate in self.plates, (plate, self.plates)
        self.fills, self.plates, self.surely = found, [list(plate)], True

    def expect(self, *, surely):
        """Updates the model with the data that an update brings, or may bring."""
        plates = [list(self.book.lists[self.path])]
        if surely:
            self.fills, self.plates, self.surely = self.known(), plates, True
        else:
            self.plates, self.surely = [*self.plates, *plates], False

    async def update(self):
        report = await self.world.archive.update(self.world.client, **self.lists())
        assert not report.errors, report.errors
        self.expect(surely=True)

    async def some_steps(self):
        """Lets the event loop take a random number of steps."""
        for _ in range(self.chosen.randrange(400)):
            await asyncio.sleep(0)

    async def several_updates(self):
        work = [
            asyncio.ensure_future(self.world.archive.update(self.world.client, **self.lists()))
            for _ in range(3)
        ]
        await self.some_steps()
        work[self.chosen.randrange(3)].cancel()
        done = await asyncio.gather(*work, return_exceptions=True)
        assert sum(isinstance(one, asyncio.CancelledError) for one in done) <= 1
        assert not any(isinstance(one, Exception) for one in done), done
        self.expect(surely=True)

    async def cancelled_update(self):
        work = asyncio.ensure_future(self.world.archive.update(self.world.client, **self.lists()))
        await self.some_steps()
        work.cancel()
        (done,) = await asyncio.gather(work, return_exceptions=True)
        assert not isinstance(done, Exception), done
        self.expect(surely=False)

    async def failing_update(self):
        path = self.chosen.choice([fills_path(self.key[0]), self.path])
        self.book.failures[path] = [*[None] * self.chosen.randrange(2), unavailable()]
        await self.world.archive.update(self.world.client, **self.lists(), on_error="collect")
        self.book.failures[path] = []
        self.expect(surely=False)

    async def other_service(self):
        """An update from another service, which is refused unless nothing was ever read."""
        if self.fills or self.plates != [[]]:
            try:
                await self.world.archive.update(self.world.other, **self.lists())
            except bl.ConfigError:
                return
            raise AssertionError("the lists of another service were mixed")

    async def read_through(self):
        work = self.world.archive.get(self.world.client, "plates", self.plate, max_age=HOUR)
        found = list(await work)
        assert found in [*self.plates, self.book.lists[self.path]]
        self.plates = [found]

    async def follow(self):
        await self.update()
        self.check()
        name = self.chosen.choice("ab")
        before = self.delivered.setdefault(name, Counter())
        versions = Counter(map(version, self.fills.values()))
        waiting = versions - before
        count = self.chosen.randrange(sum(waiting.values()) + 1)
        if not count:
            return
        taken = []
        followed = self.world.archive.follow(
            self.world.client, fills=self.key, every=0.01, name=name
        )
        terminated = self.chosen.randrange(count)
        async for one in followed:
            taken.append(version(one))
            if len(taken) == terminated and self.world.terminate is not None:
                self.world.terminate()
            if len(taken) == count:
                break
        await followed.aclose()
        assert Counter(taken) <= waiting, (taken, waiting)
        # The last fill was being handled: it comes again.
        before.update(taken[:-1])
        # A follower also reads fills that the service gets meanwhile, and fills ahead of a clock
        # that was set back.
        self.expect(surely=False)

    async def reopen(self):
        self.world.archive.close()
        self.world.archive = bl.Archive(self.world.target, wait=60.0)

    async def run(self):
        steps = [
            self.update, self.update, self.several_updates, self.cancelled_update,
            self.failing_update, self.other_service, self.read_through, self.follow, self.reopen,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.change()
            if self.chosen.random() < 0.05:
                await self.world.set_clock(self.chosen.uniform(-3600, 3600))
            step = self.chosen.choice(steps)
            try:
                await step()
            except bl.StoreError as error:
                # A backend was terminated during the step.
                assert error.retryable and self.world.terminate is not None, error
                self.expect(surely=False)
            self.check()
            self.world.done[step.__name__] += 1
            if self.world.terminate is not None and self.chosen.random() < 0.2:
                self.world.terminate()
                self.world.revive()
        self.change()
        await self.update()
        self.check()
        assert self.world.archive.gaps(*self.key) == []


def version(one):
    return one["deal_id"], one["updated_time"], one["qty"]


class World:
    """A service, another one, and an archive."""

    def __init__(self, service, other, target, terminate):
        self.service, self.target, self.terminate = service, target, terminate
        self.client = bl.AsyncClient(service.base_url, max_retries=0)
        self.other = bl.AsyncClient(other.base_url, max_retries=0)
        self.archive = bl.Archive(target, wait=60.0)
        self.done = Counter()

    async def set_clock(self, by):
        """Sets the service's clock; an update reads up to the service's time as the client knows
        it."""
        self.service.book.ahead += by
        await self.client.close()
        self.client = bl.AsyncClient(self.service.base_url, max_retries=0)

    def revive(self):
        """Makes one call, since the first call after a lost connection is an error."""
        for call in (self.archive.status, lambda: self.archive.sql("select 1")):
            try:
                call()
            except bl.StoreError as error:
                assert error.retryable


async def _run(seeds, target, terminate):
    with serve() as service, serve() as other:
        world = World(service, other, target, terminate)
        service.book.page = 3
        try:
            for seed in seeds:
                await History(seed, world).run()
            check_columns(world.archive)
        finally:
            await world.client.close()
            await world.other.close()
            world.archive.close()
        return world.done


def run(seeds, target, terminate=None):
    """Run the histories of these seeds in one archive, and return how often each step was done."""
    return asyncio.run(_run(seeds, target, terminate))
