"""Files of secrets: for the owner alone from their first byte on, and never overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import click

__all__ = ["refuse_existing", "write_secret"]


def refuse_existing(path: Path) -> None:
    """End the command where something stands at the path: a link counts too."""
    if os.path.lexists(path):
        raise click.UsageError(f"{path} exists and is not overwritten")


def write_secret(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, from its first byte on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(text.encode())
