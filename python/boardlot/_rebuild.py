"""Objects made anew: from the arguments that a pickle carries, from what a profile names."""

from __future__ import annotations

from typing import Any


def rebuild(kind: type, arguments: dict[str, Any]) -> object:
    return kind(**arguments)


def login_of(client_id: str, store_file: Any) -> object:
    """The login of a profile: its tokens lie in the keychain, or in an encrypted file."""
    import functools
    import getpass

    import boardlot as bl

    if store_file is None:
        return bl.OAuth(client_id, store=bl.KeyringStore())
    ask = functools.partial(getpass.getpass, f"passphrase of {store_file}: ")
    return bl.OAuth(client_id, store=bl.EncryptedFileStore(store_file, ask))
