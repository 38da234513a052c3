"""The login that a profile in `config.toml` names."""

from __future__ import annotations

import functools
import getpass
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boardlot import OAuth

__all__ = ["profile_login"]


def profile_login(client_id: str, store_file: str | PathLike[str] | None) -> OAuth:
    """The login whose tokens are stored in that encrypted file, or in the keychain for `None`.

    The passphrase of the file is asked for at the terminal when the store first needs it.
    """
    import boardlot as bl

    if store_file is None:
        return bl.OAuth(client_id, store=bl.KeyringStore())
    ask = functools.partial(getpass.getpass, f"passphrase of {store_file}: ")
    return bl.OAuth(client_id, store=bl.EncryptedFileStore(store_file, ask))
