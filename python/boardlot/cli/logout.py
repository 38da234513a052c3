"""`boardlot logout`: deletes the tokens of a login."""

from __future__ import annotations

import click

from boardlot.cli.click_classes import Command
from boardlot.cli.options import STORE_OPTIONS, shown_options
from boardlot.cli.settings import Settings
from boardlot.results.cell_format import escaped

__all__ = ["command"]


@click.command(
    "logout",
    cls=Command,
    output="nothing",
    params=shown_options(*STORE_OPTIONS),
    examples=[
        "boardlot --profile live logout",
        "boardlot --base-url https://api.example.com logout",
        "boardlot --base-url https://api.example.com logout CLIENT_ID --store tokens",
    ],
)
@click.argument("client_id", required=False)
@click.pass_obj
def command(settings: Settings, client_id: str | None) -> None:
    """Delete the tokens of CLIENT_ID at the service, or those of the profile.

    `boardlot login` printed the id; the default is the last login at the service. The profile
    itself is not deleted.
    """
    settings.check_service()
    login = settings.login_of(client_id)
    if login is None:
        raise click.UsageError(
            "no login selected: pass its CLIENT_ID, or --profile NAME of a login"
        )
    login.check_exists()
    login.oauth.logout()
    click.echo(f"deleted the tokens of {escaped(login.oauth.client_id)}", err=True)
