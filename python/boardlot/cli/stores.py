"""Where the command line keeps tokens: the keychain, or an encrypted file."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import click

__all__ = ["base_url_of", "open_store", "store_option"]

store_option = click.option(
    "--store",
    "store_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="An encrypted file for the tokens; without it the keychain.",
)


def open_store(file: Path | None) -> Any:
    """The keychain, or the encrypted file whose passphrase is asked for at the terminal."""
    import boardlot as bl

    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, lambda: getpass.getpass(f"passphrase of {file}: "))


def base_url_of(base_url: str | None) -> str:
    if base_url is None:
        raise click.UsageError("which service? Add --base-url URL before the command")
    return base_url
