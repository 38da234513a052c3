"""The global options: service, credentials, and the destination and format of data."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timezone, tzinfo
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import click

import boardlot as bl
from boardlot import _core
from boardlot._support.clients import warn
from boardlot._support.credentials.profiles import (
    Passphrase,
    application_of,
    check_address,
    passphrase_of,
    profile_auth,
    profile_login,
    profile_store,
)
from boardlot._support.hidden import Hidden
from boardlot._support.messages import hints
from boardlot.cli.files import check_writable
from boardlot.cli.statuses import reading_files


class Format(NamedTuple):
    """A format of data."""

    # The description in the docs.
    summary: str
    extension: str
    # The name of its class in `boardlot.cli.output`.
    writer: str
    # True if an interrupted file can be resumed.
    resumable: bool = False
    # True if it cannot be written to stdout.
    is_binary: bool = False

    def open(self, *arguments: Any, **named: Any) -> Any:
        """Open a `Writer` of this format."""
        return resolve_name(f"boardlot.cli.output.{self.writer}")(*arguments, **named)


FORMATS = {
    "table": Format(
        "for reading, not for data: as wide as the terminal; in a pipe nothing is truncated",
        ".txt",
        "formats:Table",
    ),
    "json": Format(
        "an array of the service's own values, one row per line; numbers exactly as sent",
        ".json",
        "formats:Json",
    ),
    "jsonl": Format(
        "one object per line, with the same values", ".jsonl", "formats:JsonLines", resumable=True
    ),
    "csv": Format("the service's own values; null is empty", ".csv", "formats:Csv", resumable=True),
    "parquet": Format(
        "typed columns: UTC timestamps, dates, floats (`pip install 'boardlot[arrow]'`)",
        ".parquet",
        "parquet:Parquet",
        is_binary=True,
    ),
    "xlsx": Format(
        "a spreadsheet: ids as text, numbers, dates and times as such "
        "(`pip install 'boardlot[xlsx]'`)",
        ".xlsx",
        "xlsx:Xlsx",
        is_binary=True,
    ),
}
RESUMABLE_FORMATS = sorted(name for name, row in FORMATS.items() if row.resumable)
STDOUT = Path("-")
# The options about data, each named like its setting.
OUTPUT_OPTIONS = [
    "--format",
    "--out",
    "--force",
    "--columns",
    "--where",
    "--sort",
    "--limit",
    "--tz",
]


class Login(NamedTuple):
    """A `boardlot.OAuth`, the store of its tokens, and the name of that store for messages."""

    oauth: Any
    store: Any
    store_name: str
    of_profile: bool

    def check_exists(self) -> None:
        """Reject a login that the store does not contain.

        Raises:
            LoginRequired: The store does not contain the login.
            StoreError: The store cannot be read.
        """
        try:
            _ = self.oauth.scopes
        except bl.LoginRequired as error:
            known = last_client_id(self.store, self.oauth.base_url)
            hint = f"The last login there is {known}." if known else hints.WRONG_LOGIN
            raise bl.LoginRequired(
                f"no such login: {self.store_name} contains no login of {self.oauth.client_id} at "
                f"{self.oauth.base_url}",
                hint=error.hint if self.of_profile else hint,
            ) from None


@dataclass
class Settings:
    """The global options; `@click.pass_obj` passes them to a command."""

    profile: str | None = None
    base_url: str | None = None
    key_id: str | None = None
    key_file: Path | None = None
    client_id: str | None = None
    store_file: Path | None = None
    passphrase_file: Path | None = None
    passphrase_command: str | None = field(default=None, repr=False)
    # Both may have a secret.
    header: tuple[str, ...] = field(default=(), repr=False)
    proxy: str | None = field(default=None, repr=False)
    rate_limit: float | None = None
    shared: bool = False
    ca_file: Path | None = None
    client_cert: Path | None = None
    read_only: bool = False
    format: str | None = None
    out: Path | None = None
    force: bool = False
    columns: str | None = None
    where: tuple[str, ...] = ()
    sort: str | None = None
    limit: int | None = None
    tz: tzinfo | None = None
    quiet: bool = False
    verbose: bool = False
    log_format: str = "text"

    # The hint that says how to resume an interrupted command: updated while data is written.
    resume_hint: str = ""

    @property
    def data_format(self) -> str:
        """`--format`; by default the format of `--out`'s extension, otherwise a table.

        Raises:
            click.UsageError: The extension is unknown.
        """
        if self.format is not None:
            return self.format
        extension = self.out.suffix.lower() if self.out is not None else ""
        known = {row.extension: name for name, row in FORMATS.items()}
        if extension and extension not in known:
            raise click.UsageError(
                f"--out {self.out} has no known extension; expected one of "
                f"{', '.join(known)}, or add --format"
            )
        return known.get(extension, "table")

    @property
    def output_options(self) -> list[str]:
        """The options about data that were given."""
        return [name for name in OUTPUT_OPTIONS if getattr(self, name.removeprefix("--"))]

    @property
    def chooses_rows(self) -> bool:
        """True if only some rows are written, or in another order."""
        return bool(self.where or self.sort or self.limit)

    @property
    def zone(self) -> tzinfo:
        """The time zone of days in `--where`, and of the times of a spreadsheet."""
        return self.tz or timezone.utc

    @property
    def has_credentials(self) -> bool:
        return any((self.profile_name, self.key_id, self.client_id))

    @property
    def service(self) -> str:
        """The base URL that was given, or the profile's."""
        self.check_service()
        return str(self.base_url or self.profile_entry["base_url"])

    @property
    def profile_name(self) -> str | None:
        """The profile that was given; the default one if nothing else selects a service."""
        if self.profile is not None or any((self.base_url, self.key_id, self.client_id)):
            return self.profile
        with reading_files():
            return _core._profiles()[1]

    @property
    def profile_entry(self) -> dict[str, Any]:
        """The profile's entry in `config.toml`; empty without a profile."""
        name = self.profile_name
        if name is None:
            return {}
        with reading_files():
            known = name in _core._profiles()[0]
            if known:
                return _core._profile(name)
        # The command line names an unknown profile, so its error is one of usage.
        return _core._profile(name)

    @property
    def credentials(self) -> dict[str, Any]:
        """The options about credentials, as members of a profile's entry."""
        members: dict[str, Any] = {}
        if self.key_id is not None and self.key_file is not None:
            key_file = self.key_file.absolute()
            members = {"kind": "api_key", "key_id": self.key_id, "private_key": key_file}
        elif self.client_id is not None:
            members = {"kind": "oauth", "client_id": self.client_id}
        if self.store_file is not None:
            members["store"] = self.store_file.absolute()
        if self.passphrase_file is not None:
            members["passphrase_file"] = self.passphrase_file.absolute()
        if self.passphrase_command is not None:
            members["passphrase_command"] = _words(self.passphrase_command)
        return members

    @property
    def kept(self) -> dict[str, Any]:
        """The options that a profile keeps, as members of its entry."""
        ca_file = self.ca_file and self.ca_file.absolute()
        client_cert = self.client_cert and self.client_cert.absolute()
        connection = {"proxy": self.proxy, "ca_file": ca_file, "client_cert": client_cert}
        return self.credentials | {name: x for name, x in connection.items() if x is not None}

    @property
    def inputs(self) -> list[Path]:
        """The files that the command reads: data must not overwrite them."""
        files = [self.key_file, self.store_file, self.passphrase_file, self.ca_file]
        files.append(self.client_cert)
        entry = self.profile_entry
        files += [entry.get(name) for name in ("private_key", "store", "passphrase_file")]
        return [_core._config_file(), *filter(None, files)]

    @property
    def connection(self) -> dict[str, Any]:
        """The options of the connection, as arguments of `boardlot.Client`: the proxy and the
        certificates are otherwise the profile's."""
        given = {"proxy": self.proxy, "ca_file": self.ca_file, "client_cert": self.client_cert}
        entry = self.profile_entry
        connection = {name: value or entry.get(name) for name, value in given.items()}
        return {"headers": dict(map(_header, self.header)), **connection}

    @property
    def request_rate(self) -> Any:
        """The rate limit of the options, as an argument of `boardlot.Client`; `None` without one.

        Raises:
            click.UsageError: The limit is to be shared, and no option says how high it is.
        """
        if not self.shared:
            return self.rate_limit
        entry = self.profile_entry
        rate = self.rate_limit or entry.get("rate_limit")
        if rate is None:
            raise click.UsageError("--shared needs --rate-limit N, the requests per second")
        application = self.key_id or self.client_id or application_of(entry)
        core = _core._application_limit(rate, self.service, application)
        return bl.RateLimit._of_core(core)

    def login_of(self, client_id: str | None) -> Login | None:
        """The login of this id, otherwise of `--client-id`, otherwise of the profile.

        Without any of these, it is the last login at the service in `--store` or the keychain;
        `None` with a key or the profile of a key.

        Raises:
            LoginRequired: The store contains no login at the service.
            StoreError: The store cannot be read.
        """
        entry = self.profile_entry
        client_id = client_id or self.client_id or entry.get("client_id")
        of_profile = client_id is not None and client_id == entry.get("client_id")
        if of_profile:
            check_address(entry, self.service)
        login = {**(entry if of_profile else {}), **self.credentials}
        file = self.store_file or login.get("store")
        if client_id is None and file is None and self.has_credentials:
            return None
        store, store_name = profile_store(login), str(file or "the keychain")
        client_id = client_id or last_client_id(store, self.service)
        if client_id is None:
            raise bl.LoginRequired(
                f"no such login: {store_name} contains no login at {self.service}",
                hint=hints.NO_LOGIN_IN_STORE,
            )
        oauth = profile_login(login, client_id, store, self.service)
        return Login(oauth, store, store_name, of_profile)

    def client_options(self, identified: bool = True) -> dict[str, Any]:
        """The arguments of a client of the selected service, with its credentials or without."""
        self.check()
        options = {"rate_limit": self.request_rate, "read_only": self.read_only, **self.connection}
        if not identified:
            return {"base_url": self.service, **options}
        return {
            "base_url": self.base_url,
            "profile": self.profile_name,
            "auth": self.auth(),
            **options,
        }

    def client(self, identified: bool = True) -> Any:
        """A `boardlot.Client` of the selected service, with the selected credentials or none."""
        return bl.Client(**self.client_options(identified))

    def check_service(self) -> None:
        """Reject options that do not select a service."""
        names = ", ".join(sorted(x for x in os.environ if x.startswith("BOARDLOT_")))
        unread = f"boardlot does not read these variables: {names}"
        if self.profile is None and self.base_url is None and self.profile_name and names:
            warn(f"{unread}; the profile is {self.profile_name}, the default")
        if self.base_url is None and self.profile_name is None:
            unread = f"; {unread}" if names else ""
            raise click.UsageError(
                "no service selected: pass --base-url URL, or --profile NAME; "
                f"`boardlot profile use NAME` makes a profile the default{unread}"
            )

    def check(self) -> None:
        """Reject options that do not select one service and one kind of credentials."""
        self.check_service()
        chosen = {"--profile": self.profile, "--key-id": self.key_id, "--client-id": self.client_id}
        given = [name for name, value in chosen.items() if value is not None]
        if len(given) > 1:
            raise click.UsageError(
                f"{' and '.join(given)} are mutually exclusive: pass one of them"
            )
        self.check_secrets()
        if self.store_file is not None and self.client_id is None:
            raise click.UsageError(
                "--store FILE needs --client-id ID, which `boardlot login` printed"
            )

    def check_secrets(self) -> None:
        """Reject a key without its file, and options that name two sources of the passphrase."""
        if (self.key_id is None) != (self.key_file is None):
            raise click.UsageError("--key-id and --key-file must be passed together")
        if self.passphrase_file is not None and self.passphrase_command is not None:
            raise click.UsageError(
                "--passphrase-file and --passphrase-command are mutually exclusive: pass one"
            )

    def auth(self) -> Any:
        """The credentials of the options, otherwise of the profile; `None` if there are none."""
        entry = {"kind": "none", **self.profile_entry, **self.credentials}
        check_address(entry, self.service)
        with reading_files():
            return profile_auth(entry, self.service)


