"""The report of an update."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from boardlot._support.tables.cell_format import shown_second
from boardlot.errors import ArchiveUpdateError, BoardlotError

# The name of a list and its key: text, or an account and a market.
Name = tuple[str, "str | tuple[str, str]"]


@dataclass
class Counts:
    """The records of a list, counted.

    Attributes:
        new: Records that were not in the archive.
        changed: Records whose contents differ from the previous ones.
        gone: Records that the service no longer lists.
        back: Fills that were gone and are listed again.
        unlisted: Fills that `verify` has kept although they are not listed, since they are older
            than the oldest listed fill.
        unchanged: The other records.
        unconverted: Values of new, changed and returned records that are not of the kind of their
            field, such as a price that is not a number: they are null in the views.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0
    back: int = 0
    unlisted: int = 0
    unchanged: int = 0
    unconverted: int = 0

    def _add(self, other: Counts) -> None:
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    @property
    def total(self) -> int:
        """The number of records of any kind."""
        return int(sum(vars(self).values())) - self.unconverted


@dataclass
class UpdateReport:
    """The result of an update for each list; true if no list failed.

    Attributes:
        lists: The counts of each list by its name and key, such as `("ipos", "hk")` or
            `("fills", ("281756", "HK"))`.
        errors: The error of each list that could not be read, by the same names. The archive's
            contents of these lists are unchanged, except for complete pages of fills, from which
            the next update continues.
        fresh: Lists that were not read, because the last read was less than `max_age` ago.
        periods: The period of the fills of each account that the archive covers, from the first
            time that was read until the last one; `gaps` lists the spans between them that were not
            read.

    Example:
        >>> with bl.Archive(folder / "trades.db") as archive:
        ...     report = archive.update(client, dividends=["HK.00700"])
        >>> report.new, report.errors, next(report.rows())["list"]
        (21, {}, 'dividends')
    """

    lists: dict[Name, Counts] = field(default_factory=dict)
    errors: dict[Name, BoardlotError] = field(default_factory=dict)
    fresh: set[Name] = field(default_factory=set)
    periods: dict[Name, tuple[datetime, datetime]] = field(default_factory=dict)

    @property
    def new(self) -> int:
        """The number of new records, over all lists."""
        return sum(counts.new for counts in self.lists.values())

    @property
    def changed(self) -> int:
        """The number of changed records, over all lists."""
        return sum(counts.changed for counts in self.lists.values())

    @property
    def gone(self) -> int:
        """The number of records that disappeared, over all lists."""
        return sum(counts.gone for counts in self.lists.values())

    @property
    def back(self) -> int:
        """The number of fills that were gone and are back, over all accounts."""
        return sum(counts.back for counts in self.lists.values())

    @property
    def unlisted(self) -> int:
        """The number of fills that were kept although they are not listed, over all accounts."""
        return sum(counts.unlisted for counts in self.lists.values())

    @property
    def unchanged(self) -> int:
        """The number of unchanged records, over all lists."""
        return sum(counts.unchanged for counts in self.lists.values())

    @property
    def unconverted(self) -> int:
        """The number of values that are null in the views since they are not of the kind of their
        field."""
        return sum(counts.unconverted for counts in self.lists.values())

    def __bool__(self) -> bool:
        return not self.errors

    def _reasons(self) -> list[str]:
        return [f"{name} {_shown(key)}: {error}" for (name, key), error in self.errors.items()]

    def _raise(self) -> None:
        if not self.errors:
            return
        errors = list(self.errors.values())
        text = f"{len(errors)} of {len(self.lists)} lists failed: {'; '.join(self._reasons())}"
        passing = [error.retryable for error in errors]
        hint = "Run the same update again: it reads the rest." if any(passing) else errors[0].hint
        error = ArchiveUpdateError(text, report=self, retryable=all(passing), hint=hint)
        raise error from errors[0]

    def rows(self) -> Iterator[dict[str, str | int]]:
        """A row for each list: its name, key, period, counts and error. Raises nothing."""
        for name, counts in self.lists.items():
            error = str(self.errors.get(name, ""))
            period = self.periods.get(name)
            first, last = ("", "") if period is None else map(shown_second, period)
            of_list = {"list": name[0], "key": _shown(name[1]), "from": first, "until": last}
            yield {**of_list, **vars(counts), "error": error}

    def __str__(self) -> str:
        rows = list(self.rows())
        # Some columns apply to fills alone, and some are rarely needed.
        period, rare, unconverted = (
            [name for name in names if any(row[name] for row in rows)]
            for names in (("from", "until"), ("back", "unlisted"), ("unconverted",))
        )
        counted = ["new", "changed", "gone", *rare, "unchanged", *unconverted]
        heading = ["list", "key", *period, *counted, "error"]
        table = [heading, *([str(row[name]) for name in heading] for row in rows)]
        widths = [max(len(line[place]) for line in table) for place in range(len(heading))]
        lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)
        return "\n".join(lines) if rows else "nothing to update"


def _shown(key: str | tuple[str, str]) -> str:
    return key if isinstance(key, str) else " ".join(key)
