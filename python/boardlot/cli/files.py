"""Paths on the command line, checks of the files at these paths, and files with secrets."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import click

from boardlot._core import _expand_user, _remove_file
from boardlot._support.hidden import Hidden


class UserPath(click.Path):
    """A path on the command line: not empty, and not a dash unless that means stdout."""

    def __init__(self, *, allow_dash: bool = False, folder: bool = False) -> None:
        super().__init__(
            file_okay=not folder, dir_okay=folder, allow_dash=allow_dash, path_type=Path
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value == "":
            self.fail(f"the path is empty; expected the path of a {self.name}", param, ctx)
        if str(value) == "-" and not self.allow_dash:
            self.fail(
                "'-' is not a file, and this cannot be stdin or stdout; write ./- for a file with "
                "that name",
                param,
                ctx,
            )
        # The shell does not expand the ~ in --key-file=~/key.pem.
        path: Path = super().convert(_expand_user(value), param, ctx)  # type: ignore[assignment]
        return path


def check_writable(path: Path) -> None:
    """Check that a file can be created or replaced there, without leaving anything behind.

    Raises:
        OSError: The file cannot be created or replaced. The error's `filename` is the folder, or
            the path if something other than a file is there.
    """
    # A missing folder is created with the file.
    path = path.absolute()
    folders = (folder for folder in path.parents if os.path.lexists(folder))
    # On Windows there may be no such drive.
    folder = next(folders, Path(path.anchor))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        error.filename = str(folder)
        raise


def same_file(one: Path, other: Path) -> bool:
    """True if both paths lead to the same file, through links or in another spelling."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:  # One of them is missing, so they differ.
        return False


def reject_existing(path: Path) -> None:
    """Reject a path at which something exists; a broken link counts too."""
    if os.path.lexists(path):
        raise click.UsageError(f"{path} already exists and is not overwritten")


def write_secret(path: Path, text: Hidden) -> None:
    """Write a new file that only its owner can read, from its first byte on.

    The file is removed if it cannot be written completely.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags, 0o600), "wb")
    try:
        with file:
            file.write(text.reveal().encode())
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        _remove_file(path)
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
