"""The progress bar of an update."""

from __future__ import annotations

from typing import Any


class Bar:
    """A bar of the rows of an update, or nothing."""

    def __init__(self, *, shown: bool) -> None:
        self._rows = 0
        self._bar: Any = None
        if shown:
            from boardlot._support import progress

            self._bar = progress.Bar("archive", "rows", None, lambda: self._rows)

    def add(self, rows: int) -> None:
        self._rows += rows
        if self._bar is not None:
            self._bar.draw()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
