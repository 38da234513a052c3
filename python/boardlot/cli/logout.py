"""`boardlot logout`: forget the tokens."""

from __future__ import annotations

import click

from boardlot.cli.settings import Command, Settings, store_option

__all__ = ["command"]


@click.command(
    "logout",
    cls=Command,
    params=[store_option()],
    examples=[
        "boardlot --profile live logout",
        "boardlot --base-url https://api.example.com logout CLIENT_ID --store tokens",
    ],
)
@click.argument("client_id", required=False)
@click.pass_obj
def command(settings: Settings, client_id: str | None) -> None:
    """Forget the tokens of CLIENT_ID at the service, else those of the profile.

    `boardlot login` told the id. The profile itself stays.
    """
    settings.check_service()
    client_id, file = settings.login_of(client_id)
    if client_id is None:
        raise click.UsageError("which login? Add its CLIENT_ID, or --profile NAME of a login")
    settings.login(client_id, file).logout()
    click.echo(f"forgot the tokens of {client_id}", err=True)
