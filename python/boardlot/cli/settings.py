"""What the global options say: service, credentials, and where data goes in which format."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from boardlot import hints
from boardlot.cli.stores import last_client_id, open_store

__all__ = ["FORMATS", "STDOUT", "Login", "Settings"]

FORMATS = ["table", "json", "jsonl", "csv", "parquet"]
# The format that a file's extension stands for.
EXTENSIONS = {".txt": "table", **{f".{name}": name for name in FORMATS[1:]}}
STDOUT = Path("-")


class Login(NamedTuple):
    """A `boardlot.OAuth`, the store of its tokens, and the name of that store for messages."""

    oauth: Any
    store: Any
    store_name: str


@dataclass
class Settings:
    """The global options; `@click.pass_obj` passes them to a command."""

    profile: str | None = None
    base_url: str | None = None
    key_id: str | None = None
    key_file: Path | None = None
    client_id: str | None = None
    store_file: Path | None = None
    header: tuple[str, ...] = ()
    proxy: str | None = None
    ca_file: Path | None = None
    format: str | None = None
    out: Path | None = None
    force: bool = False
    columns: str | None = None

    # The command line after the program's name.
    typed: Sequence[str] = ()
    # How to resume if the command is interrupted: updated while data is written.
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
        if extension and extension not in EXTENSIONS:
            raise click.UsageError(
                f"--out {self.out} has no known extension; expected one of "
                f"{', '.join(EXTENSIONS)}, or add --format"
            )
        return EXTENSIONS.get(extension, "table")

    @property
    def has_credentials(self) -> bool:
        return any((self.profile, self.key_id, self.client_id))

    @property
    def service(self) -> str:
        """The base URL that was given, or that of the profile."""
        self.check_service()
        return str(self.base_url or self.profile_entry["base_url"])

    @property
    def profile_entry(self) -> dict[str, Any]:
        """The profile's entry in `config.toml`; empty if no profile was given."""
        from boardlot import _core

        return {} if self.profile is None else _core._profile(self.profile)

    @property
    def inputs(self) -> list[Path]:
        """The files that the command reads: data must not overwrite them."""
        from boardlot import _core

        files = [self.key_file, self.store_file, self.ca_file]
        files += [self.profile_entry.get(name) for name in ("private_key", "store")]
        return [_core._config_file(), *filter(None, files)]

    @property
    def connection(self) -> dict[str, Any]:
        """The options of the connection, as arguments of `boardlot.Client`."""
        headers = dict(map(_header, self.header))
        return {"headers": headers, "proxy": self.proxy, "ca_file": self.ca_file}

    def login_of(self, client_id: str | None) -> Login | None:
        """The login of this id, otherwise of `--client-id`, otherwise of the profile.

        Without these, the last login at the service in `--store` or the keychain; `None` with a
        key or the profile of a key.

        Raises:
            LoginRequired: The store contains no login at the service.
            StoreError: The store cannot be read.
        """
        import boardlot

        entry = self.profile_entry
        client_id = client_id or self.client_id or entry.get("client_id")
        of_profile = client_id is not None and client_id == entry.get("client_id")
        file = self.store_file or (entry["store"] if of_profile else None)
        if client_id is None and file is None and self.has_credentials:
            return None
        store, store_name = open_store(file), str(file or "the keychain")
        client_id = client_id or last_client_id(store, self.service)
        if client_id is None:
            raise boardlot.LoginRequired(
                f"no such login: {store_name} contains none at {self.service}",
                hint=hints.NO_LOGIN_IN_STORE,
            )
        oauth = boardlot.OAuth(client_id, store=store, base_url=self.service)
        return Login(oauth, store, store_name)

    def client(self) -> Any:
        """A `boardlot.Client` of the selected service and credentials."""
        import boardlot

        self.check()
        auth = self.auth()
        return boardlot.Client(self.base_url, profile=self.profile, auth=auth, **self.connection)

    def check_service(self) -> None:
        """Reject options that do not select a service."""
        if self.base_url is None and self.profile is None:
            raise click.UsageError("no service selected: pass --base-url URL, or --profile NAME")

    def check(self) -> None:
        """Reject options that do not select one service and one kind of credentials."""
        self.check_service()
        given = [
            name
            for name, value in (
                ("--profile", self.profile),
                ("--key-id", self.key_id),
                ("--client-id", self.client_id),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise click.UsageError(
                f"{' and '.join(given)} are mutually exclusive: pass one of them"
            )
        if (self.key_id is None) != (self.key_file is None):
            raise click.UsageError("--key-id and --key-file must be passed together")
        if self.store_file is not None and self.client_id is None:
            raise click.UsageError(
                "--store FILE needs --client-id ID, which `boardlot login` printed"
            )

    def auth(self) -> Any:
        """The credentials of the options; `None` if there are none, or only the profile's."""
        import boardlot

        if self.key_id is not None and self.key_file is not None:
            return boardlot.ApiKey(self.key_id, self.key_file, password=_password(self.key_file))
        if self.client_id is None:
            return None
        store = open_store(self.store_file)
        return boardlot.OAuth(self.client_id, store=store, base_url=self.service)


def _password(key_file: Path) -> str | None:
    """The password of an encrypted key, asked for at the terminal; `None` for any other file."""
    if key_file.is_file() and b"ENCRYPTED" in key_file.read_bytes():
        return getpass.getpass(f"password of {key_file}: ")
    return None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"--header {text!r} is not a header; expected 'NAME: VALUE'")
    return name.strip(), value.strip()
