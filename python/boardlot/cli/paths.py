"""Paths that users type, and what there is at them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click

__all__ = ["UserPath", "check_writable", "refuse_existing", "same_file"]


class UserPath(click.Path):
    """A path as it is typed: neither empty, nor a dash where that would be a file of that name."""

    def __init__(self, *, allow_dash: bool = False, folder: bool = False) -> None:
        super().__init__(
            file_okay=not folder, dir_okay=folder, allow_dash=allow_dash, path_type=Path
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value == "":
            self.fail(f"the path is empty; expected the path of a {self.name}", param, ctx)
        if str(value) == "-" and not self.allow_dash:
            self.fail(
                "'-' is not a file, and this cannot be stdin or stdout; write ./- for a file of "
                "that name",
                param,
                ctx,
            )
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        return path


def check_writable(path: Path) -> None:
    """Find out whether a file can be made or replaced there, without a trace.

    Raises:
        OSError: It cannot; its file name is the folder.
    """
    # A folder that is missing is made with the file.
    folder = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        error.filename = str(folder)
        raise


def same_file(one: Path, other: Path) -> bool:
    """Whether both paths lead to one file: by links of either kind, or written differently."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:  # One of them is missing, so they are two.
        return False


def refuse_existing(path: Path) -> None:
    """End the command if something exists at the path: a link counts too."""
    if os.path.lexists(path):
        raise click.UsageError(f"{path} exists and is not overwritten")
