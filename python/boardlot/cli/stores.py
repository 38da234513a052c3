"""Where the command line keeps tokens: the keychain, or an encrypted file."""

from __future__ import annotations

import getpass
import json
import os
from pathlib import Path
from typing import Any

import click

from boardlot.cli.paths import check_writable

__all__ = ["check_config", "last_client_id", "open_store", "store_for_login"]


def open_store(file: Path | None) -> Any:
    """The keychain, or the encrypted file whose passphrase is asked for at the terminal."""
    import boardlot as bl

    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, lambda: getpass.getpass(f"passphrase of {file}: "))


def store_for_login(file: Path | None) -> Any:
    """The same, and found good before the person logs in; a new file gets its passphrase.

    Raises:
        StoreError: The file cannot be written.
        click.UsageError: The new passphrase is empty, or not the same twice.
    """
    import boardlot as bl

    if file is None:
        return open_store(None)
    _check(file, "Give yourself the right to write there, or choose another --store FILE.")
    if os.path.lexists(file):
        return open_store(file)
    return bl.EncryptedFileStore(file, _new_passphrase(file))


def last_client_id(store: Any, base_url: str) -> str | None:
    """The id of the last login at the service whose tokens the store holds, if any.

    It stands in the registration that a login keeps under the service's address, for the next one.

    Raises:
        StoreError: The store cannot be read, as by a wrong passphrase.
    """
    import boardlot as bl

    # The credentials tell the address in the form that keys of a store have.
    address = bl.OAuth("any", store=bl.MemoryStore(), base_url=base_url).base_url
    entry = store.load(address)
    if entry is None:
        return None
    try:
        return str(json.loads(entry)["client_id"])
    except (ValueError, LookupError, TypeError):
        raise bl.StoreError(
            f"the store's entry {address!r} is no registration", hint="Delete it and log in again."
        ) from None


def check_config() -> None:
    """Refuse a login that could not become a profile, before the person is asked for anything.

    Raises:
        StoreError: `config.toml` cannot be written.
    """
    from boardlot import _core

    _check(
        Path(_core._config_file()),
        "Give yourself the right to write there, or log in without --profile: the tokens are "
        "stored all the same.",
    )


def _check(file: Path, hint: str) -> None:
    """Refuse a file that could not be replaced."""
    import boardlot as bl

    try:
        check_writable(file)
    except OSError as error:
        raise bl.StoreError(
            f"{file}: nothing can be written in {error.filename}: {error.strerror}", hint=hint
        ) from error


def _new_passphrase(file: Path) -> str:
    passphrase = getpass.getpass(f"new passphrase of {file}: ")
    if not passphrase:
        raise click.UsageError("the passphrase is empty: choose one that is hard to guess")
    if getpass.getpass("the same again: ") != passphrase:
        raise click.UsageError("these are two passphrases: run the command again")
    return passphrase
