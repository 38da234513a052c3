"""The conditions of `--where`: how they are written, and for which values they hold."""

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
# A value, and the first and the last one that the text of the condition means.
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
        """The kind of its text: `number`, `date` or `text`."""
        return kind_of(self.text) or "text"

    @property
    def needs_kind(self) -> bool:
        """True if the other values of a column of text decide how it compares with one.

        Only a text that is equal to another one is so whatever the other values are.
        """
        if self.comparison == "~" or not self.text:
            return False
        return self.kind != "text" or self.comparison not in (*EQUALS, "!=")

    def test(self, kind: str, zone: tzinfo) -> Callable[[Any], bool]:
        """A function that is true for the values for which it holds; a value that is missing is
        `None`.

        Args:
            kind: The kind of the values: `text`, `number`, `date`, `time` or `flag`.
            zone: The time zone of days.

        Raises:
            click.UsageError: Its text is not of this kind.
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
        """The first and the last value that the text means: one and the same, but for a day."""
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
    """The number; of a float, the one that is shown."""
    return Decimal(str(value)) if isinstance(value, float) else Decimal(value)


PREPARED: dict[str, Callable[[Any], Any]] = {"number": _exact, "text": str.casefold}


def _shown(value: Any, zone: tzinfo) -> str:
    return str(value.astimezone(zone) if isinstance(value, datetime) else value)


def conditions_of(texts: tuple[str, ...]) -> list[Condition]:
    """The conditions of all `--where`.

    Raises:
        click.UsageError: One is not a condition, or several.
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
