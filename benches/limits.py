"""The cost that an unreached rate limit adds to a request."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from unittest.mock import patch

from .harness import Limit, Row, Settings, Taken, take_turns
from .wire import lines, timed, turns

NONE = "no limit"
# A rate above that of requests that are sent one after another.
RATE = 1_000_000.0
SHARED_MOST, OWN_MOST = 10e-6, 2e-6
FILE = "small beside a request: four system calls for the lock, the state and its change"
REASON = "within the noise of a request, so that nobody has a reason to go without a limit"


def rows(settings: Settings) -> list[Row]:
    import boardlot as bl

    seconds, rounds = turns(settings)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(patch.dict(os.environ, XDG_STATE_HOME=folder))
        base, key_id, pem = stack.enter_context(lines())
        limits = {
            "one client's": RATE,
            "one process's": bl.RateLimit(RATE),
            "all processes'": bl.RateLimit(RATE, name="bench"),
        }
        contenders = {}
        for name, limit in {NONE: None, **limits}.items():
            client = bl.Client(base, auth=bl.ApiKey(key_id, pem), rate_limit=limit)
            get = stack.enter_context(client).sim_orders
            contenders[name] = timed(lambda get=get: get("1"), seconds)
        taken = take_turns(contenders, rounds)
    for name in limits:
        taken[f"{name} limit alone"] = added(taken[name], taken[NONE])
    return [
        Row(
            "A rate limit that is never reached",
            "one signed request after another, to dicts; alone: the difference of a round",
            "µs",
            taken,
            [
                Limit("one client's limit alone", OWN_MOST, "cpu", REASON),
                Limit("one process's limit alone", SHARED_MOST, "cpu", REASON),
                Limit("all processes' limit alone", SHARED_MOST, "cpu", FILE),
                Limit("all processes' limit alone", SHARED_MOST, reason=FILE),
            ],
            ours=NONE,
        )
    ]


def added(limited: Taken, free: Taken) -> Taken:
    """The cost of the limit in each round."""

    def differences(measure: str) -> list[float]:
        pairs = zip(getattr(limited, measure), getattr(free, measure), strict=True)
        return [one - other for one, other in pairs]

    return Taken(seconds=differences("seconds"), cpu=differences("cpu"))
