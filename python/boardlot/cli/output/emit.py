"""Writes data as the global options say: to stdout or to a file, page by page."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from boardlot._support.crash_safe import replacing
from boardlot._support.progress import Bar
from boardlot._support.tables.cell_format import counted, escaped
from boardlot.cli.files import check_writable, same_file
from boardlot.cli.output.chosen_rows import check_choice, chosen_pages
from boardlot.cli.output.fields import Fields, Page
from boardlot.cli.output.formats import Writer
from boardlot.cli.output.plain_rows import PlainRows
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import FORMATS, Settings
from boardlot.pager import Pager

# The suffix of a file that is not complete yet.
PART = ".part"


def emit(
    settings: Settings, rows: Page | Pager[Any] | list[dict[str, Any]], key_columns: Any = ()
) -> None:
    """Write rows as `--format` and `--out` say.

    Args:
        settings: The global options.
        rows: Rows, or a pager, whose pages are written as they come.
        key_columns: The fields that a terminal shows if it is too narrow for all.

    `json`, `jsonl` and `csv` contain the service's own values, `parquet` and `xlsx` typed ones. A
    file appears under its name only when it is complete.
    """
    check_out(settings)
    if isinstance(rows, list):
        rows = PlainRows(rows)
    with _destination(settings) as file:
        options: dict[str, dict[str, Any]] = {
            "table": {"key_columns": key_columns, "stdout": settings.out is None},
            "xlsx": {"zone": settings.zone},
        }
        form = settings.data_format
        writer: Writer = FORMATS[form].open(file, Fields(settings.columns), **options.get(form, {}))
        with closing(writer):
            with progress_bar(settings, rows) as progress:
                for page in chosen_pages(settings, rows):
                    writer.write(page)
                    file.flush()
                    progress.add(len(page))
            writer.end()
        file.flush()
    show_range(rows)
    if settings.out is not None:
        note(f"wrote {counted(progress.done, 'row')} to {settings.out}")


def emit_row(settings: Settings, row: dict[str, Any], **shown: str) -> None:
    """Write the members of one object: data with `--format` or `--out`, otherwise a line for each
    member, where `shown` has the texts of some members for people."""
    if settings.format is not None or settings.out is not None:
        emit(settings, [row])
        return
    row = {**row, **shown}
    for name, value in row.items():
        text = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
        text = " ".join(text) if isinstance(text, list) else text
        if text is not None:
            click.echo(f"{name:<18}{escaped(str(text))}")


def warn_of_table(settings: Settings, name: str) -> None:
    """Say that a table is not data if it goes to a file, even with `--quiet`."""
    to_file = stat.S_ISREG(os.fstat(1).st_mode)
    if to_file and settings.out is None and settings.format is None:
        text = f"this is a table for reading; for data add --format csv, or write --out {name}.csv"
        note(text, "error")


def show_range(rows: Any) -> None:
    """Say which range of time a pager has read, if it is one of a range."""
    if (span := getattr(rows, "range", None)) is not None:
        start, end = (time.isoformat().replace("+00:00", "Z") for time in span)
        note(f"time range: {start} to {end}")


def emit_bytes(settings: Settings, data: bytes) -> None:
    """Write bytes unchanged to `--out`."""
    check_destination(settings)
    with _destination(settings) as file:
        file.write(data)
        file.flush()


def check_out(settings: Settings) -> None:
    """Reject an impossible format, columns or destination before a request is sent."""
    Fields(settings.columns)
    check_choice(settings)
    form = settings.data_format
    if FORMATS[form].is_binary and settings.out is None:
        raise click.UsageError(f"--format {form} writes binary data: add --out FILE")
    check_destination(settings)


def check_destination(settings: Settings, reads: Sequence[Path] = ()) -> None:
    """Reject a destination that cannot be written, or that the command itself reads."""
    out = settings.out
    if out is None:
        return
    if out.is_file() and not settings.force:
        raise click.UsageError(
            f"{out} already exists: choose another --out, or add --force to replace it"
        )
    check_replaceable("--out", out)
    if any(same_file(out, file) for file in (*settings.inputs, *reads)):
        raise click.UsageError(
            f"--out {out} is a file that the command itself reads: choose another --out"
        )


def check_replaceable(option: str, path: Path) -> None:
    """Reject a file that cannot be created or replaced, or a device that cannot be written."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        folder = real.parent if path.is_symlink() else path.parent
        raise click.UsageError(f"{option} {path}: the folder {folder} does not exist")
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
    """The stream that the data goes to."""
    out = settings.out
    with naming(out or "stdout"):
        if out is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
        elif out.exists() and not out.is_file():
            # A device or a pipe: written to, never replaced.
            with out.open("wb") as file:
                yield file
        else:
            settings.resume_hint = (
                f"{out} was not written: run the command again. {settings.resume_hint}"
            )
            with replacing(Path(os.path.realpath(out)), settings.force, PART) as file:
                yield file
    settings.resume_hint = ""


@contextmanager
def naming(destination: Path | str) -> Iterator[None]:
    """Make an error of the operating system name the destination as the user did.

    A failed write names no file, and a failed open may name the temporary one.
    """
    try:
        yield
    except OSError as error:
        name = error.filename
        if error.errno is not None and (name is None or str(name).endswith(PART)):
            error.filename = str(destination)
        raise


def progress_bar(settings: Settings, source: Any, rows: int = 0) -> Bar:
    """A bar on stderr while pages arrive, if it is a terminal and no rows are shown.

    Args:
        settings: The global options.
        source: A pager, for which there is a bar, or rows.
        rows: The number of rows that have arrived before.
    """
    rows_hidden = settings.out is not None or not sys.stdout.isatty()
    hidden = settings.quiet or settings.log_format == "json"
    shown = rows_hidden and isinstance(source, Pager) and sys.stderr.isatty() and not hidden
    total = (lambda: source.total) if shown else None
    return Bar("fetched", "rows", total, leave=False, done=rows, shown=shown)
