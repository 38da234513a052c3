"""The global options: which service, as whom, and where the data go in which format."""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from boardlot.cli.paths import UserPath
from boardlot.cli.stores import last_client_id, open_store

__all__ = [
    "FORMATS",
    "Argument",
    "Command",
    "DataCommand",
    "Login",
    "Settings",
    "coloured",
    "global_options",
    "store_option",
    "write_examples",
]

FORMATS = ["table", "json", "jsonl", "csv", "parquet"]
# The format that the ending of a file tells.
ENDINGS = {".txt": "table", **{f".{name}": name for name in FORMATS[1:]}}
STDOUT = Path("-")


class Login(NamedTuple):
    """A `boardlot.OAuth`, the store of its tokens, and where that is, in words."""

    oauth: Any
    store: Any
    place: str


@dataclass
class Settings:
    """The global options; a command gets them by `@click.pass_obj`."""

    profile: str | None = None
    base_url: str | None = None
    key_id: str | None = None
    key_file: Path | None = None
    client_id: str | None = None
    store_file: Path | None = None
    header: tuple[str, ...] = ()
    proxy: str | None = None
    ca_file: Path | None = None
    format: str | None = None
    out: Path | None = None
    force: bool = False
    columns: str | None = None

    # What was typed behind the program's name.
    typed: Sequence[str] = ()
    # How to go on where the command is broken off: kept up to date while data are written.
    go_on: str = ""

    @property
    def data_format(self) -> str:
        """`--format`; without it what the ending of `--out` says; else a table.

        Raises:
            click.UsageError: The ending says nothing.
        """
        if self.format is not None:
            return self.format
        ending = self.out.suffix.lower() if self.out is not None else ""
        if ending and ending not in ENDINGS:
            raise click.UsageError(
                f"--out {self.out} tells no format by its ending: add --format, or end it with "
                f"one of {', '.join(ENDINGS)}"
            )
        return ENDINGS.get(ending, "table")

    @property
    def has_credentials(self) -> bool:
        return any((self.profile, self.key_id, self.client_id))

    @property
    def service(self) -> str:
        """The base URL that was given, or that of the profile."""
        self.check_service()
        return str(self.base_url or self.named["base_url"])

    @property
    def named(self) -> dict[str, Any]:
        """The profile as `config.toml` has it; nothing where none was given."""
        from boardlot import _core

        return {} if self.profile is None else _core._profile(self.profile)

    @property
    def inputs(self) -> list[Path]:
        """The files that the command reads: data must not go there."""
        from boardlot import _core

        files = [self.key_file, self.store_file, self.ca_file]
        files += [self.named.get(name) for name in ("private_key", "store")]
        return [_core._config_file(), *filter(None, files)]

    @property
    def connection(self) -> dict[str, Any]:
        """How requests travel, as arguments of `boardlot.Client`."""
        headers = dict(map(_header, self.header))
        return {"headers": headers, "proxy": self.proxy, "ca_file": self.ca_file}

    def login_of(self, client_id: str | None) -> Login | None:
        """The login that is meant: that of the id, else of `--client-id`, else of the profile.

        Without these it is the last one at the service in `--store`, else in the keychain; with
        a key or its profile it is none.

        Raises:
            LoginRequired: There is none in the store.
            StoreError: The store cannot be read.
        """
        import boardlot

        named = self.named
        client_id = client_id or self.client_id or named.get("client_id")
        is_named = client_id is not None and client_id == named.get("client_id")
        file = self.store_file or (named["store"] if is_named else None)
        if client_id is None and file is None and self.has_credentials:
            return None
        store, place = open_store(file), str(file or "the keychain")
        client_id = client_id or last_client_id(store, self.service)
        if client_id is None:
            raise boardlot.LoginRequired(
                f"no such login: {place} holds none at {self.service}",
                hint="Log in, or say where the login's tokens lie: --store FILE.",
            )
        oauth = boardlot.OAuth(client_id, store=store, base_url=self.service)
        return Login(oauth, store, place)

    def client(self) -> Any:
        """A `boardlot.Client` of the service and the credentials that were asked for."""
        import boardlot

        self.check()
        auth = self.auth()
        return boardlot.Client(self.base_url, profile=self.profile, auth=auth, **self.connection)

    def check_service(self) -> None:
        """Refuse options that do not say which service."""
        if self.base_url is None and self.profile is None:
            raise click.UsageError(
                "which service? Add --base-url URL, or --profile NAME of a login that was kept"
            )

    def check(self) -> None:
        """Refuse options that do not say which service, or not as whom."""
        self.check_service()
        given = [
            name
            for name, value in (
                ("--profile", self.profile),
                ("--key-id", self.key_id),
                ("--client-id", self.client_id),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)} say twice who you are: leave one out")
        if (self.key_id is None) != (self.key_file is None):
            raise click.UsageError("a key needs both --key-id ID and --key-file FILE")
        if self.store_file is not None and self.client_id is None:
            raise click.UsageError("--store FILE needs --client-id ID, which `boardlot login` told")

    def auth(self) -> Any:
        """The credentials of the options; `None` where there are none but the profile's."""
        import boardlot

        if self.key_id is not None and self.key_file is not None:
            return boardlot.ApiKey(self.key_id, self.key_file, password=_password(self.key_file))
        if self.client_id is None:
            return None
        store = open_store(self.store_file)
        return boardlot.OAuth(self.client_id, store=store, base_url=self.service)


