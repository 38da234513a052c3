"""`--resume`: a download that resumes after a crash, with no row lost or written twice.

Two files belong together: `OUT.boardlot-part` contains the rows written so far, and the checkpoint
file records the position of the iteration and the length of the part at that position. The part is
on disk before the checkpoint file is replaced, and is truncated to the recorded length before the
download resumes. So the process may be interrupted at any moment, even by kill -9.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, BinaryIO

import click

from boardlot._core import _FileLock, _remove_file as remove, _replace_file as replace_file
from boardlot._support.tables.cell_format import counted
from boardlot.cli.files import same_file
from boardlot.cli.output.emit import (
    PART,
    check_out,
    check_replaceable,
    naming,
    progress_bar,
    show_range,
)
from boardlot.cli.output.fields import Fields
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import FORMATS, RESUMABLE_FORMATS, Settings
from boardlot.errors import ConfigError

# Compared besides the arguments of the method, which may be typed in other words.
OPTIONS = ["--base-url", "--out", "--format", "--columns"]
RESUME_HINT = "Run the same command again to resume after row {:,}."


@dataclass
class State:
    """The content of the checkpoint file."""

    # The arguments as typed, with the options about the service and the output.
    arguments: dict[str, str]
    checkpoint: str
    columns: list[str] | None = None
    rows: int = 0
    length: int = 0
    done: bool = False

    @classmethod
    def load(cls, file: Path) -> State | None:
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            return None
        body, _, digest = text.rstrip(b"\n").rpartition(b"\n")
        # A file that was cut or edited is not trusted.
        if digest != _digest(body):
            raise click.UsageError(
                f"--resume {file} was not written by `boardlot fills --resume`, or was changed: "
                "use another file, or delete it"
            )
        return cls(**json.loads(body))

    def save(self, file: Path) -> None:
        file = Path(os.path.realpath(file))
        part = _temporary(file)
        remove(part)
        with naming(file):
            body = json.dumps(asdict(self), indent=1).encode()
            with part.open("xb") as text:
                text.write(body + b"\n" + _digest(body) + b"\n")
            replace_file(part, file)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _temporary(file: Path) -> Path:
    return file.with_name(f".{file.name}{PART}")


def run_resumable(
    settings: Settings,
    file: Path,
    method: str,
    arguments: dict[str, Any],
    typed: dict[str, str],
) -> None:
    """Write all rows of a pager method to `--out`, from the position in the checkpoint file.

    `typed` has the arguments as typed, for messages about a file of other arguments.
    """
    out = _checked(settings, file)
    with settings.client() as client:
        call = getattr(client, method)
        # The first call has no checkpoint, so that invalid arguments are not blamed on one.
        checkpoint = call(**arguments).checkpoint()
        options = (client.base_url, out.name, settings.data_format, settings.columns or "all")
        typed |= dict(zip(OPTIONS, options, strict=True))
        initial = State(typed, checkpoint)
        state = _matching(State.load(file), initial, file)
        if not state.done:
            check_out(settings)
        try:
            pager = call(**arguments, resume=state.checkpoint)
        except ConfigError as error:
            other = _other_arguments(file, state.arguments, initial.arguments)
            raise other or error from None
        if state.done and not _part_of(out).exists():
            _finish(settings, state, file, out)
            _say_until_when(settings, pager)
            return
        # The whole block is covered: closing a part whose rows could not be written fails as well.
        with naming(out), _exclusive(file, out) as part:
            # Read again, as another process may have written the file in the meantime.
            state = _matching(State.load(file), initial, file)
            if not state.done:
                check_out(settings)
                pager = call(**arguments, resume=state.checkpoint)
                _write(settings, state, file, pager, part)
            # Windows does not replace an open file.
            part.close()
            _finish(settings, state, file, out)


def _checked(settings: Settings, file: Path) -> Path:
    out = settings.out
    if out is None:
        raise click.UsageError("--resume needs --out FILE: piped output cannot be resumed")
    if settings.chooses_rows:
        raise click.UsageError(
            "--resume records a position in all rows: leave out --where, --sort and --limit"
        )
    if settings.data_format not in RESUMABLE_FORMATS:
        extensions = " or ".join(FORMATS[name].extension for name in RESUMABLE_FORMATS)
        raise click.UsageError(
            f"--resume works with {' and '.join(RESUMABLE_FORMATS)}, not {settings.data_format}: "
            f"add --format, or use the extension {extensions}"
        )
    for option, path in (("--out", out), ("--resume", file)):
        if path.exists() and not path.is_file():
            raise click.UsageError(f"--resume needs a regular file for {option}: {path} is not one")
        check_replaceable(option, path)
    output, state = Path(os.path.realpath(out)), Path(os.path.realpath(file))
    # All these files are written or replaced: no two may be the same.
    for written in (output, _part_of(output)):
        if same_file(written, state) or written == _temporary(state):
            raise click.UsageError(
                f"--out {out} and --resume {file} would write to the same file: "
                f"use another file for --resume, such as {out}.checkpoint"
            )
    return output


def _other_arguments(
    file: Path, before: dict[str, str], now: dict[str, str]
) -> click.UsageError | None:
    """The error for arguments that differ from the earlier ones; `None` if none differ."""
    differences = [
        f"{name} is {now.get(name, 'not given')} but was {before.get(name, 'not given')}"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]
    text = f"--resume {file} belongs to other arguments: {'; '.join(differences)}. Pass the "
    return click.UsageError(f"{text}earlier ones, or use another file") if differences else None


def _matching(state: State | None, initial: State, file: Path) -> State:
    """The state in the file, or the initial one; two downloads are never mixed."""
    if state is None:
        return initial
    before, now = state.arguments, initial.arguments
    other = _other_arguments(file, before, now)
    if other is not None and any(before.get(name) != now[name] for name in OPTIONS):
        raise other
    return state


def _write(settings: Settings, state: State, file: Path, pager: Any, part: BinaryIO) -> None:
    size = part.seek(0, os.SEEK_END)
    if size < state.length:
        raise click.UsageError(
            f"{settings.out}.boardlot-part has {size:,} bytes, fewer than the {state.length:,} "
            f"that --resume {file} records: delete both to start again"
        )
    part.truncate(state.length)
    part.seek(state.length)
    # From here on the time range is fixed.
    state.save(file)
    settings.resume_hint = RESUME_HINT.format(state.rows)
    fields = Fields(settings.columns, state.columns)
    writer = FORMATS[settings.data_format].open(part, fields)
    with progress_bar(settings, pager, state.rows) as progress:
        for page in pager._row_pages():
            writer.write(page)
            progress.add(len(page))
            _record(state, file, part, pager, fields, progress.done)
            settings.resume_hint = RESUME_HINT.format(state.rows)
    show_range(pager)
    state.done = True
    _record(state, file, part, pager, fields, progress.done)


def _record(
    state: State, file: Path, part: BinaryIO, pager: Any, fields: Fields, rows: int
) -> None:
    """Write the rows to disk first, then the position after them."""
    part.flush()
    os.fsync(part.fileno())
    state.rows, state.length = rows, part.tell()
    state.columns, state.checkpoint = fields.names, pager.checkpoint()
    state.save(file)


def _finish(settings: Settings, state: State, file: Path, out: Path) -> None:
    part = _part_of(out)
    if part.exists() and out.exists() and part.samefile(out):
        # An earlier run ended while the file had both names.
        remove(part)
    if part.exists() and part.stat().st_size == state.length:
        replace_file(part, out, settings.force)
        note(f"wrote {counted(state.rows, 'row')} to {settings.out}")
    elif out.exists() and out.stat().st_size == state.length:
        remove(part)
        note(f"{settings.out} is complete: {counted(state.rows, 'row')}; nothing to do")
    else:
        raise click.UsageError(
            f"{settings.out} is not the file that --resume {file} records: "
            f"delete {file} to start again"
        )
    settings.resume_hint = ""


def _say_until_when(settings: Settings, pager: Any) -> None:
    """Say where a complete download ends: even with `--quiet` if that was more than an hour ago."""
    if pager.range is None:
        return
    _, end = pager.range
    is_old = datetime.now(timezone.utc) - end > timedelta(hours=1)
    text = (
        f"{settings.out} ends at {end:%Y-%m-%d %H:%M} UTC: it has no later rows. For later rows, "
    )
    text += "use another --out and --resume, or `boardlot archive update` every night"
    note(text, "error" if is_old else "info")


def _part_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.boardlot-part")


@contextmanager
def _exclusive(file: Path, out: Path) -> Iterator[BinaryIO]:
    """The part of the output, opened; it and the checkpoint file are locked for this process."""
    with ExitStack() as stack:
        for path, name in (
            (Path(os.path.realpath(file)), f"--resume {file}"),
            (out, f"--out {out}"),
        ):
            try:
                lock = _FileLock(path.with_name(f".{path.name}.lock"))
            except BlockingIOError:
                raise click.UsageError(f"another process is writing {name}") from None
            stack.callback(lock.release)
        yield stack.enter_context(open(_part_of(out), "r+b", opener=_opened))


def _opened(path: str, _: int) -> int:
    """Open the file, created if it does not exist; a link is not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)
