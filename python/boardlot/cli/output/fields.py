"""Selection of the fields and rows to write: `--columns`, `--where`, `--sort` and `--limit`."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import click

from boardlot._core import Rows
from boardlot._support.cell_format import clean
from boardlot._support.nearest import did_you_mean
from boardlot.cli.output.plain_rows import PlainRows
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Settings
from boardlot.pager import Pager

Page = Rows | PlainRows


class Fields:
    """The fields to write: the fields of `--columns`, or the declared ones and the first page's."""

    def __init__(self, columns: str | None = None, names: Sequence[str] | None = None) -> None:
        self.selected: list[str] | None = _selected(columns)
        self.names = list(names) if names is not None else None
        self._reported: set[str] = set()

    def names_for(self, page: Page) -> list[str]:
        """The names, fixed by the first page that has some: a page without rows may have none."""
        if self.names is None:
            known = page.names()
            names = self.checked(page) or known
            if not known:
                return names
            self.names = names
        if self.selected is None:
            self._report_new(page, self.names)
        return self.names

    def checked(self, page: Page) -> list[str] | None:
        """The selected names.

        Raises:
            click.UsageError: The first page has no such field.
        """
        known = page.names()
        wrong = [name for name in self.selected or () if known and name not in known]
        if wrong:
            nearest = did_you_mean(wrong[0], known)
            raise click.UsageError(
                f"--columns: {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not in the "
                f"data{nearest}; expected some of {', '.join(map(clean, known))}"
            )
        return self.selected

    def _report_new(self, page: Page, names: list[str]) -> None:
        """Report fields that are left out because the header is already written."""
        known = {*names, *self._reported}
        new = [name for name in page.names() if name not in known]
        for name in new:
            note(
                f"boardlot: the field {clean(name)} first appeared after the header was written "
                "and is left out; --format jsonl includes it"
            )
        self._reported.update(new)