def _password(key_file: Path) -> str | None:
    """The password of an encrypted key, asked for at the terminal; `None` for any other file."""
    if key_file.is_file() and b"ENCRYPTED" in key_file.read_bytes():
        return getpass.getpass(f"password of {key_file}: ")
    return None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"--header {text!r} is not written 'Name: value'")
    return name.strip(), value.strip()


def global_options(*, hidden: bool = False) -> list[click.Option]:
    """The options that stand before any command, and after it too.

    They write into the `Settings` of the context, so that the later one wins.
    """

    def keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
        if value == "" or (isinstance(value, tuple) and "" in value):
            # As from a variable that is not set: leaving the option out is something else.
            raise click.BadParameter("it is empty; give a value, or leave the option out")
        if value and option.name is not None:
            kept = None if value == STDOUT and option.name == "out" else value
            setattr(ctx.ensure_object(Settings), option.name, kept)

    def option(*names: str, help: str, **more: Any) -> click.Option:
        return click.Option(
            names, help=help, callback=keep, expose_value=False, hidden=hidden, **more
        )

    file = UserPath()
    return [
        option("--profile", metavar="NAME", help="Service and credentials by a name."),
        option("--base-url", metavar="URL", help="Base URL of the service."),
        option("--key-id", metavar="ID", help="Sign with the key of this id, and --key-file."),
        option("--key-file", metavar="FILE", type=file, help="The private key."),
        option("--client-id", metavar="ID", help="Use the login of this id."),
        option(
            "--store",
            "store_file",
            metavar="FILE",
            type=file,
            help="Encrypted file of the login's tokens; else the keychain.",
        ),
        option("--header", metavar="'NAME: VALUE'", multiple=True, help="Send this header too."),
        option("--proxy", metavar="URL", help="Use this proxy; those of the environment are not."),
        option("--ca-file", metavar="FILE", type=file, help="Trust these certificates (PEM) too."),
        option(
            "--format",
            type=click.Choice(FORMATS),
            metavar="FORMAT",
            help=f"{', '.join(FORMATS)}; else as --out ends, else table.",
        ),
        option(
            "--out",
            metavar="FILE",
            type=UserPath(allow_dash=True),
            help="Write data to this file; - is stdout.",
        ),
        option("--force", is_flag=True, help="Let --out replace a file that exists."),
        option("--columns", metavar="A,B,...", help="Write these fields, in this order."),
    ]


def store_option() -> click.Option:
    """The global `--store`, for the help of a command that is about the login itself."""
    return next(option for option in global_options() if option.name == "store_file")


def coloured() -> bool:
    """Whether a terminal may be sent colours: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Argument(click.Argument):
    """An argument with a help text, which click itself knows since 8.4 only."""

    def __init__(self, name: str, text: str, **more: Any) -> None:
        super().__init__([name], **more)
        self.text = text


class Command(click.Command):
    """A command whose help has examples, and a text for each argument."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = super().get_params(ctx)
        arguments = [
            (parameter.metavar or parameter.human_readable_name, parameter.text)
            for parameter in own
            if isinstance(parameter, Argument)
        ]
        _section(formatter, "Arguments", arguments)
        _section(formatter, "Options", _records(ctx, own))
        write_examples(formatter, self.examples)


class DataCommand(Command):
    """A command that asks the service: its help shows the global options too."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.shared = global_options()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *self.shared]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        _section(formatter, "Global options", _records(ctx, self.shared))


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Lines as they are typed, never wrapped."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _section(formatter: click.HelpFormatter, title: str, lines: Sequence[tuple[str, str]]) -> None:
    if lines:
        with formatter.section(title):
            formatter.write_dl(lines)


def _records(ctx: click.Context, parameters: Sequence[click.Parameter]) -> list[tuple[str, str]]:
    options = [x for x in parameters if isinstance(x, click.Option)]
    return [record for x in options if (record := x.get_help_record(ctx)) is not None]
