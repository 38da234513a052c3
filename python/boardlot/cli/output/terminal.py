"""Text that may be sent to a terminal: colors, also for JSON, and the lines on stderr."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from boardlot._support.tables.cell_format import escaped
from boardlot.cli.settings import Settings

if TYPE_CHECKING:
    from logging import LogRecord

# A text, with the colon after it if it is a name; or a number or a word.
TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|\btrue\b|\bfalse\b|\bnull\b)')


def colored_json(text: str) -> str:
    """The text of a JSON document, with nothing but colors added."""
    return TOKEN.sub(_colored, text)


def _colored(found: re.Match[str]) -> str:
    text, colon, other = found.groups()
    if other is not None:
        return click.style(other, fg="yellow")
    return (
        click.style(text, fg="blue", bold=True) + colon if colon else click.style(text, fg="green")
    )


def colored() -> bool:
    """True if a terminal may be sent colors: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def note(message: str, level: str = "info", text: str | None = None) -> None:
    """Write a line about what the command does to stderr, where a person may read another text."""
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context else None
    write(settings or Settings(), level, message, text or message)


def write(settings: Settings, level: str, message: str, text: str, **members: Any) -> None:
    """Write to stderr: with `--log-format json` an object in a line, otherwise `text`.

    With `--quiet`, only errors are written.
    """
    if settings.quiet and level != "error":
        return
    if settings.log_format == "json":
        time = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        # A line about an error always has the four members that programs read.
        always = ("error", "code", "retryable", "hint") if members.get("error") else ()
        given = {
            name: value
            for name, value in members.items()
            if name in always or value not in (None, "")
        }
        text = json.dumps({"time": time, "level": level, "message": message, **given}, default=str)
    click.echo(text, err=True)


def logged_requests(settings: Settings) -> AbstractContextManager[None]:
    """Write boardlot's log to stderr, which has no secrets, queries or bodies."""

    def put(record: LogRecord, level: str, message: str) -> None:
        names = ("endpoint", "method", "host", "path", "status", "duration", "attempt")
        members = {name: getattr(record, name, None) for name in names}
        text = f"{record.name}: {message}"
        write(settings, level, message, escaped(text), logger=record.name, **members)

    return _handled("boardlot", put, debug=True)


def logged_outages(settings: Settings) -> AbstractContextManager[None]:
    """Write the log of followers to stderr."""

    def put(record: LogRecord, level: str, message: str) -> None:
        names = ("error", "code", "retryable", "hint")
        members = {name: getattr(record, name, None) for name in names}
        write(settings, level, message, f"boardlot: {escaped(message)}", **members)

    return _handled("boardlot.archive", put)


@contextmanager
def _handled(
    name: str, put: Callable[[LogRecord, str, str], None], *, debug: bool = False
) -> Iterator[None]:
    """Pass each record of a logger, with level and message, to `put` and to no other handler."""
    import logging

    class Handler(logging.Handler):
        def emit(self, record: LogRecord) -> None:
            put(record, record.levelname.lower(), record.getMessage())

    logger, handler = logging.getLogger(name), Handler()
    logger.addHandler(handler)
    before, logger.propagate = (logger.level, logger.propagate), False
    if debug:
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
