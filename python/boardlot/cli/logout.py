"""`boardlot logout`: deletes the tokens of a login."""

from __future__ import annotations

import click

from boardlot import hints
from boardlot.cli.click_classes import Command
from boardlot.cli.options import store_option
from boardlot.cli.settings import Login, Settings
from boardlot.cli.stores import last_client_id
from boardlot.results.cell_format import escaped

__all__ = ["command"]


@click.command(
    "logout",
    cls=Command,
    params=[store_option()],
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
    _check_exists(login)
    login.oauth.logout()
    click.echo(f"deleted the tokens of {escaped(login.oauth.client_id)}", err=True)


def _check_exists(login: Login) -> None:
    """Refuse to delete a missing login: it would look like a success, and leave a lock file."""
    import boardlot as bl

    try:
        _ = login.oauth.scopes
    except bl.LoginRequired:
        oauth = login.oauth
        known = last_client_id(login.store, oauth.base_url)
        raise bl.LoginRequired(
            f"no such login: {login.store_name} contains none of {oauth.client_id} at "
            f"{oauth.base_url}",
            hint=f"The last login there is {known}." if known else hints.WRONG_LOGIN,
        ) from None
