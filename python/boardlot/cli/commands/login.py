"""`boardlot login`, `boardlot logout` and `boardlot status`: the tokens of a login."""

from __future__ import annotations

from typing import Any

import click

import boardlot as bl
from boardlot import _core
from boardlot._support.tables.cell_format import escaped
from boardlot.cli.click_classes import Command
from boardlot.cli.numbers import Number, Whole
from boardlot.cli.options import STORE_OPTIONS, shown_options
from boardlot.cli.output.emit import check_out, emit_row
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Login, Settings, check_config, last_client_id, store_for_login
from boardlot.doctor.network import CLOCK_WINDOW, clock_offset


@click.command(
    "login",
    cls=Command,
    output="nothing",
    params=shown_options(*STORE_OPTIONS),
    examples=[
        "boardlot --base-url https://api.example.com --profile live login",
        "boardlot --profile live login",
        "boardlot --base-url https://api.example.com login --no-browser --store tokens",
    ],
)
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option(
    "--port",
    type=Whole(0, 65535),
    default=0,
    help="Port of the callback; 0 picks a free one.",
)
@click.option(
    "--timeout",
    type=Number(1),
    default=300.0,
    show_default=True,
    help="Seconds to wait for the callback.",
)
@click.pass_obj
def login(settings: Settings, no_browser: bool, port: int, timeout: float) -> None:
    """Log in to the service at --base-url, and store the tokens in the keychain or a file.

    Without a browser on this machine, the address is printed, with the ssh command that forwards
    the callback.

    With --profile, the login becomes a profile of that name in the configuration file, which
    contains no secrets: `boardlot.Client(profile=NAME)` uses it. If there already is a login of
    that name, it is renewed.

    With --client-id, that client is used instead of a new registration, with its callback on
    --port.
    """
    settings.check_secrets()
    name = settings.profile_name
    known = _core._profile(name, may_be_missing=True) if name is not None else None
    if known is not None:
        _check_same(settings, name, known)
    base_url = settings.base_url or (known or {}).get("base_url")
    if base_url is None:
        raise click.UsageError("no service selected: pass --base-url URL")
    if name is not None:
        check_config()
    if settings.proxy and "@" in settings.proxy and name is not None:
        raise click.UsageError(
            "a profile keeps no password of a proxy: use `--proxy environment` and HTTPS_PROXY"
        )
    entry = {"store": None, **(known or {}), **settings.kept, "base_url": base_url}
    _check_passphrase(entry)
    store = store_for_login(entry)
    # Read before the user logs in: a store that cannot be read fails now.
    last = last_client_id(store, base_url)
    if settings.client_id not in (None, last) and not port:
        raise click.UsageError(
            "--client-id needs --port PORT, which that client is registered with"
        )
    oauth = bl.login(
        base_url,
        store=store,
        client_id=settings.client_id,
        redirect_port=port,
        open_browser=not no_browser,
        timeout=timeout,
        proxy=settings.proxy or entry.get("proxy"),
        ca_file=settings.ca_file or entry.get("ca_file"),
        client_cert=settings.client_cert or entry.get("client_cert"),
    )
    note(f"logged in as client {escaped(oauth.client_id)}")
    note(f"scopes: {escaped(' '.join(sorted(oauth.scopes)))}")
    if name is None:
        note(f"in Python: boardlot.OAuth({oauth.client_id!r}, store=...)")
        return
    # After a logout the client is registered again, under another id.
    _save_profile(name, known, {**entry, "kind": "oauth", "client_id": oauth.client_id})
    note(f"in Python: boardlot.Client(profile={name!r})")


def _check_passphrase(entry: dict[str, Any]) -> None:
    """Reject an empty passphrase."""
    given = [name for name in ("passphrase_file", "passphrase_command") if entry.get(name)]
    if given and entry["store"] is None:
        raise click.UsageError(
            f"--{given[0].replace('_', '-')} needs --store FILE: the keychain has no passphrase"
        )


