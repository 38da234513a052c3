"""`boardlot login`: log in with the browser, and keep the tokens."""

from __future__ import annotations

import click

from boardlot.cli.settings import Command, Settings, store_option
from boardlot.cli.stores import open_store

__all__ = ["command"]


@click.command(
    "login",
    cls=Command,
    params=[store_option()],
    examples=[
        "boardlot --base-url https://api.example.com --profile live login",
        "boardlot --base-url https://api.example.com login --no-browser --store tokens",
    ],
)
@click.option("--no-browser", is_flag=True, help="Print the address and do not open it.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the callback.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds."
)
@click.pass_obj
def command(settings: Settings, no_browser: bool, port: int, timeout: float) -> None:
    """Log in to the service at --base-url, and keep the tokens in the keychain or a file.

    Without a browser on this machine, the address is printed, with the ssh line that forwards the
    callback.

    With --profile, the login becomes a profile of that name in the configuration file, which holds
    no secret: `boardlot.Client(profile=NAME)` uses it.
    """
    import boardlot as bl
    from boardlot import _core

    base_url = settings.base_url
    if base_url is None:
        raise click.UsageError("which service? Add --base-url URL")
    if settings.profile is not None and _is_profile(settings.profile):
        raise click.UsageError(
            f"there is a profile {settings.profile} already: to renew its login, leave out "
            "--profile; for another one, choose another name"
        )
    oauth = bl.login(
        base_url,
        store=open_store(settings.store_file),
        redirect_port=port,
        open_browser=not no_browser,
        timeout=timeout,
    )
    click.echo(f"logged in as client {oauth.client_id}", err=True)
    click.echo(f"scopes: {' '.join(sorted(oauth.scopes))}", err=True)
    if settings.profile is None:
        click.echo(f"in Python: boardlot.OAuth({oauth.client_id!r}, store=...)", err=True)
        return
    file = None if settings.store_file is None else settings.store_file.absolute()
    path = _core._add_profile(settings.profile, base_url, oauth.client_id, file)
    click.echo(f"added the profile to {path}", err=True)
    click.echo(f"in Python: boardlot.Client(profile={settings.profile!r})", err=True)


def _is_profile(name: str) -> bool:
    import boardlot as bl

    try:
        bl.Client(profile=name).close()
    except bl.ConfigError:
        return False
    return True
