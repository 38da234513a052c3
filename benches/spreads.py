"""Lists of fills that are spread over a time range in nine ways, always the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from . import data

HOUR = 3_600_000_000
DAY = 24 * HOUR
DAYS = 90
# The start of a Monday in Hong Kong.
START = 1_672_588_800_000_000


class Fills(NamedTuple):
    spread: str
    rows: int
    days: int = DAYS

    @property
    def account(self) -> str:
        return f"{list(SPREADS).index(self.spread)}x{self.rows}x{self.days}"

    def times(self) -> list[int]:
        """The times of the fills, the latest first."""
        span = self.days * DAY
        times = SPREADS[self.spread](random.Random(self.rows), self.days, self.rows)
        return sorted((START + at % span for at in times), reverse=True)

    def longest(self, windows: int) -> int:
        """The number of pages of the longest of this many windows."""
        per_window = [0] * windows
        for at in self.times():
            per_window[(at - START) * windows // (self.days * DAY)] += 1
        return -(-max(per_window) // data.PAGE_ROWS)


def weekday(rng: random.Random, days: int) -> int:
    while (day := rng.randrange(days)) % 7 > 4:
        pass
    return day * DAY


def trading(rng: random.Random) -> int:
    return int(rng.uniform(9.5, 16) * HOUR)


def session(rng: random.Random, days: int) -> int:
    return weekday(rng, days) + int(rng.uniform(*rng.choice([(9.5, 12), (13, 16)])) * HOUR)


def open_or_close(rng: random.Random, days: int) -> int:
    opening = rng.random() < 0.6
    hour = 9.5 + abs(rng.gauss(0, 0.3)) if opening else 16 - abs(rng.gauss(0, 0.2))
    return weekday(rng, days) + int(hour * HOUR)


def age(rng: random.Random) -> int:
    return int(rng.expovariate(1 / (5 * DAY)))


def ten_days(rng: random.Random, days: int, count: int) -> list[int]:
    busy = [rng.randrange(days) * DAY for _ in range(10)]
    return [rng.choice(busy) + trading(rng) for _ in range(count)]


def orders(rng: random.Random, days: int, count: int) -> list[int]:
    """The times of fills of orders, each of which is filled twenty times within three seconds."""
    placed = [session(rng, days) for _ in range(0, count, 20)]
    return [placed[index // 20] + rng.randrange(3_000_000) for index in range(count)]


# Returns the times of fills within a number of days, in microseconds since the first day's start or
# before the last day's end.
Spread = Callable[[random.Random, int, int], list[int]]


def each(time_of: Callable[[random.Random, int], int]) -> Spread:
    return lambda rng, days, count: [time_of(rng, days) for _ in range(count)]


SPREADS: dict[str, Spread] = {
    "evenly": lambda rng, days, count: [days * DAY * index // count + 1 for index in range(count)],
    "at random": each(lambda rng, days: rng.randrange(days * DAY)),
    "sessions": each(session),
    "open and close": each(open_or_close),
    "ten days": ten_days,
    "one day": each(lambda rng, days: days // 2 * DAY + trading(rng)),
    "mostly latest": each(lambda rng, days: -1 - age(rng)),
    "mostly oldest": each(lambda rng, days: age(rng)),
    "orders of twenty": orders,
}
