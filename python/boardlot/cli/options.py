"""The global options of the command line: which service, which credentials, where data goes."""

from __future__ import annotations

from typing import Any

import click

from boardlot.cli.paths import UserPath
from boardlot.cli.settings import FORMATS, STDOUT, Settings

__all__ = ["global_options", "store_option"]


def global_options(*, hidden: bool = False) -> list[click.Option]:
    """The options that any command accepts, before or after its name.

    They write into the `Settings` of the context, so the last one wins.
    """

    def store(ctx: click.Context, option: click.Parameter, value: Any) -> None:
        if value == "" or (isinstance(value, tuple) and "" in value):
            # Probably from an unset variable, and not the same as leaving the option out.
            raise click.BadParameter("the value is empty; pass a value or leave the option out")
        if value and option.name is not None:
            setting = None if value == STDOUT and option.name == "out" else value
            setattr(ctx.ensure_object(Settings), option.name, setting)

    def option(*names: str, help: str, **more: Any) -> click.Option:
        return click.Option(
            names, help=help, callback=store, expose_value=False, hidden=hidden, **more
        )

    file = UserPath()
    return [
        option("--profile", metavar="NAME", help="A named service and its credentials."),
        option("--base-url", metavar="URL", help="Base URL of the service."),
        option("--key-id", metavar="ID", help="Sign with the key of this id; needs --key-file."),
        option("--key-file", metavar="FILE", type=file, help="The private key."),
        option("--client-id", metavar="ID", help="Use the login with this client id."),
        option(
            "--store",
            "store_file",
            metavar="FILE",
            type=file,
            help="Encrypted file of the login's tokens; default: the keychain.",
        ),
        option(
            "--header",
            metavar="'NAME: VALUE'",
            multiple=True,
            help="Add this header to every request.",
        ),
        option("--proxy", metavar="URL", help="Use this proxy; environment variables are ignored."),
        option("--ca-file", metavar="FILE", type=file, help="Also trust these certificates (PEM)."),
        option(
            "--format",
            type=click.Choice(FORMATS),
            metavar="FORMAT",
            help=f"{', '.join(FORMATS)}; default: from --out's extension, otherwise table.",
        ),
        option(
            "--out",
            metavar="FILE",
            type=UserPath(allow_dash=True),
            help="Write data to this file; - is stdout.",
        ),
        option("--force", is_flag=True, help="Let --out replace an existing file."),
        option("--columns", metavar="A,B,...", help="Write only these fields, in this order."),
    ]


def store_option() -> click.Option:
    """The global `--store`, for the help of the commands about logins."""
    return next(option for option in global_options() if option.name == "store_file")
