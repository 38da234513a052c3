"""The fields to write: `--columns`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from boardlot._core import _Rows as Rows
from boardlot._support.messages.nearest import did_you_mean
from boardlot._support.tables.cell_format import clean
from boardlot.cli.output.plain_rows import PlainRows
from boardlot.cli.output.terminal import note

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
