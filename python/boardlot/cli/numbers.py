"""The types of options, such as numbers and time zones; and completions for a shell, without a
request.
"""

from __future__ import annotations

import math
from datetime import timezone
from typing import Any

import click

from boardlot import _core
from boardlot._endpoints import ENDPOINTS, MARKETS
from boardlot._support.messages.nearest import did_you_mean
from boardlot.errors import BoardlotError

# The range of the core's integers.
LEAST, MOST = -(2**63), 2**63 - 1

# Windows has no database of time zones.
NO_ZONES = "; there are no time zones here: pip install tzdata"


class Number(click.FloatRange):
    """A finite number. click's own type accepts `nan`, which is within any bounds, and `inf`."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number; expected one without a unit.", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return float(super().convert(number, param, ctx))


class Whole(click.IntRange):
    """A whole number of 64 bits."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(super().convert(value, param, ctx))
        except OverflowError:  # An infinite float, as JSON may contain.
            self.fail(f"{value!r} is not a valid integer.", param, ctx)
        if not LEAST <= number <= MOST:
            message = "is not a valid integer; expected an integer from -2^63 to 2^63 - 1."
            self.fail(f"{value!r} {message}", param, ctx)
        return number


class Windows(Whole):
    """A number of windows, or `auto`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "auto" else super().convert(value, param, ctx)


class Zone(click.types.StringParamType):
    """A time zone of the IANA database."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from zoneinfo import ZoneInfo, available_timezones

        if value == "UTC":
            # UTC is known without a database, too.
            return timezone.utc
        try:
            return ZoneInfo(value)
        # A folder of the database, a path, or a name that is not there.
        except (OSError, ValueError, LookupError):
            pass
        known = available_timezones()
        advice = did_you_mean(value, sorted(known)) if known else NO_ZONES
        message = f"{value!r} is not a time zone; expected one such as Asia/Hong_Kong{advice}"
        return self.fail(message, param, ctx)


COLUMNS = {endpoint.command: endpoint.columns for endpoint in ENDPOINTS}


def complete_profiles(_ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The profiles in `config.toml`."""
    try:
        names = _core._profiles()[0]
    except BoardlotError:
        # A file that cannot be read has nothing to complete; the command will say so.
        return []
    return [name for name in names if name.startswith(typed)]


def complete_markets(_ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The markets, in whatever case they are typed."""
    return [name for name in MARKETS if name.startswith(typed.upper())]


def complete_columns(ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The last name of a list of columns such as `code,qty`."""
    before, comma, last = typed.rpartition(",")
    sign = "-" if last.startswith("-") else ""
    taken = set(before.replace("-", "").split(","))
    return [
        f"{before}{comma}{sign}{name}"
        for name in _columns(ctx)
        if name.startswith(last.removeprefix("-")) and name not in taken
    ]


def complete_condition(ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The field of a condition such as `qty>100`."""
    return [name for name in _columns(ctx) if name.startswith(typed)]


def _columns(ctx: click.Context) -> tuple[str, ...]:
    """The declared fields of the command's rows, in all their markets."""
    return COLUMNS.get(ctx.info_name or "", ())
