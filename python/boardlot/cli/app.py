"""The command group: which commands there are, and how one is run."""

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
from boardlot.cli.click_classes import CommandGroup, accept_global_options, write_examples
from boardlot.cli.error_report import Terminated, report_error, report_warning
from boardlot.cli.options import global_options
from boardlot.cli.settings import Settings

__all__ = ["app", "run"]

# The module of each command in this package, with its line in the list of commands: a module is
# loaded only when its command is called. The commands of the service's endpoints are in
# `boardlot.cli.endpoints`.
COMMANDS = {
    "demo": ("demo", "Show everything without an account, on the sandbox."),
    "login": ("login", "Log in with the browser and store the tokens."),
    "logout": ("logout", "Delete the tokens of a login."),
    "profile": ("profile", "List, show, add, choose and remove profiles."),
    "status": ("status", "Show the login and the clock offset."),
    "doctor": ("doctor", "Check each stage of a request, and say what to do."),
    "keygen": ("keygen", "Create a key pair for signed requests."),
    "sandbox": ("sandbox", "Serve the whole service on this machine, with invented data."),
    "archive": ("archive", "Keep what the service forgets, and read it again."),
    "open": ("open", "Open the docs or another page of the project in the browser."),
    "mcp": ("mcp", "Serve read-only tools to language models."),
    "call": ("call", "Call a custom endpoint, from a TOML file."),
    "request": ("request", "Send any request, and print the response unchanged."),
    "completion": ("completion", "Print the completion script of a shell."),
}

EXAMPLES = [
    "boardlot demo",
    "boardlot --base-url https://api.example.com --profile live login",
    "boardlot --profile live ipos hk",
    "boardlot --profile live fills 281756 HK --out fills.csv",
]


class _Commands(CommandGroup):
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
        return accept_global_options(command)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Here, before click handles it as an error of its own.
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
@click.version_option(package_name="boardlot")
@click.pass_context
def app(ctx: click.Context) -> None:
    """The account records and reference data of a broker, from the command line.

    The options below may come before or after a command. Data goes to stdout, everything else to
    stderr. The exit status is 0, 1 if the service or the network failed, or 2 for wrong usage.
    """
    ctx.ensure_object(Settings)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; see `boardlot.cli.main`."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks are escaped: they would end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    settings = Settings(typed=sys.argv[1:] if arguments is None else arguments)
    try:
        with _sigterm_raises(), warnings.catch_warnings():
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
def _sigterm_raises() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C; signals reach the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _flush_stdout() -> None:
    """Leave nothing in stdout's buffer, which would fail again when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
