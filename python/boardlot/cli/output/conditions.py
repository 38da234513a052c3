"""The conditions of `--where`: their syntax, and the values for which they hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple

import click

from boardlot.cli.output.texts import day_of, kind_of, number_of, span_of

CONDITION = re.compile(r"\s*([^\s=!<>~]+)\s*(!=|<=|>=|==?|<|>|~)\s*(.*?)\s*", re.DOTALL)
# A condition after another one, as in `code=HK.00700,status=OK`.
ANOTHER = re.compile(r"(,|;|&&?|\band\b|\bor\b)\s*[a-z_]+\s*(!=|<=|>=|=|<|>)", re.IGNORECASE)
EQUALS = ("=", "==")
# Functions of a value, and of the first and the last value that the condition's text means.
COMPARISONS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda value, first, last: first <= value <= last,
    "==": lambda value, first, last: first <= value <= last,
    "!=": lambda value, first, last: not first <= value <= last,
    "<": lambda value, first, last: value < first,
    "<=": lambda value, first, last: value <= last,
    ">": lambda value, first, last: value > last,
    ">=": lambda value, first, last: value >= first,
}
DATE = "a date such as 2026-01-31"
EXPECTED = {
    "number": "a number",
    "date": DATE,
    "time": f"{DATE}, or a time such as 2026-01-31T09:30:00+08:00",
    "flag": "true or false",
}


class Condition(NamedTuple):
    """One `--where`: a field, a comparison and the text that it is compared with."""

    field: str
    comparison: str
    text: str

    @property
    def kind(self) -> str:
        """The kind of the condition's text: `number`, `date` or `text`."""
        return kind_of(self.text) or "text"

    @property
    def needs_kind(self) -> bool:
        """True if comparing a value of a text column depends on the other values of the column.

        Only the equality of two texts does not depend on the other values.
        """
        if self.comparison == "~" or not self.text:
            return False
        return self.kind != "text" or self.comparison not in (*EQUALS, "!=")

    def test(self, kind: str, zone: tzinfo) -> Callable[[Any], bool]:
        """A function that is true for the values for which the condition holds; a missing value is
        `None`.

        Args:
            kind: The kind of the values: `text`, `number`, `date`, `time` or `flag`.
            zone: The time zone of days.

        Raises:
            click.UsageError: The condition's text is not of this kind.
        """
        if self.comparison == "~":
            part = self.text.casefold()
            return lambda value: value is not None and part in _shown(value, zone).casefold()
        if not self.text:
            # No value: equal to no other one, and neither less nor greater.
            if self.comparison in EQUALS:
                return lambda value: value is None
            return lambda value: value is not None and self.comparison == "!="
        first, last = self._range(kind, zone)
        holds = COMPARISONS[self.comparison]
        of_none, prepare = self.comparison == "!=", PREPARED.get(kind, _same)
        return lambda value: of_none if value is None else holds(prepare(value), first, last)

    def _range(self, kind: str, zone: tzinfo) -> tuple[Any, Any]:
        """The first and the last value that the text means: the same value, except for a day."""
        one: Any = None
        if kind == "time":
            span = span_of(self.text, zone)
            if span is not None:
                return span
        elif kind == "flag":
            one = {"true": True, "false": False}.get(self.text.lower())
        elif kind == "number":
            one = number_of(self.text)
        else:
            one = day_of(self.text) if kind == "date" else self.text.casefold()
        if one is None:
            raise click.UsageError(f"--where: {self.field} is {EXPECTED[kind]}, not {self.text!r}")
        return one, one


def _same(value: Any) -> Any:
    return value


def _exact(value: Any) -> Decimal:
    """The number; for a float, the number that is shown."""
    return Decimal(str(value)) if isinstance(value, float) else Decimal(value)


PREPARED: dict[str, Callable[[Any], Any]] = {"number": _exact, "text": str.casefold}


def _shown(value: Any, zone: tzinfo) -> str:
    return str(value.astimezone(zone) if isinstance(value, datetime) else value)


def conditions_of(texts: tuple[str, ...]) -> list[Condition]:
    """The conditions of all `--where`.

    Raises:
        click.UsageError: A text is not a condition, or is several.
    """
    conditions = []
    for text in texts:
        found = CONDITION.fullmatch(text)
        if found is None:
            raise click.UsageError(
                f"--where {text!r} is not a condition; expected one such as 'qty>=100', "
                "'code=HK.00700' or 'stock_name~bank', in quotes: a shell takes > and < for files"
            )
        field, comparison, value = found.groups()
        # `==` compares with a text that begins so.
        if comparison == "=" and value[:1] in ("<", ">", "!"):
            meant = f"{field}{value[0]}={value[1:]}"
            raise click.UsageError(f"--where {text!r} is not a condition; did you mean {meant!r}?")
        if ANOTHER.search(value):
            raise click.UsageError(
                f"--where {text!r} is several conditions; expected one: repeat --where for each"
            )
        conditions.append(Condition(field, comparison, value))
    return conditions
