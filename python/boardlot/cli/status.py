"""`boardlot status`: who is logged in, for how long, and how far the clocks are apart."""

from __future__ import annotations

import time
from pathlib import Path

import click

from boardlot.cli.settings import Command, Settings
from boardlot.cli.stores import base_url_of, open_store, store_option

__all__ = ["command"]


@click.command(
    "status",
    cls=Command,
    examples=[
        "boardlot --base-url https://api.example.com status",
        "boardlot --base-url https://api.example.com status CLIENT_ID",
    ],
)
@click.argument("client_id", required=False)
@store_option
@click.pass_obj
def command(settings: Settings, client_id: str | None, store_file: Path | None) -> None:
    """Show the login of CLIENT_ID at --base-url and the clock offset of this machine.

    Nothing secret is shown. Without CLIENT_ID only the clocks are compared.
    """
    import boardlot as bl

    base_url = base_url_of(settings.base_url)
    click.echo(f"service       {base_url}")
    if client_id is not None:
        oauth = bl.OAuth(client_id, store=open_store(store_file), base_url=base_url)
        click.echo(f"client        {client_id}")
        click.echo(f"tokens lie in {store_file or 'the keychain'}")
        click.echo(f"scopes        {' '.join(sorted(oauth.scopes))}")
        click.echo(f"expires       {oauth.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    with bl.Client(base_url) as client:
        before = time.time()
        service = client.server_time().timestamp()
        offset = service - (before + time.time()) / 2
    click.echo(f"clock offset  {offset:+.3f} s (the service refuses signatures beyond 5 s)")
