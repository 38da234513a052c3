"""The command group: the list of commands, how a command is run, and how an error ends it."""

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

from boardlot._core import __version__
from boardlot._support.messages import hints
from boardlot._support.tables.cell_format import escaped
from boardlot.cli.click_classes import CommandGroup, write_examples
from boardlot.cli.commands import endpoints
from boardlot.cli.options import global_options
from boardlot.cli.output.terminal import colored, note, write
from boardlot.cli.settings import Settings
from boardlot.cli.statuses import (
    FAILED,
    INTERRUPTED,
    RETRYABLE,
    TERMINATED,
    members_of,
    status_of,
)
from boardlot.errors import (
    ApiError,
    AuthenticationError,
    BoardlotError,
)

# The module of each command in `boardlot.cli.commands`, where it has its own name, and its line in
# the list of commands: a module is loaded only when its command is called. The commands of the
# service's endpoints are in `boardlot.cli.commands.endpoints`.
COMMANDS = {
    "demo": ("demo", "Show everything without an account, on the sandbox."),
    "login": ("login", "Log in with the browser and store the tokens."),
    "logout": ("login", "Delete the tokens of a login."),
    "profile": ("profile", "List, show, add, choose and remove profiles."),
    "status": ("login", "Show the login and the clock offset."),
    "doctor": ("doctor", "Check each stage of a request, and say what to do."),
    "keygen": ("keygen", "Create a key pair for signed requests."),
    "public-key": ("keygen", "Print the public key of a private key."),
    "sandbox": ("sandbox", "Serve the whole service on this machine, with invented data."),
    "archive": ("archive", "Keep data that the service forgets, and read it later."),
    "open": ("open", "Open the docs in the browser."),
    "openapi": ("openapi", "Print the service as an OpenAPI description."),
    "mcp": ("mcp", "Serve read-only tools to language models."),
    "call": ("request", "Call a custom endpoint, from a TOML file."),
    "request": ("request", "Send any request, and print the response unchanged."),
    "completion": ("completion", "Print the completion script of a shell."),
}

EXAMPLES = [
    "boardlot demo",
    "boardlot --base-url https://api.example.com --profile live login",
    "boardlot --profile live ipos hk",
    "boardlot --profile live fills 281756 HK --out fills.csv",
]


class Terminated(SystemExit):
    """The process received SIGTERM, or its terminal was closed."""


class _Commands(CommandGroup):
    """A group that loads a command's module when it is called, and not for its help line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *endpoints.ENDPOINTS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in endpoints.ENDPOINTS:
            return endpoints.command(name)
        if name not in COMMANDS:
            return None
        module = import_module(f"boardlot.cli.commands.{COMMANDS[name][0]}")
        command = getattr(module, name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Handled here, before click handles the error in its own way.
            out = ctx.ensure_object(Settings).out
            if out is not None:
                raise OSError(f"{out}: the reader closed it before the end") from None
            # The reader of stdout closed it, as `head` does: not an error.
            raise click.exceptions.Exit(0) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        write_examples(formatter, EXAMPLES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, line) for name, (_, line) in COMMANDS.items()]
        data = [(name, endpoint.summary) for name, endpoint in endpoints.ENDPOINTS.items()]
        for title, lines in (("Commands", own), ("Data", data)):
            with formatter.section(title):
                formatter.write_dl(lines)


@click.command(
    cls=_Commands,
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
# Without the metadata of the package, which a frozen application lacks.
@click.version_option(__version__)
@click.pass_context
def app(ctx: click.Context) -> None:
    """The account records and reference data of a broker, from the command line.

    The options below may come before or after a command. Data goes to stdout, everything else to
    stderr. The exit status is 0; 1 if the same command may succeed later, such as after an outage;
    2 for wrong usage; or 3 for any other error, for which a person must act.
    """
    ctx.ensure_object(Settings)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; see `boardlot.cli.main`."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks are escaped: they would end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    settings = Settings()
    warned: set[str] = set()

    def report_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        """`warnings.showwarning`, once for each text: a command may call a method several times."""
        text = str(message)
        if text not in warned:
            warned.add(text)
            note(text, "warning", f"{_name('yellow')} warning: {escaped(text)}")

    try:
        with _ends_raise(), warnings.catch_warnings():
            warnings.showwarning = report_warning
            status = app.main(arguments, prog_name="boardlot", standalone_mode=False, obj=settings)
    except (Exception, KeyboardInterrupt, Terminated) as error:
        status = report_error(error, settings)
    _flush_stdout()
    return status if isinstance(status, int) else 0


def _open_streams() -> None:
    """Replace streams that were closed at the start: stdout fails on writing, stderr discards."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


@contextmanager
def _ends_raise() -> Iterator[None]:
    """Clean up on SIGTERM and if the terminal is closed as on Ctrl-C; signals reach the main thread
    only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Terminated

    if sys.platform == "win32":
        closed = signal.SIGBREAK
    else:
        closed = signal.SIGHUP
    # `nohup` ignores the terminal's end.
    ends = [x for x in (signal.SIGTERM, closed) if signal.getsignal(x) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _flush_stdout() -> None:
    """Leave nothing in stdout's buffer, which would fail again when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


LINE_FEED = "\n"


def report_error(error: BaseException, settings: Settings) -> int:
    """Write to stderr what went wrong and what to do; returns the exit status."""
    if isinstance(error, Terminated):
        _write("terminated", "", settings, error)
        return TERMINATED
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        _write("interrupted", "", settings, error)
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        usage = io.StringIO()
        error.show(usage)
        text = escaped(usage.getvalue().removesuffix(LINE_FEED), f"{LINE_FEED}\t")
        write(settings, "error", error.format_message(), text, **members_of(error))
        # click's own status is 1 for all errors that are not about usage.
        return FAILED if error.exit_code == RETRYABLE else error.exit_code
    if isinstance(error, BoardlotError):
        # A rejected request is rejected again, unless the login was the reason.
        rejected = isinstance(error, ApiError) and not isinstance(error, AuthenticationError)
        if not error.retryable and (rejected or not error.checkpoint):
            settings.resume_hint = ""
        _write(str(error), _hint_of(error, settings), settings, error)
        return status_of(error)
    if isinstance(error, (ImportError, OSError)):
        reason = getattr(error, "strerror", None)
        path = getattr(error, "filename", None)
        _write(f"{path}: {reason}" if reason and path else str(error), "", settings, error)
        return FAILED
    raise error


def _hint_of(error: BoardlotError, settings: Settings) -> str:
    """The error's hint, or a hint that only the command line knows."""
    if isinstance(error, AuthenticationError) and not settings.has_credentials:
        return hints.NO_CREDENTIALS
    return error.hint


def _write(message: str, hint: str, settings: Settings, error: BaseException) -> None:
    advice = [line.strip() for line in (hint, settings.resume_hint) if line]
    lines = [f"hint: {escaped(line, LINE_FEED)}" for line in advice]
    text = LINE_FEED.join([f"{_name('red')} {escaped(message)}", *lines])
    members = {**members_of(error), "hint": LINE_FEED.join(advice)}
    write(settings, "error", message, text, **members)


def _name(color: str) -> str:
    return click.style("boardlot:", fg=color, bold=True) if colored() else "boardlot:"
