"""`--resume`: a download that goes on after a crash, with no row lost or written twice.

Two files belong together. Beside the output lies what is written so far, `OUT.boardlot-part`, and
the checkpoint file says where the iteration stands and how long that part was then. The part is
written and on disk before the checkpoint file is replaced, and whatever stands in it beyond that
length is cut off before going on. So both may be broken off anywhere, even by kill -9.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import click

from boardlot.cli.formats import WRITERS, Fields, counted
from boardlot.cli.output import (
    PART,
    Progress,
    check_out,
    check_replaceable,
    naming,
    put_in_place,
)
from boardlot.cli.paths import same_file
from boardlot.cli.resume_command import RESUMED_FORMATS, same_command
from boardlot.cli.settings import Settings
from boardlot.errors import ConfigError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["resumed"]

VERSION = 2


@dataclass
class State:
    """What the checkpoint file holds."""

    version: int
    base_url: str
    arguments: dict[str, str]
    format: str
    out: str
    checkpoint: str
    asked: str | None = None
    columns: list[str] | None = None
    rows: int = 0
    length: int = 0
    done: bool = False
    digest: str = ""

    @classmethod
    def load(cls, file: Path) -> State | None:
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            return None
        other = f"--resume {file} was not written by `boardlot fills --resume`"
        try:
            read = json.loads(text)
            if isinstance(read, dict) and read.get("version") not in (None, VERSION):
                other = f"--resume {file} was written by another version of boardlot"
            state = cls(**read)
            # What was cut, or changed by hand, is not believed.
            whole = state.version == VERSION and state.digest == state.computed_digest()
        except (ValueError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise click.UsageError(f"{other}, or was changed: name another file, or delete it")
        return state

    def save(self, file: Path) -> None:
        file = Path(os.path.realpath(file))
        beside = _beside(file)
        beside.unlink(missing_ok=True)
        self.digest = self.computed_digest()
        with naming(file):
            with beside.open("x", encoding="utf-8") as text:
                text.write(json.dumps(asdict(self), indent=1) + "\n")
            put_in_place(beside, file, force=True)

    def computed_digest(self) -> str:
        """What tells a file that was changed; it guards against accidents, not against forgery."""
        content = {**asdict(self), "digest": ""}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _beside(file: Path) -> Path:
    return file.with_name(f".{file.name}{PART}")


def resumed(
    settings: Settings,
    file: Path,
    method: str,
    arguments: dict[str, Any],
    typed: dict[str, str],
) -> None:
    """Write all rows of a pager method to `--out`, from where the checkpoint file says.

    `typed` is how the arguments were typed, for the one who asks what a file belongs to.
    """
    out = _checked(settings, file)
    with settings.client() as client:
        call = getattr(client, method)
        # Without a checkpoint first: what is wrong with the arguments is not its fault.
        checkpoint = call(**arguments).checkpoint()
        begun = State(
            VERSION,
            base_url=client.base_url,
            arguments=typed,
            format=settings.data_format,
            asked=settings.columns,
            out=out.name,
            checkpoint=checkpoint,
        )
        state = _compared(State.load(file), begun, file)
        if not state.done:
            check_out(settings)
        try:
            call(**arguments, resume=state.checkpoint)
        except ConfigError as error:
            raise _differing(file, state.arguments, typed) or error from None
        if state.done and not _part_of(out).exists():
            _finish(settings, state, file, out)
            return
        with _held(file, out) as part:
            # Once more: another process may have gone on until now.
            state = _compared(State.load(file), begun, file)
            if not state.done:
                check_out(settings)
                pager = call(**arguments, resume=state.checkpoint)
                with naming(out):
                    _write(settings, state, file, pager, part)
            if fcntl is None:
                part.close()
            _finish(settings, state, file, out)


def _checked(settings: Settings, file: Path) -> Path:
    out = settings.out
    if out is None:
        raise click.UsageError("--resume needs --out FILE: piped output cannot be resumed")
    if settings.data_format not in RESUMED_FORMATS:
        raise click.UsageError(
            f"--resume works with {' and '.join(RESUMED_FORMATS)}, not {settings.data_format}: "
            "add --format, or end --out with .csv or .jsonl"
        )
    for option, path in (("--out", out), ("--resume", file)):
        if path.exists() and not path.is_file():
            raise click.UsageError(f"--resume needs a regular file for {option}: {path} is not one")
        check_replaceable(option, path)
    whole, state = Path(os.path.realpath(out)), Path(os.path.realpath(file))
    # Each of these is written, replaced or cut: none may be one of the others.
    for written in (whole, _part_of(whole)):
        if same_file(written, state) or written == _beside(state):
            raise click.UsageError(
                f"--out {out} and --resume {file} would write to the same file: "
                f"name another file for --resume, such as {out}.checkpoint"
            )
    return whole


def _other(file: Path, what: str) -> click.UsageError:
    return click.UsageError(
        f"--resume {file} belongs to {what}: run that command again, or name another file"
    )


def _differing(file: Path, before: dict[str, str], now: dict[str, str]) -> click.UsageError | None:
    """What to say of arguments that were typed otherwise than before; nothing if none was."""
    differences = [
        f"{name} is {now.get(name, 'not given')} and was {before.get(name, 'not given')}"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]
    if not differences:
        return None
    return click.UsageError(
        f"--resume {file} belongs to other arguments: {'; '.join(differences)}. Give those, or "
        "name another file"
    )


def _compared(state: State | None, begun: State, file: Path) -> State:
    """What the file holds, or the beginning; two downloads are not mixed."""
    if state is None:
        return begun
    for option, was, wanted in (
        ("--base-url", state.base_url, begun.base_url),
        ("--out", state.out, begun.out),
        ("--format", state.format, begun.format),
        ("--columns", state.asked, begun.asked),
    ):
        if was != wanted:
            raise _other(file, f"{option} {was}" if was else f"a download without {option}")
    return state


def _write(settings: Settings, state: State, file: Path, pager: Any, part: BinaryIO) -> None:
    size = part.seek(0, os.SEEK_END)
    if size < state.length:
        raise click.UsageError(
            f"{state.out}.boardlot-part has {size:,} bytes and not the {state.length:,} that "
            f"--resume {file} tells of: delete both to begin anew"
        )
    part.truncate(state.length)
    part.seek(state.length)
    # The range of the rows is fixed from here on.
    state.save(file)
    settings.go_on = _way_on(settings, state)
    fields = Fields(settings.columns, state.columns)
    writer = WRITERS[state.format](part, fields)
    with Progress(settings, pager, state.rows) as progress:
        for page in pager.pages():
            writer.write(page)
            progress.add(len(page))
            _keep(state, file, part, pager, fields, progress.rows)
            settings.go_on = _way_on(settings, state)
    state.done = True
    _keep(state, file, part, pager, fields, progress.rows)


def _keep(state: State, file: Path, part: BinaryIO, pager: Any, fields: Fields, rows: int) -> None:
    """First the rows to disk, then how many of them count."""
    part.flush()
    os.fsync(part.fileno())
    state.rows, state.length = rows, part.tell()
    state.columns, state.checkpoint = fields.names, pager.checkpoint()
    state.save(file)


def _way_on(settings: Settings, state: State) -> str:
    again = same_command(settings)
    return f"Run the same command again: it goes on after row {state.rows:,}.\n  {again}"


def _finish(settings: Settings, state: State, file: Path, out: Path) -> None:
    part = _part_of(out)
    if part.exists() and part.stat().st_size == state.length:
        put_in_place(part, out, settings.force)
        click.echo(f"wrote {counted(state.rows)} to {settings.out}", err=True)
    elif out.exists() and out.stat().st_size == state.length:
        part.unlink(missing_ok=True)
        click.echo(f"{settings.out} is whole: {counted(state.rows)}; nothing to do", err=True)
    else:
        raise click.UsageError(
            f"{settings.out} is not the file that --resume {file} tells was written: "
            f"delete {file} to begin anew"
        )
    settings.go_on = ""


def _part_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.boardlot-part")


@contextmanager
def _held(file: Path, out: Path) -> Iterator[BinaryIO]:
    """The part of that output, opened for one process alone; it alone has the checkpoint file."""
    place = Path(os.path.realpath(file))
    lock = place.with_name(f".{place.name}.lock")
    with _locked(lock, f"--resume {file}"):
        try:
            with _locked(_part_of(out), f"--out {out}") as part:
                yield part
        finally:
            with suppress(OSError):  # Windows does not remove what is open.
                lock.unlink()


def _locked(path: Path, name: str) -> BinaryIO:
    """A file that no other process has opened in this way; made where there is none."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        file = os.fdopen(os.open(path, flags, 0o666), "r+b")
        if fcntl is None:  # Windows: there a file that is open cannot be replaced anyway.
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BlockingIOError:
            file.close()
            raise click.UsageError(f"another process is writing {name}") from None
        except FileNotFoundError:
            pass
        # The process that had the lock has just moved or removed the file.
        file.close()
