"""Where the command line stores tokens: the keychain, or an encrypted file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from boardlot import hints
from boardlot.cli.paths import check_writable
from boardlot.clients.passphrase import Passphrase
from boardlot.clients.profile_auth import passphrase_of, profile_store

__all__ = ["check_config", "last_client_id", "store_for_login"]


def store_for_login(entry: Mapping[str, Any]) -> Any:
    """The store of a profile, checked before the user logs in; a new file gets its passphrase.

    Raises:
        StoreError: The file cannot be written, or its passphrase cannot be read.
        click.UsageError: The new passphrase is empty, or differs when repeated.
    """
    import boardlot as bl

    file = entry["store"]
    if file is None:
        return profile_store(entry)
    _check(file, hints.OTHER_STORE)
    if os.path.lexists(file):
        return profile_store(entry)
    passphrase = passphrase_of(entry, file)
    text = passphrase() if passphrase.unattended else _new_passphrase(passphrase)
    return bl.EncryptedFileStore(file, text)


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


def _new_passphrase(passphrase: Passphrase) -> str:
    text = passphrase.ask(f"new passphrase of {passphrase.of}: ")
    if not text:
        raise click.UsageError("the passphrase is empty; expected one that is hard to guess")
    if passphrase.ask("repeat the passphrase: ") != text:
        raise click.UsageError("the passphrases differ: run the command again")
    return text
