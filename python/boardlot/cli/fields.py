"""Which fields of the rows are written, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import click

from boardlot._core import Records
from boardlot.clients.mistakes import did_you_mean
from boardlot.results.cell_format import clean

__all__ = ["Fields", "NamedRows", "Rows", "names_of"]

Rows = Sequence[Mapping[str, Any]]


class NamedRows(list[Mapping[str, Any]]):
    """Rows that all have the same columns, which are known even if there are none."""

    def __init__(self, columns: Sequence[str], rows: Rows) -> None:
        super().__init__(rows)
        self.columns = columns
        # A table infers the types of rows from their values.
        without_rows = [] if rows else columns
        self.schema: list[SimpleNamespace] = [
            SimpleNamespace(name=name, kind="text", unit=None, doc="") for name in without_rows
        ]


class Fields:
    """The fields to write: those of `--columns`, or those declared and those of the first page."""

    def __init__(self, columns: str | None = None, names: Sequence[str] | None = None) -> None:
        self.selected: list[str] | None = _selected(columns)
        self.names = list(names) if names is not None else None
        self._reported: set[str] = set()

    def names_for(self, page: Rows) -> list[str]:
        """The names, fixed by the first page."""
        if self.names is None:
            self.names = self.checked(page) or names_of(page)
        if self.selected is None:
            self._report_new(page, self.names)
        return self.names

    def checked(self, page: Rows) -> list[str] | None:
        """The selected names.

        Raises:
            click.UsageError: The first page has no such field.
        """
        known = names_of(page)
        wrong = [name for name in self.selected or () if known and name not in known]
        if wrong:
            nearest = did_you_mean(wrong[0], known)
            raise click.UsageError(
                f"--columns: {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not in the "
                f"data{nearest}; expected some of {', '.join(map(clean, known))}"
            )
        return self.selected

    def _report_new(self, page: Rows, names: list[str]) -> None:
        """Report fields that are left out because the header is already written."""
        known = {*names, *self._reported}
        new = [name for name in names_of(page) if name not in known]
        for name in new:
            click.echo(
                f"boardlot: the field {clean(name)} first appeared after the header was written "
                "and is left out; --format jsonl includes it",
                err=True,
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


def names_of(page: Rows) -> list[str]:
    """The names of the declared fields, then those of the others."""
    if isinstance(page, Records):
        return page._names()
    if isinstance(page, NamedRows):
        return [*page.columns]
    declared = [field.name for field in getattr(page, "schema", None) or ()]
    return list(dict.fromkeys([*declared, *(name for row in page for name in row)]))
