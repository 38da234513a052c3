"""The global options of the command line: which service, which credentials, where data goes."""

from __future__ import annotations

from typing import Any

import click

from boardlot.cli.files import UserPath
from boardlot.cli.numbers import (
    Number,
    Whole,
    Zone,
    complete_columns,
    complete_condition,
    complete_profiles,
)
from boardlot.cli.settings import FORMATS, STDOUT, Settings

# The options that commands about logins show in their help.
STORE_OPTIONS = ["--store", "--passphrase-file", "--passphrase-command"]


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
        option(
            "--profile",
            metavar="NAME",
            shell_complete=complete_profiles,
            help="A named service and its credentials; see boardlot profile.",
        ),
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
            "--passphrase-file",
            metavar="FILE",
            type=file,
            help="File with the passphrase of --store or the key; the default for one that has a "
            "passphrase is a prompt.",
        ),
        option(
            "--passphrase-command",
            metavar="COMMAND",
            help="Command that prints the passphrase; run without a shell.",
        ),
        option(
            "--header",
            metavar="'NAME: VALUE'",
            multiple=True,
            help="Add this header to every request.",
        ),
        option(
            "--proxy",
            metavar="URL",
            help="Use this proxy, or with 'environment' the proxy of HTTPS_PROXY.",
        ),
        option(
            "--rate-limit",
            metavar="N",
            type=Number(0.001, 1_000_000),
            help="Send at most N requests per second; default: the profile's limit.",
        ),
        option(
            "--shared",
            is_flag=True,
            help="Share that limit with all your processes that use the same credentials.",
        ),
        option("--ca-file", metavar="FILE", type=file, help="Also trust these certificates (PEM)."),
        option(
            "--client-cert",
            metavar="FILE",
            type=file,
            help="Identify yourself to the server with this certificate and key (PEM).",
        ),
        option(
            "--read-only",
            is_flag=True,
            help="Refuse requests that could change something.",
        ),
        option(
            "--format",
            type=click.Choice(FORMATS, case_sensitive=False),
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
        option(
            "--columns",
            metavar="A,B,...",
            shell_complete=complete_columns,
            help="Write only these fields, in this order.",
        ),
        option(
            "--where",
            metavar="CONDITION",
            multiple=True,
            shell_complete=complete_condition,
            help="Write only rows such as 'qty>=100', in quotes; repeat it for more: "
            "= != < <= > >= ~.",
        ),
        option(
            "--sort",
            metavar="A,-B,...",
            shell_complete=complete_columns,
            help="Sort by these fields, descending with a minus; needs all rows.",
        ),
        option("--limit", metavar="N", type=Whole(1), help="Write at most N rows."),
        option(
            "--tz",
            metavar="ZONE",
            type=Zone(),
            help="Time zone of days in --where, and of times in a spreadsheet; default: UTC.",
        ),
        option("-q", "--quiet", is_flag=True, help="Write nothing but errors to stderr."),
        option("-v", "--verbose", is_flag=True, help="Write requests to stderr, without secrets."),
        option(
            "--log-format",
            type=click.Choice(["text", "json"], case_sensitive=False),
            metavar="FORMAT",
            help="text, or json: one object per line on stderr.",
        ),
    ]


def shown_options(*names: str) -> list[click.Option]:
    """These global options, for the help of a command that is about them."""
    return [option for option in global_options() if option.opts[0] in names]
