"""The profile of a running sandbox, which ends with it."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from boardlot import _core
from boardlot.cli.stores import check_config
from boardlot.crash_safe import remove
from boardlot.errors import BoardlotError

__all__ = ["check_profile", "key_folder", "registered"]

# The folder of the key, by which the profile of a sandbox that was killed is recognised.
KEY_FOLDER = "boardlot-sandbox-"


def check_profile(name: str) -> None:
    """Reject a name that belongs to another profile, before the sandbox starts.

    Raises:
        StoreError: `config.toml` cannot be written.
    """
    known = _core._profile(name, may_be_missing=True)
    if known is None:
        pass
    elif not _is_of_sandbox(known):
        raise click.UsageError(
            f"the profile {name} already exists: choose another name, or remove it with "
            f"`boardlot profile remove {name}`"
        )
    elif _listens(known["base_url"]):
        raise click.UsageError(
            f"the profile {name} belongs to the sandbox that is running at {known['base_url']}: "
            "choose another name"
        )
    else:
        # Of a sandbox that was killed.
        with suppress(OSError):
            remove(known["private_key"])
            known["private_key"].parent.rmdir()
    check_config()


@contextmanager
def key_folder() -> Iterator[Path]:
    """A folder for the key of a sandbox, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=KEY_FOLDER))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def registered(name: str, base_url: str, key_id: str, key_file: Path) -> Iterator[None]:
    """Make the sandbox a profile while the block runs."""
    entry = {
        "base_url": base_url,
        "kind": "api_key",
        "key_id": key_id,
        "private_key": key_file.absolute(),
    }
    path = _core._save_profile(name, entry, replace=True)
    click.echo(f"added the profile {name} to {path} until the sandbox ends", err=True)
    try:
        yield
    finally:
        _remove(name, entry)


def _remove(name: str, entry: dict[str, Any]) -> None:
    """Remove the profile, unless it is another one by now; say what is left."""
    try:
        found = _core._profile(name, may_be_missing=True)
        if found is None:
            return
        if any(found.get(member) != value for member, value in entry.items()):
            click.echo(f"kept the profile {name}: it was changed in the meantime", err=True)
            return
        _core._remove_profile(name)
    except (BoardlotError, OSError) as error:
        click.echo(
            f"boardlot: the profile {name} is still there: {error}; remove it with "
            f"`boardlot profile remove {name}`",
            err=True,
        )
    else:
        click.echo(f"removed the profile {name}", err=True)


def _is_of_sandbox(entry: dict[str, Any]) -> bool:
    if entry["kind"] != "api_key":
        return False
    return str(entry["private_key"].parent.name).startswith(KEY_FOLDER)


def _listens(base_url: str) -> bool:
    url = urlsplit(base_url)
    try:
        socket.create_connection((url.hostname or "", url.port or 0), timeout=2).close()
    except OSError:
        return False
    return True
