"""The command group: which commands there are, and how errors end them."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click

from boardlot.cli import endpoints
from boardlot.cli.settings import (
    DataCommand,
    Settings,
    coloured,
    global_options,
    write_examples,
)
from boardlot.errors import AuthenticationError, BoardlotError, ConfigError, StoreError
from boardlot.results.cell_format import escaped

__all__ = ["app", "run"]

# The module of each command in this package, with its line in the list of commands: the modules
# are loaded only when they are called. What asks the service stands in `endpoints`.
COMMANDS = {
    "demo": ("demo", "See all of it without an account, against the sandbox."),
    "login": ("login", "Log in with the browser and keep the tokens."),
    "logout": ("logout", "Forget the tokens."),
    "status": ("status", "Show the login and the clock offset."),
    "doctor": ("doctor", "Find out what works, what fails, and what to do."),
    "keygen": ("keygen", "Make a key pair for signed requests."),
    "sandbox": ("sandbox", "Serve the whole service on this machine, with made-up data."),
    "request": ("request", "Send any request, and print the answer as it came."),
    "completion": ("completion", "Print the script that lets a shell complete commands."),
}

EXAMPLES = [
    "boardlot demo",
    "boardlot --base-url https://api.example.com --profile live login",
    "boardlot --profile live ipos hk",
    "boardlot --profile live fills 281756 HK --out fills.csv",
]

# What a shell tells of a command that was ended by a signal: 128 and the signal's number.
INTERRUPTED, TERMINATED = 130, 143
LINE_FEED = "\n"


class _Commands(click.Group):
    """A group that loads a command's module when it is called, and not for its help line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *endpoints.ENDPOINTS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in endpoints.ENDPOINTS:
            return endpoints.command(name)
        if name not in COMMANDS:
            return None
        command = import_module(f"boardlot.cli.{COMMANDS[name][0]}").command
        assert isinstance(command, click.Command)
        if not isinstance(command, DataCommand):
            _accept_global_options(command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Here, before click takes it for an error of its own.
            out = ctx.ensure_object(Settings).out
            if out is not None:
                raise OSError(f"{out}: its reader went away before the end") from None
            # Who read stdout has enough, as `head` does: that is no error.
            raise click.exceptions.Exit(0) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, line) for name, (_, line) in COMMANDS.items()]
        data = [(name, endpoints.summary(name)) for name in endpoints.ENDPOINTS]
        for title, lines in (("Commands", own), ("Data", data)):
            with formatter.section(title):
                formatter.write_dl(lines)
        write_examples(formatter, EXAMPLES)


def _accept_global_options(command: click.Command) -> None:
    """Let them stand after the command too, where it has nothing of that name itself."""
    taken = {name for parameter in command.params for name in (parameter.name, *parameter.opts)}
    for option in global_options(hidden=True):
        if taken.isdisjoint((option.name, *option.opts)):
            command.params.append(option)


@click.command(
    cls=_Commands,
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="boardlot")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Market data and trading from the command line.

    The options below stand before a command or after it. Data go to stdout and everything else to
    stderr; the exit status is 0, 1 where the service or the network said no, or 2 for wrong usage.
    """
    ctx.ensure_object(Settings)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; see `boardlot.cli.main`."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is escaped, where it would end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    settings = Settings(typed=sys.argv[1:] if arguments is None else arguments)
    try:
        with _terminated_politely(), warnings.catch_warnings():
            warnings.showwarning = _warn
            status = app.main(arguments, prog_name="boardlot", standalone_mode=False, obj=settings)
    except (Exception, KeyboardInterrupt, _Terminated) as error:
        status = _told(error, settings)
    _empty_stdout()
    return status if isinstance(status, int) else 0


def _open_streams() -> None:
    """Stand in for streams that were closed before: data cannot be written, words are not heard."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _told(error: BaseException, settings: Settings) -> int:
    """Tell on stderr what went wrong and what to do; gives the exit status."""
    if isinstance(error, _Terminated):
        _say("terminated", "", settings)
        return TERMINATED
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        _say("interrupted", "", settings)
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        click.echo(escaped(shown.getvalue(), f"{LINE_FEED}\t"), err=True, nl=False)
        return error.exit_code
    if isinstance(error, BoardlotError):
        hint = error.hint
        if isinstance(error, AuthenticationError) and not settings.has_credentials:
            hint = "No credentials were given: add --profile NAME, or --key-id and --key-file."
        if isinstance(error, StoreError) and "the keychain cannot be used" in str(error):
            hint = "Unlock it, or add --store FILE: tokens then lie in that encrypted file."
        if not (error.retryable or error.checkpoint):
            settings.go_on = ""
        _say(str(error), hint, settings)
        return 2 if isinstance(error, ConfigError) else 1
    if isinstance(error, (ImportError, OSError)):
        reason = getattr(error, "strerror", None)
        place = getattr(error, "filename", None)
        said = f"{place}: {reason}" if reason and place else str(error)
        _say(said, "", settings)
        return 1
    raise error


def _say(what: str, hint: str, settings: Settings) -> None:
    click.echo(f"{_name('red')} {escaped(what)}", err=True)
    for line in filter(None, (hint, settings.go_on)):
        click.echo(f"hint: {escaped(line.strip(), LINE_FEED)}", err=True)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"{_name('yellow')} warning: {escaped(str(message))}", err=True)


def _name(colour: str) -> str:
    return click.style("boardlot:", fg=colour, bold=True) if coloured() else "boardlot:"


class _Terminated(BaseException):
    """The process was asked to end."""


@contextmanager
def _terminated_politely() -> Iterator[None]:
    """Let a polite kill clean up as Ctrl-C does; signals reach the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _empty_stdout() -> None:
    """Leave nothing in stdout that would fail once more, and louder, when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