def _selected(columns: str | None) -> list[str] | None:
    """The names of `--columns`."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    twice = sorted({name for name in names if names.count(name) > 1})
    if "" in names or twice:
        what = "has an empty name" if "" in names else f"names {', '.join(twice)} twice"
        raise click.UsageError(f"--columns {columns!r} {what}; expected names such as code,price")
    return names


CONDITION = re.compile(r"\s*([^\s=!<>~]+)\s*(!=|<=|>=|==?|<|>|~)\s*(.*?)\s*", re.DOTALL)
# A condition after another one, as in `code=HK.00700,status=OK`.
ANOTHER = re.compile(r"(,|;|&&?|\band\b|\bor\b)\s*[a-z_]+\s*(!=|<=|>=|=|<|>)", re.IGNORECASE)
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def check_choice(settings: Settings) -> None:
    """Reject conditions and an order that cannot be read, before a request is sent."""
    _conditions(settings)
    _order(settings)


def chosen_pages(settings: Settings, rows: Page | Pager[Any]) -> Iterator[Page]:
    """The pages of a pager, or rows as one page, with the rows that the options choose.

    Rows are sorted once all of them have arrived; otherwise each page passes through, and the
    download ends with the last row that is wanted.
    """
    conditions, order, left = _conditions(settings), _order(settings), settings.limit
    if order:
        # One page, so that the options mean the same as for a list.
        pages: Iterator[Page] = iter([rows._all_rows() if isinstance(rows, Pager) else rows])
    else:
        pages = rows._row_pages() if isinstance(rows, Pager) else iter([rows])
    checked = False
    for page in pages:
        if not checked and len(page):
            _check_names(page, [*(x.field for x in conditions), *(name for name, _ in order)])
            checked = True
        found = _matching(page, conditions) if conditions else page
        if order:
            found = _sorted(found, order)
        if left is not None:
            # A part does not know its columns, which matter if no row is left.
            if len(found) > left:
                found = found.slice(0, left)
            left -= len(found)
        yield found
        if left == 0:
            break


class _Condition(NamedTuple):
    """One `--where`: a field, a comparison and the text that it is compared with."""

    field: str
    comparison: str
    text: str

    def holds(self, value: Any) -> bool:
        """True if it holds for a typed value."""
        if isinstance(value, (dict, list)):
            value = json.dumps(value, ensure_ascii=False)
        if self.comparison == "~":
            return value is not None and self.text.casefold() in str(value).casefold()
        if value is None or self.text == "":
            # Null, an empty text and a missing field are one: no value.
            same = value in (None, "") and self.text == ""
            return self.comparison == "!=" if not same else self.comparison in ("=", "==")
        return COMPARISONS[self.comparison](*self._comparable(value))

    def _comparable(self, value: Any) -> tuple[Any, Any]:
        """The value and the text as the same type."""
        if isinstance(value, bool):
            if self.text.lower() not in ("true", "false"):
                raise self._refused("true or false")
            return value, self.text.lower() == "true"
        if isinstance(value, (int, float, Decimal)):
            return Decimal(str(value)), self._number()
        if isinstance(value, datetime):
            return value, self._time()
        if isinstance(value, date):
            try:
                return value, date.fromisoformat(self.text)
            except ValueError:
                raise self._refused("a date such as 2026-01-31") from None
        return str(value).casefold(), self.text.casefold()

    def _number(self) -> Decimal:
        try:
            number = Decimal(self.text)
        except InvalidOperation:
            raise self._refused("a number") from None
        # Decimals compare with NaN by raising.
        if not number.is_finite():
            raise self._refused("a finite number")
        return number

    def _time(self) -> datetime:
        expected = "a date such as 2026-01-31, or a time such as 2026-01-31T09:30:00+08:00"
        try:
            # Python 3.10 does not know the Z.
            time = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", self.text))
        except ValueError:
            raise self._refused(expected) from None
        if time.tzinfo is None and len(self.text) > len("2026-01-31"):
            raise self._refused(expected)
        return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)

    def _refused(self, expected: str) -> click.UsageError:
        return click.UsageError(f"--where: {self.field} is {expected}, not {self.text!r}")


def _conditions(settings: Settings) -> list[_Condition]:
    conditions = []
    for text in settings.where:
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
        conditions.append(_Condition(field, comparison, value))
    return conditions


def _order(settings: Settings) -> list[tuple[str, bool]]:
    """The fields of `--sort`, and whether each is descending."""
    if settings.sort is None:
        return []
    names = [name.strip() for name in settings.sort.split(",")]
    if not all(name.removeprefix("-") for name in names):
        raise click.UsageError(
            f"--sort {settings.sort!r} has an empty name; expected names such as code,-price"
        )
    return [(name.removeprefix("-"), name.startswith("-")) for name in names]


def _check_names(page: Page, names: Sequence[str]) -> None:
    known = page.names()
    for name in names:
        if name not in known:
            advice = did_you_mean(name, known)
            if re.search(r"\b(asc|desc)$", name, re.IGNORECASE):
                advice = "; for descending order, write a minus before the name: -price"
            raise click.UsageError(
                f"{clean(name)} is not a field of the data; expected one of "
                f"{', '.join(map(clean, known))}{advice}"
            )


def _matching(page: Page, conditions: Sequence[_Condition]) -> Page:
    rows = enumerate(page.typed_dicts())
    return page.take([i for i, row in rows if all(x.holds(row.get(x.field)) for x in conditions)])


def _sorted(page: Page, order: Sequence[tuple[str, bool]]) -> Page:
    rows = page.typed_dicts()
    indices = list(range(len(rows)))
    # The last field first: each sort keeps the order of equal rows.
    for name, descending in reversed(order):
        present = [index for index in indices if rows[index].get(name) is not None]
        absent = [index for index in indices if rows[index].get(name) is None]
        try:
            present.sort(key=lambda index: rows[index][name], reverse=descending)
        except TypeError:
            # Values of several types, or objects.
            present.sort(key=lambda index: str(rows[index][name]), reverse=descending)
        indices = present + absent
    return page.take(indices)
