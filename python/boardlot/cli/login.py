"""`boardlot login`: log in with the browser, and keep the tokens."""

from __future__ import annotations

from pathlib import Path

import click

from boardlot.cli.app import Settings
from boardlot.cli.stores import base_url_of, open_store, store_option

__all__ = ["command"]


@click.command("login")
@store_option
@click.option("--no-browser", is_flag=True, help="Print the address and do not open it.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the callback.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds."
)
@click.pass_obj
def command(
    settings: Settings, store_file: Path | None, no_browser: bool, port: int, timeout: float
) -> None:
    """Log in to the service at --base-url, and keep the tokens in the keychain or a file.

    Without a browser on this machine, the address is printed, with the ssh line that forwards the
    callback.

    \b
    boardlot --base-url https://api.example.com login
    """
    import boardlot as bl

    oauth = bl.login(
        base_url_of(settings.base_url),
        store=open_store(store_file),
        redirect_port=port,
        open_browser=not no_browser,
        timeout=timeout,
    )
    click.echo(f"logged in as client {oauth.client_id}", err=True)
    click.echo(f"scopes: {' '.join(sorted(oauth.scopes))}", err=True)
    click.echo(f"in Python: boardlot.OAuth({oauth.client_id!r}, store=...)", err=True)
