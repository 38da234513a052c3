"""`boardlot status`: a login, when it expires, and the clock offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from boardlot.cli.click_classes import Command
from boardlot.cli.options import STORE_OPTIONS, shown_options
from boardlot.cli.output import check_out, emit
from boardlot.cli.settings import Login, Settings
from boardlot.doctor.network import CLOCK_WINDOW, clock_offset
from boardlot.results.cell_format import escaped

__all__ = ["command"]


@click.command(
    "status",
    cls=Command,
    output="text",
    params=shown_options(*STORE_OPTIONS),
    examples=[
        "boardlot --profile live status",
        "boardlot --base-url https://api.example.com status CLIENT_ID",
    ],
)
@click.argument("client_id", required=False)
@click.pass_obj
def command(settings: Settings, client_id: str | None) -> None:
    """Show a login at the service and the clock offset of this machine.

    The login is that of CLIENT_ID, otherwise that of the profile, otherwise the last one at the
    service in --store or the keychain. With the profile of a key, or if the keychain contains no
    login, only the clocks are compared. No secrets are shown. With --format or --out the output is
    a row of data, with the clock offset in seconds.
    """
    import boardlot as bl

    check_out(settings)
    base_url = settings.service
    login = _login(settings, client_id)
    row: dict[str, Any] = {"service": base_url}
    if login is not None:
        expires = login.oauth.expires_at
        row |= {
            "client_id": login.oauth.client_id,
            "tokens": login.store_name,
            "scopes": sorted(login.oauth.scopes),
            "expires_at": expires and expires.isoformat(timespec="seconds"),
        }
    with bl.Client(base_url, **settings.connection) as client:
        row["clock_offset"] = clock_offset(client)
    if settings.format is not None or settings.out is not None:
        emit(settings, [row])
    else:
        _print(**row)


def _login(settings: Settings, client_id: str | None) -> Login | None:
    """The login to show; if the keychain contains none, that is a message and not an error."""
    import boardlot as bl

    try:
        return settings.login_of(client_id)
    except (bl.LoginRequired, bl.StoreError) as error:
        if settings.store_file is not None:
            raise
        click.echo(f"no login to show: {escaped(str(error))}", err=True)
        return None


def _print(
    service: str,
    clock_offset: float,
    client_id: str | None = None,
    tokens: str = "",
    scopes: Sequence[str] = (),
    expires_at: str | None = None,
) -> None:
    click.echo(f"service       {escaped(service)}")
    if client_id is not None:
        click.echo(f"client        {escaped(client_id)}")
        click.echo(f"tokens        {tokens}")
        click.echo(f"scopes        {escaped(' '.join(scopes))}")
        click.echo(f"expires       {expires_at or 'unknown'}")
    window = f"the service rejects signatures beyond {CLOCK_WINDOW:g} s"
    click.echo(f"clock offset  {clock_offset:+.3f} s ({window})")
