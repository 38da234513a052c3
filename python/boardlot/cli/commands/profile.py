"""`boardlot profile`: the profiles in `config.toml`, which nobody has to write by hand."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import click

import boardlot as bl
from boardlot import _core
from boardlot.cli.click_classes import Command, CommandGroup
from boardlot.cli.numbers import complete_profiles
from boardlot.cli.options import STORE_OPTIONS, shown_options
from boardlot.cli.output.emit import check_out, emit, emit_row
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Settings, check_config
from boardlot.errors import ConfigError

KEPT = ["--proxy", "--ca-file", "--client-cert"]
# The members about the connection that a row shows.
CONNECTION = ("proxy", "ca_file", "client_cert")
CREDENTIALS = ["--base-url", "--key-id", "--key-file", "--client-id", *STORE_OPTIONS]
LIMIT = ["--rate-limit", "--shared", "--read-only"]


@click.group(
    "profile",
    cls=CommandGroup,
    examples=[
        "boardlot profile add trading --base-url https://api.example.com --key-id ID "
        "--key-file key.pem --replace",
        "boardlot profile use live",
        "boardlot profile list",
    ],
)
def profile() -> None:
    """Manage profiles: names for a service and its credentials.

    They are stored in config.toml in your configuration folder, which contains no secrets: a
    profile says where its key or its tokens are stored.
    """


@profile.command("list", cls=Command, examples=["boardlot profile list --format json"])
@click.pass_obj
def list_(settings: Settings) -> None:
    """List the profiles."""
    check_out(settings)
    names, default = _core._profiles()
    emit(settings, [_row(name, default) for name in names])
    if not names:
        note("add one with `boardlot profile add`, or with `boardlot login`")


@profile.command("show", cls=Command, output="text", examples=["boardlot profile show live"])
@click.argument("name", required=False, shell_complete=complete_profiles)
@click.pass_obj
def show(settings: Settings, name: str | None) -> None:
    """Show a profile: NAME, by default the one of --profile or the default profile."""
    check_out(settings)
    name = name or settings.profile_name
    if name is None:
        raise click.UsageError("no profile selected: pass its NAME, or --profile NAME")
    _core._profile(name)
    emit_row(settings, _row(name, _core._profiles()[1]))


@profile.command(
    "add",
    cls=Command,
    output="nothing",
    params=shown_options(*CREDENTIALS, *KEPT, *LIMIT),
    examples=[
        "boardlot profile add trading --base-url https://api.example.com --key-id ID "
        "--key-file key.pem --replace",
        "boardlot profile add nightly --base-url https://api.example.com --store tokens "
        "--passphrase-file secret",
        "boardlot profile add public --base-url https://api.example.com",
    ],
)
@click.argument("name")
@click.option("--default", is_flag=True, help="Make it the default profile.")
@click.option("--replace", is_flag=True, help="Replace an existing profile of that name.")
@click.pass_obj
def add(settings: Settings, name: str, default: bool, replace: bool) -> None:
    """Add a profile for an API key or a login.

    An API key is named by --key-id and --key-file. A login is one that `boardlot login` stored: in
    the keychain, named by --client-id, or in the encrypted file --store. `boardlot --base-url URL
    --profile NAME login` logs in and adds the profile at once. Without these the profile has no
    credentials.

    For unattended jobs, --passphrase-file or --passphrase-command says where the passphrase of
    --store or of an encrypted key comes from. The key or the login is tried before anything is
    written; no request is sent.

    --proxy and --ca-file are kept in the profile; a proxy with a password is not, as the file
    contains no secrets: use `--proxy environment` and the variable HTTPS_PROXY.
    """
    if settings.header:
        raise click.UsageError(
            "--header cannot be kept in a profile: pass it to each command, in Python headers="
        )
    if settings.base_url is None:
        raise click.UsageError("--base-url is missing: pass the address of the service")
    settings.profile = None
    entry = _checked_entry(settings)
    check_config()
    known = _core._profile(name, may_be_missing=True) if not replace else None
    if known is not None:
        raise click.UsageError(
            f"the profile {name} already exists: choose another name, or add --replace"
        )
    path = _core._save_profile(name, entry, replace=replace)
    if default:
        _core._set_default_profile(name)
    note(f"added the profile {name} to {path}")
    if entry["kind"] == "none":
        note("it has no credentials: see `boardlot profile add --help`")
    note(f"in Python: boardlot.Client(profile={name!r})")


@profile.command("use", cls=Command, output="nothing", examples=["boardlot profile use live"])
@click.argument("name", required=False, shell_complete=complete_profiles)
@click.option("--none", is_flag=True, help="Have no default profile.")
def use(name: str | None, none: bool) -> None:
    """Make NAME the default profile of the command line.

    It is used if no other service is selected by --profile, --base-url, --key-id or --client-id.
    Python code names its profile: boardlot.Client(profile=NAME).
    """
    if (name is None) == (not none):
        raise click.UsageError("pass the NAME of a profile, or --none")
    _core._set_default_profile(name)
    message = f"the default profile is {name}" if name else "there is no default profile now"
    note(message)


@profile.command(
    "remove", cls=Command, output="nothing", examples=["boardlot profile remove paper"]
)
@click.argument("name", shell_complete=complete_profiles)
def remove(name: str) -> None:
    """Remove a profile; its key file or its tokens are kept."""
    try:
        left = _left_behind(_core._profile(name))
    except ConfigError:
        # A broken profile can be removed too; an unknown one is an error here.
        left = ""
    path = _core._remove_profile(name)
    note(f"removed the profile {name} from {path}")
    if left:
        note(left)


def _checked_entry(settings: Settings) -> dict[str, Any]:
    """The profile that the options describe, once its key or its login can be used."""
    settings.check_secrets()
    login = settings.client_id is not None or settings.store_file is not None
    if login and settings.key_id is not None:
        raise click.UsageError("a profile is for a key or for a login, not for both")
    entry = {"kind": "none", "base_url": settings.service, **settings.kept}
    if login:
        found = settings.login_of(settings.client_id)
        assert found is not None
        found.check_exists()
        entry |= {"kind": "oauth", "client_id": found.oauth.client_id}
        entry["base_url"] = found.oauth.base_url
    elif settings.key_id is not None:
        settings.auth()
    elif settings.credentials:
        raise click.UsageError("a passphrase needs --store FILE or --key-file FILE")
    if settings.shared and settings.rate_limit is None:
        raise click.UsageError("--shared needs --rate-limit N, the requests per second")
    entry |= {"rate_limit": settings.rate_limit, "rate_limit_shared": settings.shared}
    entry["read_only"] = settings.read_only
    # Checks the address, the proxy and the certificates; nothing is sent.
    bl.Client(settings.service, **settings.connection).close()
    return entry


def _row(name: str, default: str | None) -> dict[str, Any]:
    """A profile as data, without secrets."""
    row: dict[str, Any] = {"profile": name, "default": name == default}
    try:
        entry = _core._profile(name)
    except ConfigError as error:
        return {**row, "service": None, "kind": "invalid", "id": None, "secret": str(error)}
    secret, passphrase = _secret_of(entry), None
    if entry["passphrase_file"] is not None:
        passphrase = f"from the file {entry['passphrase_file']}"
    elif entry["passphrase_command"] is not None:
        passphrase = f"from the command {entry['passphrase_command'][0]}"
    return {
        **row,
        "service": entry["base_url"],
        "kind": {"api_key": "key", "oauth": "login"}.get(entry["kind"], "none"),
        "id": entry.get("key_id") or entry.get("client_id"),
        "secret": secret,
        "passphrase": passphrase,
        **{name: str(entry[name]) for name in CONNECTION if entry[name]},
        "rate_limit": entry["rate_limit"],
        "rate_limit_shared": entry["rate_limit_shared"] if entry["rate_limit"] else None,
        **({"read_only": True} if entry["read_only"] else {}),
    }


def _secret_of(entry: Mapping[str, Any]) -> str | None:
    """The location of a profile's secret."""
    if entry["kind"] == "oauth":
        return str(entry["store"] or "the keychain")
    return str(entry["private_key"]) if entry["kind"] == "api_key" else None


def _left_behind(entry: Mapping[str, Any]) -> str:
    """A message about the files that remain after the profile is removed."""
    if entry["kind"] == "api_key":
        return f"the key file {entry['private_key']} was not deleted"
    if entry["kind"] == "none":
        return ""
    logout = ["boardlot", "--base-url", entry["base_url"], "logout", entry["client_id"]]
    if entry["store"] is not None:
        logout += ["--store", str(entry["store"])]
    command = shlex.join(logout)
    return f"its tokens in {_secret_of(entry)} were not deleted; to delete them: {command}"
