"""Where the command line keeps tokens: the keychain, or an encrypted file."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

__all__ = ["open_store"]


def open_store(file: Path | None) -> Any:
    """The keychain, or the encrypted file whose passphrase is asked for at the terminal."""
    import boardlot as bl

    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, lambda: getpass.getpass(f"passphrase of {file}: "))
