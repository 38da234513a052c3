"""`boardlot logout`: forget the tokens."""

from __future__ import annotations

from pathlib import Path

import click

from boardlot.cli.settings import Command, Settings
from boardlot.cli.stores import base_url_of, open_store, store_option

__all__ = ["command"]


@click.command(
    "logout",
    cls=Command,
    examples=[
        "boardlot --base-url https://api.example.com logout CLIENT_ID",
    ],
)
@click.argument("client_id")
@store_option
@click.pass_obj
def command(settings: Settings, client_id: str, store_file: Path | None) -> None:
    """Forget the tokens of CLIENT_ID at --base-url; `boardlot login` told the id."""
    import boardlot as bl

    base_url = base_url_of(settings.base_url)
    bl.OAuth(client_id, store=open_store(store_file), base_url=base_url).logout()
    click.echo(f"forgot the tokens of {client_id}", err=True)
