"""`boardlot status`: who is logged in, for how long, and how far the clocks are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from boardlot.cli.output import check_out, emit
from boardlot.cli.settings import Command, Login, Settings, store_option
from boardlot.doctor.network import CLOCK_WINDOW, clock_offset
from boardlot.results.cell_format import escaped

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
    """Show a login at the service and the clock offset of this machine.

    The login is that of CLIENT_ID, else that of the profile, else the last one at the service in
    --store or the keychain; with the profile of a key, or where the keychain has none, only the
    clocks are compared. Nothing secret is shown. With --format or --out it is a row of data, the
    clock offset in seconds.
    """
    import boardlot as bl

    check_out(settings)
    base_url = settings.service
    login = _login(settings, client_id)
    facts: dict[str, Any] = {"service": base_url}
    if login is not None:
        facts |= {
            "client_id": login.oauth.client_id,
            "tokens": login.place,
            "scopes": sorted(login.oauth.scopes),
            "expires_at": login.oauth.expires_at.isoformat(timespec="seconds"),
        }
    with bl.Client(base_url, **settings.connection) as client:
        facts["clock_offset"] = clock_offset(client)
    if settings.format is not None or settings.out is not None:
        emit(settings, [facts])
    else:
        _tell(**facts)


def _login(settings: Settings, client_id: str | None) -> Login | None:
    """The login to show; that there is none in the keychain is told, and no error."""
    import boardlot as bl

    try:
        return settings.login_of(client_id)
    except (bl.LoginRequired, bl.StoreError) as error:
        if settings.store_file is not None:
            raise
        click.echo(f"no login is shown: {escaped(str(error))}", err=True)
        return None


def _tell(
    service: str,
    clock_offset: float,
    client_id: str | None = None,
    tokens: str = "",
    scopes: Sequence[str] = (),
    expires_at: str = "",
) -> None:
    click.echo(f"service       {escaped(service)}")
    if client_id is not None:
        click.echo(f"client        {escaped(client_id)}")
        click.echo(f"tokens lie in {tokens}")
        click.echo(f"scopes        {escaped(' '.join(scopes))}")
        click.echo(f"expires       {expires_at}")
    window = f"the service refuses signatures beyond {CLOCK_WINDOW:g} s"
    click.echo(f"clock offset  {clock_offset:+.3f} s ({window})")
