"""`boardlot login`: log in with the browser, and keep the tokens."""

from __future__ import annotations

from typing import Any

import click

from boardlot.cli.settings import Command, Settings, store_option
from boardlot.cli.stores import check_config, last_client_id, store_for_login
from boardlot.results.cell_format import escaped

__all__ = ["command"]


@click.command(
    "login",
    cls=Command,
    params=[store_option()],
    examples=[
        "boardlot --base-url https://api.example.com --profile live login",
        "boardlot --profile live login",
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
    no secret: `boardlot.Client(profile=NAME)` uses it. Where there is a login of that name already,
    it is renewed.

    With --client-id, no client is registered: that one is used, whose callback comes to --port.
    """
    import boardlot as bl
    from boardlot import _core

    known = None
    if settings.profile is not None:
        known = _core._profile(settings.profile, may_be_missing=True)
    if known is not None:
        _check_same(settings, known)
    base_url = settings.base_url or (known or {}).get("base_url")
    if base_url is None:
        raise click.UsageError("which service? Add --base-url URL")
    if settings.profile is not None:
        check_config()
    store = store_for_login(known["store"] if known else settings.store_file)
    # Read before the person is asked for anything: a store that is of no use shows itself now.
    last = last_client_id(store, base_url)
    if settings.client_id not in (None, last) and not port:
        raise click.UsageError("--client-id needs --port PORT, which that client is registered for")
    oauth = bl.login(
        base_url,
        store=store,
        client_id=settings.client_id,
        redirect_port=port,
        open_browser=not no_browser,
        timeout=timeout,
        proxy=settings.proxy,
        ca_file=settings.ca_file,
    )
    click.echo(f"logged in as client {escaped(oauth.client_id)}", err=True)
    click.echo(f"scopes: {escaped(' '.join(sorted(oauth.scopes)))}", err=True)
    if settings.profile is None:
        click.echo(f"in Python: boardlot.OAuth({oauth.client_id!r}, store=...)", err=True)
        return
    _keep(settings, known, base_url, oauth.client_id)
    click.echo(f"in Python: boardlot.Client(profile={settings.profile!r})", err=True)


def _check_same(settings: Settings, known: dict[str, Any]) -> None:
    """Refuse to renew the profile's login where the options are about another one."""
    name = settings.profile
    other = "for another login, choose another name"
    if known["kind"] != "oauth":
        raise click.UsageError(f"the profile {name} is none of a login: choose another name")
    base_url, store = settings.base_url, settings.store_file
    if base_url is not None and base_url.rstrip("/") != known["base_url"].rstrip("/"):
        raise click.UsageError(f"the profile {name} is for {known['base_url']}: {other}")
    if store is not None and store.absolute() != known["store"]:
        place = known["store"] or "the keychain"
        raise click.UsageError(f"the tokens of the profile {name} lie in {place}: {other}")
    if settings.client_id not in (None, known["client_id"]):
        raise click.UsageError(f"the profile {name} is of {known['client_id']}: {other}")


def _keep(settings: Settings, known: dict[str, Any] | None, base_url: str, client_id: str) -> None:
    """Make the login a profile, or see to it that the profile is still right."""
    import boardlot as bl
    from boardlot import _core

    name = settings.profile
    assert name is not None
    if known is not None and known["client_id"] == client_id:
        click.echo(f"renewed the login of the profile {name}", err=True)
        return
    file = settings.store_file if known is None else known["store"]
    file = None if file is None else file.absolute()
    # Where the registration was forgotten, as by a logout, the service gave another id.
    try:
        path = _core._save_profile(name, base_url, client_id, file, replace=known is not None)
    except (bl.ConfigError, OSError) as error:
        # As by another process meanwhile; before the login it could be written.
        store = "" if file is None else f" --store {file}"
        raise bl.StoreError(
            f"the login is stored, but not the profile {name}: {error}",
            hint=f"Use the login by --base-url {base_url} --client-id {client_id}{store}, or run "
            "the command again for another name.",
        ) from error
    did = "added the profile to" if known is None else "changed the profile in"
    click.echo(f"{did} {path}", err=True)