def _check_same(settings: Settings, name: str | None, known: dict[str, Any]) -> None:
    """Refuse to renew the profile's login if the options are about another one."""
    other = "for another login, choose another profile name"
    base_url, store = settings.base_url, settings.store_file
    if known["kind"] == "api_key":
        address = f"`boardlot --base-url {known['base_url']} --profile NAME login`"
        raise click.UsageError(f"the profile {name} is not a login: make another, by {address}")
    if base_url is not None and base_url.rstrip("/") != known["base_url"].rstrip("/"):
        raise click.UsageError(f"the profile {name} is for {known['base_url']}: {other}")
    if known["kind"] == "none":
        return
    if store is not None and store.absolute() != known["store"]:
        store_name = known["store"] or "the keychain"
        raise click.UsageError(
            f"the tokens of the profile {name} are stored in {store_name}: {other}"
        )
    if settings.client_id not in (None, known["client_id"]):
        raise click.UsageError(f"the profile {name} belongs to {known['client_id']}: {other}")


def _save_profile(name: str, known: dict[str, Any] | None, entry: dict[str, Any]) -> None:
    """Make the login a profile, or update the existing one if something in it changed."""
    if known is not None and entry == {**known, "base_url": entry["base_url"]}:
        note(f"renewed the login of the profile {name}")
        return
    try:
        path = _core._save_profile(name, entry, replace=known is not None)
    except (bl.ConfigError, OSError) as error:
        # Another process may have changed the file, which was writable before the login.
        store = "" if entry["store"] is None else f" --store {entry['store']}"
        raise bl.StoreError(
            f"the login was stored, but the profile {name} was not: {error}",
            hint=f"Use the login with --base-url {entry['base_url']} --client-id "
            f"{entry['client_id']}{store}, or run the command again with another profile name.",
        ) from error
    action = "added the profile to" if known is None else "updated the profile in"
    note(f"{action} {path}")


@click.command(
    "logout",
    cls=Command,
    output="nothing",
    params=shown_options(*STORE_OPTIONS),
    examples=[
        "boardlot --profile live logout",
        "boardlot --base-url https://api.example.com logout",
        "boardlot --base-url https://api.example.com logout CLIENT_ID --store tokens",
    ],
)
@click.argument("client_id", required=False)
@click.pass_obj
def logout(settings: Settings, client_id: str | None) -> None:
    """Delete the tokens of CLIENT_ID at the service, or the profile's tokens.

    `boardlot login` printed the id; the default is the last login at the service. The profile
    itself is not deleted.
    """
    settings.check_service()
    login = settings.login_of(client_id)
    if login is None:
        raise click.UsageError(
            "no login selected: pass its CLIENT_ID, or --profile NAME of a login"
        )
    login.check_exists()
    login.oauth.logout()
    note(f"deleted the tokens of {escaped(login.oauth.client_id)}")


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
def status(settings: Settings, client_id: str | None) -> None:
    """Show a login at the service and the clock offset of this machine.

    The login is CLIENT_ID's, otherwise the profile's, otherwise the last login at the service in
    --store or the keychain. With the profile of a key, or if the keychain contains no login, only
    the clocks are compared. No secrets are shown. With --format or --out the output is a row of
    data, with the clock offset in seconds.
    """
    check_out(settings)
    base_url = settings.service
    login = _login_shown(settings, client_id)
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
    window = f"the service rejects signatures beyond {CLOCK_WINDOW:g} s"
    shown = {"clock_offset": f"{row['clock_offset']:+.3f} s ({window})"}
    if login is not None:
        shown["tokens"] = f"{login.store_name}; not tried: `boardlot doctor` asks the service"
    emit_row(settings, row, **shown)


def _login_shown(settings: Settings, client_id: str | None) -> Login | None:
    """The login to show; if the keychain contains none, that is a message and not an error."""
    try:
        return settings.login_of(client_id)
    except (bl.LoginRequired, bl.StoreError) as error:
        if settings.store_file is not None:
            raise
        note(f"no login to show: {escaped(str(error))}")
        return None
