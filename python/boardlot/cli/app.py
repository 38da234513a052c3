"""The command group: which commands there are, what they share, and how errors end them."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from boardlot.errors import BoardlotError, ConfigError

__all__ = ["DataCommand", "Settings", "app", "global_options", "run"]

FORMATS = ["table", "json", "jsonl", "csv", "parquet"]

# The module of each command in this package, with its line in the list of commands: the modules
# are loaded only when they are called.
COMMANDS = {
    "demo": ("demo", "See all of it without an account, against the sandbox."),
    "login": ("login", "Log in with the browser and keep the tokens."),
    "logout": ("logout", "Forget the tokens."),
    "status": ("status", "Show the login and the clock offset."),
    "keygen": ("keygen", "Make a key pair for signed requests."),
    "sandbox": ("sandbox", "Serve the whole service on this machine, with made-up data."),
}


@dataclass
class Settings:
    """The global options; a command gets them by `@click.pass_obj`."""

    profile: str | None = None
    base_url: str | None = None
    format: str = "table"
    out: Path | None = None

    def client(self) -> Any:
        """A `boardlot.Client` of the profile and the base URL that were asked for."""
        import boardlot

        return boardlot.Client(self.base_url, profile=self.profile)


class _Commands(click.Group):
    """A group that loads a command's module when it is called, and not for its help line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"boardlot.cli.{COMMANDS[name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def global_options() -> list[click.Option]:
    """The options that stand before a command, and after it where it is a `DataCommand`.

    They write into the `Settings` of the context, so that the later one wins.
    """

    def keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
        if value is not None and option.name is not None:
            setattr(ctx.ensure_object(Settings), option.name, value)

    def option(name: str, metavar: str, text: str, kind: Any = None) -> click.Option:
        return click.Option(
            [name], metavar=metavar, help=text, type=kind, callback=keep, expose_value=False
        )

    formats = "|".join(FORMATS)
    return [
        option("--profile", "NAME", "Profile of the configuration file."),
        option("--base-url", "URL", "Base URL of the service."),
        option("--format", f"[{formats}]", "How data are written.", click.Choice(FORMATS)),
        option(
            "--out",
            "FILE",
            "Write data to this file and not to stdout.",
            click.Path(dir_okay=False, path_type=Path),
        ),
    ]


class DataCommand(click.Command):
    """A command that writes records: it takes the global options too, for convenience.

    Use it as `@click.command("ipos", cls=DataCommand)` with `boardlot.cli.output.emit`.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params.extend(global_options())


@click.command(
    cls=_Commands,
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="boardlot")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Market data and trading from the command line."""
    ctx.ensure_object(Settings)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; see `boardlot.cli.main`."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is escaped, where it would end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app.main(arguments, prog_name="boardlot", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        click.echo("boardlot: interrupted", err=True)
        return 130
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except BoardlotError as error:
        click.echo(f"boardlot: {error}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        return 2 if isinstance(error, ConfigError) else 1
    except (ImportError, OSError) as error:
        click.echo(f"boardlot: {error}", err=True)
        return 1
    return status if isinstance(status, int) else 0
