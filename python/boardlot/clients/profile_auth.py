"""The credentials that a profile in `config.toml` names."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boardlot.clients.passphrase import Passphrase

if TYPE_CHECKING:
    from boardlot import ApiKey, EncryptedFileStore, KeyringStore, OAuth

__all__ = ["passphrase_of", "profile_auth", "profile_store"]


def profile_auth(entry: Mapping[str, Any], base_url: str | None = None) -> ApiKey | OAuth | None:
    """The credentials of a profile, as `_core._profile` returns it; `None` if it has none.

    A passphrase comes from the profile's `passphrase_file` or `passphrase_command`, otherwise from
    the terminal. That of a login is read when the store first needs it. `base_url` is the service
    of a login that is used without a client.
    """
    import boardlot as bl

    if entry["kind"] == "api_key":
        file = entry["private_key"]
        password = passphrase_of(entry, file, "password")() if _is_encrypted(file) else None
        return bl.ApiKey(entry["key_id"], file, password=password)
    if entry["kind"] == "oauth":
        return bl.OAuth(entry["client_id"], store=profile_store(entry), base_url=base_url)
    return None


def profile_store(entry: Mapping[str, Any]) -> EncryptedFileStore | KeyringStore:
    """The store of a login: an encrypted file, or the keychain."""
    import boardlot as bl

    file = entry.get("store")
    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, passphrase_of(entry, file))


def passphrase_of(
    entry: Mapping[str, Any], file: str | PathLike[str], called: str = "passphrase"
) -> Passphrase:
    """The passphrase of the profile's encrypted file."""
    command = entry.get("passphrase_command")
    return Passphrase.source(file, entry.get("passphrase_file"), command, called)


def _is_encrypted(key_file: str | PathLike[str]) -> bool:
    path = Path(key_file)
    return path.is_file() and b"ENCRYPTED" in path.read_bytes()
