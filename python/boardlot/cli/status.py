"""`boardlot status`: who is logged in, for how long, and how far the clocks are apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from boardlot.cli.output import check_out, emit
from boardlot.cli.settings import Command, Settings, store_option

__all__ = ["command"]


@click.command(
    "status",
    cls=Command,
    params=[store_option()],
    examples=[
        "boardlot --profile live status",
        "boardlot --base-url https://api.example.com status CLIENT_ID",
    ],
)
@click.argument("client_id", required=False)
@click.pass_obj
def command(settings: Settings, client_id: str | None) -> None:
    """Show the login of CLIENT_ID at the service and the clock offset of this machine.

    Nothing secret is shown. Without CLIENT_ID only the clocks are compared. With --format or --out
    it is a row of data, the clock offset in seconds.
    """
    import boardlot as bl

    check_out(settings)
    base_url = settings.service
    client_id = client_id or settings.client_id
    facts: dict[str, Any] = {"service": base_url}
    if client_id is not None:
        oauth = settings.login(client_id)
        facts |= {
            "client_id": client_id,
            "tokens": str(settings.store_file or "the keychain"),
            "scopes": sorted(oauth.scopes),
            "expires_at": oauth.expires_at.isoformat(timespec="seconds"),
        }
    with bl.Client(base_url) as client:
        before = time.time()
        service = client.server_time().timestamp()
        facts["clock_offset"] = round(service - (before + time.time()) / 2, 3)
    if settings.format is not None or settings.out is not None:
        emit(settings, [facts])
    else:
        _tell(**facts)


def _tell(
    service: str,
    clock_offset: float,
    client_id: str | None = None,
    tokens: str = "",
    scopes: Sequence[str] = (),
    expires_at: str = "",
) -> None:
    click.echo(f"service       {service}")
    if client_id is not None:
        click.echo(f"client        {client_id}")
        click.echo(f"tokens lie in {tokens}")
        click.echo(f"scopes        {' '.join(scopes)}")
        click.echo(f"expires       {expires_at}")
    click.echo(f"clock offset  {clock_offset:+.3f} s (the service refuses signatures beyond 5 s)")
