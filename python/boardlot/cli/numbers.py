"""Numbers on the command line: the types of every option that is one."""

from __future__ import annotations

import math
from typing import Any

import click

__all__ = ["Number", "Whole"]

# What the core counts with.
LEAST, MOST = -(2**63), 2**63 - 1


class _Described:
    """Describes a range in help; click describes one without bounds as `x<=None`."""

    def _describe_range(self) -> str:
        ranged: Any = self
        described: Any = super()
        bounded = ranged.min is not None or ranged.max is not None
        return str(described._describe_range()) if bounded else ""


class Number(_Described, click.FloatRange):
    """A finite number. click's own type accepts `nan`, which is within any bounds, and `inf`."""

    name = "number"

    def __init__(
        self, least: float | None = None, most: float | None = None, *, above: bool = False
    ) -> None:
        super().__init__(least, most, min_open=above)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(click.FLOAT.convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return float(super().convert(number, param, ctx))


class Whole(_Described, click.IntRange):
    """A whole number of 64 bits."""

    name = "integer"

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(super().convert(value, param, ctx))
        except OverflowError:  # An infinite float, as JSON may contain.
            self.fail(f"{value!r} is not a valid integer.", param, ctx)
        if not LEAST <= number <= MOST:
            message = "is not a valid integer; expected an integer from -2^63 to 2^63 - 1."
            self.fail(f"{value!r} {message}", param, ctx)
        return number
