"""Restores at random moments of an archive's life, under a follower and an update of others."""

import collections
import random

import boardlot as bl
import pytest

from ..support.service import response
from .service import HK, fill, fills_path, ids, new, take

STEPS = 30
# Requests after which the service refuses a follower, which would wait for ever for a lost fill.
MOST = 300


# They find a follower that stores its position although the archive went back.
SHORT = (2, 3)
SEEDS = [
    pytest.param(seed, marks=[] if seed in SHORT else [pytest.mark.slow]) for seed in range(60)
]


class Life:
    """A follower's fills while the archive is updated by others, saved and restored."""

    def __init__(self, seed, store, book, client):
        self.draw, self.store, self.book, self.client = random.Random(seed), store, book, client
        self.numbers = iter(range(1, 10_000))
        self.received = collections.Counter()
        # How often a fill may be delivered again: after a restore or by a follower that begins
        # again, each of which repeats some.
        self.again = 0
        self.archive, self.other = bl.Archive(store.target), bl.Archive(store.target)
        self.follower, self.requests = None, 0
        book.before = self.count
        self.make()
        self.update()
        self.save()

    def count(self, received):
        self.requests += 1
        if self.requests > MOST:
            ended = response({"s": "error", "errcode": -1, "errmsg": "a fill was lost"}, 400)
            self.book.failures[fills_path()] = [ended]

    def make(self):
        for _ in range(self.draw.choice([1, 1, 2, 5])):
            number, earlier = next(self.numbers), self.book.fills.get(HK)
            if earlier and self.draw.random() < 0.3:
                late = self.draw.choice(earlier[-3:])["updated_time"] - self.draw.randrange(1, 20)
                earlier.append(fill(number, late))
            else:
                self.book.fills.setdefault(HK, [])
                new(self.book, number)

    def update(self):
        self.other.update(self.client, fills=[HK])

    def save(self):
        self.store.save()

    def restore(self):
        self.store.go_back()
        self.again += 1

    def follow(self):
        """Receives some fills, of which one is new, so that the follower does not wait for ever."""
        if self.follower is None:
            self.follower = self.archive.follow(self.client, fills=HK, every=0.01)
        self.requests, number = 0, next(self.numbers)
        new(self.book, number)
        for _ in range(self.draw.choice([1, 1, 3])):
            if self.receive() == str(number):
                return

    def receive(self):
        (number,) = ids(take(self.follower, 1))
        self.received[number] += 1
        assert self.received[number] <= 1 + self.again
        return number

    def leave(self):
        if self.follower is not None:
            self.follower.close()
            self.follower = None
            self.again += 1

    def run(self):
        steps = [self.make, self.update, self.save, self.restore]
        steps += [self.follow, self.follow, self.leave]
        for _ in range(STEPS):
            self.draw.choice(steps)()

    def come_to_rest(self):
        """Receives all that is left, up to a fill that comes last."""
        self.requests = 0
        self.update()
        last = self.book.now() + 10
        self.book.fills[HK].append(fill("99999", last))
        if self.follower is None:
            self.follower = self.archive.follow(self.client, fills=HK, every=0.01)
        while self.receive() != "99999":
            pass

    def close(self):
        if self.follower is not None:
            self.follower.close()
        self.other.close()
        self.archive.close()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore:.*went back")
def test_security_45_restores_at_any_moment_lose_no_fill(seed, store, book, client):
    life = Life(seed, store, book, client)
    try:
        life.run()
        life.come_to_rest()
        expected = book.expected()
        assert life.archive.fills(*HK).all() == expected and life.archive.gaps(*HK) == []
        assert set(life.received) == {one["deal_id"] for one in expected}
    finally:
        life.close()
