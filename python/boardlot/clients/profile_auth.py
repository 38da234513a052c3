"""The credentials that a profile in `config.toml` names."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boardlot.clients.passphrase import Passphrase

if TYPE_CHECKING:
    from boardlot import ApiKey, EncryptedFileStore, KeyringStore, OAuth

__all__ = ["application_of", "check_address", "passphrase_of", "profile_auth", "profile_store"]


def profile_auth(entry: Mapping[str, Any], base_url: str | None = None) -> ApiKey | OAuth | None:
    """The credentials of a profile, as `_core._profile` returns it; `None` if it has none.

    A passphrase comes from the profile's `passphrase_file` or `passphrase_command`, otherwise from
    the terminal. That of a login is read when the store first needs it. `base_url` is the service
    that they are used at.

    Raises:
        ConfigError: The profile is of another service.
    """
    import boardlot as bl

    check_address(entry, base_url)
    if entry["kind"] == "api_key":
        file = entry["private_key"]
        password = passphrase_of(entry, file, "password")() if _is_encrypted(file) else None
        return bl.ApiKey(entry["key_id"], file, password=password)
    if entry["kind"] == "oauth":
        return bl.OAuth(entry["client_id"], store=profile_store(entry), base_url=base_url)
    return None


def application_of(entry: Mapping[str, Any]) -> str | None:
    """The id of the application to which the service grants a rate; `None` without credentials."""
    return entry.get("key_id") or entry.get("client_id")


def check_address(entry: Mapping[str, Any], base_url: str | None) -> None:
    """Refuse the credentials of a profile at another service than its own.

    Raises:
        ConfigError: It is of another service.
    """
    from boardlot import _core

    own = entry.get("base_url")
    if own is not None and base_url is not None and entry["kind"] != "none":
        _core._check_profile_address(own, base_url)


def profile_store(entry: Mapping[str, Any]) -> EncryptedFileStore | KeyringStore:
    """The store of a login: an encrypted file, or the keychain."""
    import boardlot as bl

    file = entry.get("store")
    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, passphrase_of(entry, file))


def passphrase_of(
    entry: Mapping[str, Any], file: str | PathLike[str], label: str = "passphrase"
) -> Passphrase:
    """The passphrase of the profile's encrypted file."""
    command = entry.get("passphrase_command")
    return Passphrase.source(file, entry.get("passphrase_file"), command, label)


def _is_encrypted(key_file: str | PathLike[str]) -> bool:
    path = Path(key_file)
    return path.is_file() and b"ENCRYPTED" in path.read_bytes()