def _words(command: str) -> list[str]:
    """The program and its arguments, split as a shell does."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--passphrase-command is not a command line: {error}") from None
    if not words:
        raise click.UsageError("--passphrase-command is empty; expected a program")
    return words


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"--header {text!r} is not a header; expected 'NAME: VALUE'")
    return name.strip(), value.strip()


def store_for_login(entry: Mapping[str, Any]) -> Any:
    """The store of a profile, checked before the user logs in; a new file gets its passphrase.

    Raises:
        StoreError: The file cannot be written, or its passphrase cannot be read.
        click.UsageError: The new passphrase is empty, or differs when repeated.
    """
    file = entry["store"]
    if file is None:
        return profile_store(entry)
    _check(file, hints.OTHER_STORE)
    if os.path.lexists(file):
        return profile_store(entry)
    passphrase = passphrase_of(entry, file)
    return bl.EncryptedFileStore(
        file, passphrase() if passphrase.unattended else _new_passphrase(passphrase)
    )


def last_client_id(store: Any, base_url: str) -> str | None:
    """The client id of the last login at the service in this store, if any.

    The id is part of the registration that a login stores under the service's address.

    Raises:
        StoreError: The store cannot be read, for example because of a wrong passphrase.
    """
    # `OAuth` normalizes the address as in the keys of a store.
    address = bl.OAuth("any", store=bl.MemoryStore(), base_url=base_url).base_url
    entry = store.load(address)
    if entry is None:
        return None
    try:
        return str(json.loads(entry)["client_id"])
    except (ValueError, LookupError, TypeError):
        raise bl.StoreError(
            f"the store's entry {address!r} is not a registration", hint=hints.BROKEN_REGISTRATION
        ) from None


def check_config() -> None:
    """Reject a login that could not become a profile, before the user logs in.

    Raises:
        StoreError: `config.toml` cannot be written.
    """
    _check(Path(_core._config_file()), hints.UNWRITABLE_CONFIG)


def _check(file: Path, hint: str) -> None:
    """Reject a file that could not be replaced."""
    try:
        check_writable(file)
    except OSError as error:
        raise bl.StoreError(
            f"{file}: {error.filename} is not writable: {error.strerror}", hint=hint
        ) from error


def _new_passphrase(passphrase: Passphrase) -> str:
    text = Hidden(passphrase.ask(f"new passphrase of {passphrase.of}: "))
    if not text.reveal():
        raise click.UsageError("the passphrase is empty; expected one that is hard to guess")
    if passphrase.ask("repeat the passphrase: ") != text.reveal():
        raise click.UsageError("the passphrases differ: run the command again")
    return str(text.reveal())
