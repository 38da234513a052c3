"""Where the command line stores tokens: the keychain, or an encrypted file."""

from __future__ import annotations

import getpass
import json
import os
from pathlib import Path
from typing import Any

import click

from boardlot import hints
from boardlot.cli.paths import check_writable

__all__ = ["check_config", "last_client_id", "open_store", "store_for_login"]


def open_store(file: Path | None) -> Any:
    """The keychain, or the encrypted file; the terminal asks for its passphrase."""
    import boardlot as bl

    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, lambda: getpass.getpass(f"passphrase of {file}: "))


def store_for_login(file: Path | None) -> Any:
    """The same store, checked before the user logs in; a new file gets its passphrase.

    Raises:
        StoreError: The file cannot be written.
        click.UsageError: The new passphrase is empty, or differs when repeated.
    """
    import boardlot as bl

    if file is None:
        return open_store(None)
    _check(file, hints.OTHER_STORE)
    if os.path.lexists(file):
        return open_store(file)
    return bl.EncryptedFileStore(file, _new_passphrase(file))


def last_client_id(store: Any, base_url: str) -> str | None:
    """The client id of the last login at the service in this store, if any.

    It is part of the registration that a login stores under the service's address.

    Raises:
        StoreError: The store cannot be read, for example because of a wrong passphrase.
    """
    import boardlot as bl

    # `OAuth` normalises the address as in the keys of a store.
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
    from boardlot import _core

    _check(Path(_core._config_file()), hints.UNWRITABLE_CONFIG)


def _check(file: Path, hint: str) -> None:
    """Reject a file that could not be replaced."""
    import boardlot as bl

    try:
        check_writable(file)
    except OSError as error:
        raise bl.StoreError(
            f"{file}: {error.filename} is not writable: {error.strerror}", hint=hint
        ) from error


def _new_passphrase(file: Path) -> str:
    passphrase = getpass.getpass(f"new passphrase of {file}: ")
    if not passphrase:
        raise click.UsageError("the passphrase is empty; expected one that is hard to guess")
    if getpass.getpass("repeat the passphrase: ") != passphrase:
        raise click.UsageError("the passphrases differ: run the command again")
    return passphrase
