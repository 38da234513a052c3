"""`boardlot logout`: forget the tokens."""

from __future__ import annotations

import click

from boardlot.cli.settings import Command, Login, Settings, store_option
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
    """Forget the tokens of CLIENT_ID at the service, else those of the profile.

    `boardlot login` told the id; without it, the last login at the service is meant. The profile
    itself stays.
    """
    settings.check_service()
    login = settings.login_of(client_id)
    if login is None:
        raise click.UsageError("which login? Add its CLIENT_ID, or --profile NAME of a login")
    _check_there(login)
    login.oauth.logout()
    click.echo(f"forgot the tokens of {escaped(login.oauth.client_id)}", err=True)


def _check_there(login: Login) -> None:
    """Refuse to forget what is not there: it would look as if it had been, and leave a lock."""
    import boardlot as bl

    try:
        _ = login.oauth.scopes
    except bl.LoginRequired:
        oauth = login.oauth
        known = last_client_id(login.store, oauth.base_url)
        raise bl.LoginRequired(
            f"no such login: {login.place} holds none of {oauth.client_id} at {oauth.base_url}",
            hint=f"The last login there is {known}."
            if known
            else "Check the id, the service and --store FILE.",
        ) from None
