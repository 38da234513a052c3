"""How an error ends a command: its message and hint on stderr, and the exit status."""

from __future__ import annotations

import io
from typing import Any

import click

from boardlot import hints
from boardlot.cli.settings import Settings
from boardlot.cli.terminal import coloured
from boardlot.errors import AuthenticationError, BoardlotError, ConfigError, StoreError
from boardlot.results.cell_format import escaped

__all__ = ["Terminated", "report_error", "report_warning"]

# The exit status of a command that a signal ended, as shells report it: 128 and its number.
INTERRUPTED, TERMINATED = 130, 143
LINE_FEED = "\n"


class Terminated(SystemExit):
    """The process received SIGTERM. Event loops pass on this kind of exception from any task."""


def report_error(error: BaseException, settings: Settings) -> int:
    """Write to stderr what went wrong and what to do; returns the exit status."""
    if isinstance(error, Terminated):
        _write("terminated", "", settings)
        return TERMINATED
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        _write("interrupted", "", settings)
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        usage = io.StringIO()
        error.show(usage)
        click.echo(escaped(usage.getvalue(), f"{LINE_FEED}\t"), err=True, nl=False)
        return error.exit_code
    if isinstance(error, BoardlotError):
        if not (error.retryable or error.checkpoint):
            settings.resume_hint = ""
        _write(str(error), _hint_of(error, settings), settings)
        return 2 if isinstance(error, ConfigError) else 1
    if isinstance(error, (ImportError, OSError)):
        reason = getattr(error, "strerror", None)
        path = getattr(error, "filename", None)
        _write(f"{path}: {reason}" if reason and path else str(error), "", settings)
        return 1
    raise error


def report_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """`warnings.showwarning` of the command line."""
    click.echo(f"{_name('yellow')} warning: {escaped(str(message))}", err=True)


def _hint_of(error: BoardlotError, settings: Settings) -> str:
    """The error's hint, or that of what only the command line knows."""
    if isinstance(error, AuthenticationError) and not settings.has_credentials:
        return hints.NO_CREDENTIALS
    if isinstance(error, StoreError) and "the keychain cannot be used" in str(error):
        return hints.LOCKED_KEYCHAIN
    return error.hint


def _write(message: str, hint: str, settings: Settings) -> None:
    click.echo(f"{_name('red')} {escaped(message)}", err=True)
    for line in filter(None, (hint, settings.resume_hint)):
        click.echo(f"hint: {escaped(line.strip(), LINE_FEED)}", err=True)


def _name(colour: str) -> str:
    return click.style("boardlot:", fg=colour, bold=True) if coloured() else "boardlot:"
