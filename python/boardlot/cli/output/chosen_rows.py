"""The rows to write, and their order: `--where`, `--sort` and `--limit`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import click

from boardlot._core import _Rows as Rows
from boardlot._support.messages.nearest import did_you_mean
from boardlot._support.tables.cell_format import clean
from boardlot.cli.output.conditions import Condition, conditions_of
from boardlot.cli.output.fields import Page
from boardlot.cli.output.terminal import note
from boardlot.cli.output.texts import as_kind, kinds_in
from boardlot.cli.settings import Settings
from boardlot.pager import Pager

# How values of declared kinds are compared; all others are texts.
DECLARED = {
    "integer": "number",
    "number": "number",
    "decimal": "number",
    "timestamp": "time",
    "date": "date",
    "flag": "flag",
}


def check_choice(settings: Settings) -> None:
    """Reject conditions and an order that cannot be read, before a request is sent."""
    conditions_of(settings.where)
    _order(settings)


def chosen_pages(settings: Settings, rows: Page | Pager[Any]) -> Iterator[Page]:
    """The pages of a pager, or rows as one page, with the rows that the options choose.

    Rows are sorted once all of them have arrived. A condition that depends on all values of a
    column waits for them as well; otherwise each page passes through, and the download ends with
    the last row that is wanted.
    """
    conditions, order, left = conditions_of(settings.where), _order(settings), settings.limit
    if not isinstance(rows, Pager):
        pages: Iterator[Page] = iter([rows])
    elif order:
        # One page, so that the options mean the same as for a list.
        pages = iter([rows._all_rows()])
    else:
        pages = rows._row_pages()
    # Pages are held up to the first page with rows, which alone has the names of undeclared fields.
    held: list[Page] = []
    for page in pages:
        held.append(page)
        if len(page):
            _check_names(page, [*(x.field for x in conditions), *(name for name, _ in order)])
            break
    declared = _declared(held[-1]) if held else {}
    if any(x.needs_kind and x.field not in declared for x in conditions):
        held.extend(pages)
    tests = [_test(x, held, declared, settings) for x in conditions]
    columns = [
        (
            _Column(name, declared[name], True)
            if name in declared
            else _column(name, held, f"--sort {name}", {}),
            down,
        )
        for name, down in order
    ]
    for page in _joined(held, pages):
        found = _matching(page, tests) if tests and len(page) else page
        if columns:
            found = _sorted(found, columns)
        if left is not None:
            # A part of a page does not know its columns, which matter if no row is left.
            if len(found) > left:
                found = found.slice(0, left)
            left -= len(found)
        yield found
        if left == 0:
            break


def _joined(held: list[Page], pages: Iterator[Page]) -> Iterator[Page]:
    """All pages; those that were held are released as they are passed on."""
    held.reverse()
    while held:
        yield held.pop()
    yield from pages


class _Column(NamedTuple):
    """A field whose values are compared, and how."""

    name: str
    kind: str
    is_declared: bool

    def values(self, page: Page) -> list[Any]:
        """The field of each row, as its kind; `None` for no value."""
        if self.is_declared:
            rows = page.select(self.name) if isinstance(page, Rows) else page
            return [row.get(self.name) for row in rows.typed_dicts()]
        return [as_kind(self.kind, text) for (text,) in page.texts([self.name])]


_Test = tuple[_Column, Callable[[Any], bool]]


def _declared(page: Page) -> dict[str, str]:
    """The fields of a declared kind that is not text, with the kind in which they are compared."""
    return {field.name: DECLARED[field.kind] for field in page.schema if field.kind in DECLARED}


def _test(
    condition: Condition, pages: Sequence[Page], declared: dict[str, str], settings: Settings
) -> _Test:
    """The column of a condition and its test.

    Texts are compared with a number or a date as such if all of them are numbers, or dates.
    """
    name = condition.field
    if name in declared:
        column = _Column(name, declared[name], True)
    elif not condition.needs_kind:
        column = _Column(name, "text", False)
    else:
        own = {condition.kind: condition.text}
        column = _column(
            name, pages, f"--where '{name}{condition.comparison}{condition.text}'", own
        )
    return column, condition.test(column.kind, settings.zone)


def _column(name: str, pages: Sequence[Page], option: str, own: dict[str, str]) -> _Column:
    """The column of a field of texts, whose kind is that of all its values and of `own`.

    If the values are of several kinds, they are compared as text. This is reported even with
    `--quiet`, as the user may have meant something else, and the exit status is 0.
    """
    texts = (text for page in pages for (text,) in page.texts([name]))
    found = {**own, **{kind: text for kind, text in kinds_in(texts).items() if kind not in own}}
    if len(found) > 1:
        (kind, text), (other, example), *_ = found.items()
        note(
            f"boardlot: warning: {option} compares texts: {clean(text)!r} is a {kind}, and "
            f"{clean(name)} has {clean(example)!r}, a {other}",
            "error",
        )
    return _Column(name, next(iter(found)) if len(found) == 1 else "text", False)


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


def _matching(page: Page, tests: Sequence[_Test]) -> Page:
    columns = [map(holds, column.values(page)) for column, holds in tests]
    return page.take([index for index, row in enumerate(zip(*columns, strict=True)) if all(row)])


def _sorted(page: Page, order: Sequence[tuple[_Column, bool]]) -> Page:
    indices = list(range(len(page)))
    # The last field first: each sort keeps the order of equal rows.
    for column, descending in reversed(order):
        values = column.values(page)
        present = [index for index in indices if values[index] is not None]
        absent = [index for index in indices if values[index] is None]
        present.sort(key=values.__getitem__, reverse=descending)
        indices = present + absent
    return page.take(indices)
