"""Writing data as the global options ask: to stdout or to a file, page by page."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from boardlot.cli.formats import WRITERS, Fields, Writer, counted
from boardlot.cli.paths import check_writable, same_file
from boardlot.cli.settings import Settings

__all__ = [
    "Progress",
    "check_out",
    "check_place",
    "check_replaceable",
    "emit",
    "emit_bytes",
    "put_in_place",
    "replacing",
]

# How the name ends of a file that is not whole yet.
PART = ".part"


def emit(settings: Settings, records: Any, favourites: Any = ()) -> None:
    """Write records as `--format` and `--out` ask.

    Args:
        settings: The global options.
        records: `Records`, or a pager, whose pages are written as they come.
        favourites: The fields that a terminal shows where it is too narrow for all.

    `json`, `jsonl` and `csv` have the service's own values; `parquet` has typed columns. A file
    is put in its place when it is whole.
    """
    check_out(settings)
    with _destination(settings) as file:
        writer = writer_of(settings, file, favourites)
        progress = Progress(settings, records)
        with progress:
            for page in records.pages() if hasattr(records, "pages") else [records]:
                writer.write(page)
                file.flush()
                progress.add(len(page))
        writer.end()
        file.flush()
    if settings.out is not None:
        click.echo(f"wrote {counted(progress.rows)} to {settings.out}", err=True)


def emit_bytes(settings: Settings, data: bytes) -> None:
    """Write bytes as they are to where `--out` says."""
    check_place(settings)
    with _destination(settings) as file:
        file.write(data)
        file.flush()


def writer_of(settings: Settings, file: BinaryIO, favourites: Any = ()) -> Writer:
    fields = Fields(settings.columns)
    if settings.data_format == "table":
        stdout = settings.out is None
        table: Writer = WRITERS["table"](file, fields, favourites, stdout=stdout)
        return table
    writer: Writer = WRITERS[settings.data_format](file, fields)
    return writer


def check_out(settings: Settings) -> None:
    """Refuse a format, columns or a place that data cannot have, before a request is sent."""
    Fields(settings.columns)
    if settings.data_format == "parquet" and settings.out is None:
        raise click.UsageError("parquet is no text: add --out FILE")
    check_place(settings)


def check_place(settings: Settings, reads: Sequence[Path] = ()) -> None:
    """Refuse a place that nothing can or must be written to, as what the command itself reads."""
    out = settings.out
    if out is None:
        return
    if out.is_file() and not settings.force:
        raise click.UsageError(f"{out} exists: choose another --out, or add --force to replace it")
    check_replaceable("--out", out)
    if any(same_file(out, file) for file in (*settings.inputs, *reads)):
        raise click.UsageError(
            f"--out {out} is a file that the command itself reads: choose another --out"
        )


def check_replaceable(option: str, path: Path) -> None:
    """Refuse a file that cannot be made or replaced, or a device that cannot be written to."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        folder = real.parent if path.is_symlink() else path.parent
        raise click.UsageError(f"{option} {path}: there is no folder {folder}")
    try:
        if not path.exists() or path.is_file():
            check_writable(real)
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    except OSError as error:
        raise click.UsageError(
            f"{option} {path} cannot be written: {error.filename}: {error.strerror}"
        ) from None


@contextmanager
def _destination(settings: Settings) -> Iterator[BinaryIO]:
    """Where the bytes go."""
    out = settings.out
    with naming(out or "stdout"):
        if out is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
        elif out.exists() and not out.is_file():
            # A device or a pipe: written to, and never replaced.
            with out.open("wb") as file:
                yield file
        else:
            settings.go_on = f"{out} was not written: run the command again. {settings.go_on}"
            with replacing(out, settings.force) as part, part.open("x+b") as file:
                yield file
    settings.go_on = ""


@contextmanager
def naming(place: Path | str) -> Iterator[None]:
    """Let an error of the operating system name the place, as its user does.

    One of writing names none, and one of opening may name the file beside it.
    """
    try:
        yield
    except OSError as error:
        name = error.filename
        if error.errno is not None and (name is None or str(name).endswith(PART)):
            error.filename = str(place)
        raise


@contextmanager
def replacing(path: Path, force: bool = False) -> Iterator[Path]:
    """Write a file beside its place, and move it there when it is whole.

    No reader ever sees half of it, and what was there before stays where the writing fails.

    Args:
        path: The place; a link is followed.
        force: Whether a file that is there is replaced.

    Yields:
        Where to write.
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        yield part
        put_in_place(part, path, force)
    finally:
        part.unlink(missing_ok=True)


def put_in_place(part: Path, path: Path, force: bool) -> None:
    """Move a whole file to its place, on disk before it has its name."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    if force:
        if path.exists():
            shutil.copymode(path, part)
    elif _linked(part, path):
        part.unlink()
        return
    elif path.exists():
        raise FileExistsError(
            errno.EEXIST, "came into being meanwhile and is not replaced", str(path)
        )
    part.replace(path)


def _linked(part: Path, path: Path) -> bool:
    """Whether the file has its name now: unlike a rename, a link never replaces another file."""
    try:
        os.link(part, path)
    except OSError:
        # The name is taken, perhaps by a run of this that was ended here; or the file system has
        # no hard links.
        return same_file(part, path)
    return True


class Progress:
    """A bar on stderr while pages come in, where it is a terminal that shows no rows.

    Drawn with tqdm where it is installed; it goes away at the end.
    """

    def __init__(self, settings: Settings, records: Any, rows: int = 0) -> None:
        self.rows = rows
        self._records = records
        self._bar: Any = None
        away = settings.out is not None or not sys.stdout.isatty()
        self._shown = away and hasattr(records, "pages") and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def add(self, rows: int) -> None:
        self.rows += rows
        if self._shown and self._bar is None:
            from boardlot.results.progress import Bar

            # The total is known from the first page on.
            self._bar = Bar("fetched", "rows", self._records.total, self._count, leave=False)
        if self._bar is not None:
            self._bar.draw()

    def _count(self) -> int:
        return self.rows

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
