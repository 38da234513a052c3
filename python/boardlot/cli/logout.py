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
        "boardlot --profile live logout CLIENT_ID",
        "boardlot --base-url https://api.example.com logout CLIENT_ID --store tokens",
    ],
)
@click.argument("client_id")
@click.pass_obj
def command(settings: Settings, client_id: str) -> None:
    """Forget the tokens of CLIENT_ID at the service; `boardlot login` told the id."""
    settings.login(client_id).logout()
    click.echo(f"forgot the tokens of {client_id}", err=True)
