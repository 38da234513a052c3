"""`boardlot keygen`: a new key pair for signed requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import click

from boardlot.cli.paths import UserPath, refuse_existing
from boardlot.cli.secret_files import secret_file
from boardlot.cli.settings import Command

__all__ = ["command"]


@click.command(
    "keygen",
    cls=Command,
    examples=[
        "boardlot keygen key.pem > key.pub",
        "boardlot keygen rsa.pem --algorithm RSA-SHA256 --bits 4096 > rsa.pub",
    ],
)
@click.argument("file", type=UserPath())
@click.option(
    "--algorithm",
    type=click.Choice(["Ed25519", "RSA-SHA256"]),
    default="Ed25519",
    show_default=True,
)
@click.option(
    "--bits",
    type=click.Choice(["2048", "3072", "4096"]),
    help="Size of an RSA key; 3072 unless told.",
)
def command(file: Path, algorithm: Literal["Ed25519", "RSA-SHA256"], bits: str | None) -> None:
    """Make a key pair: the private key goes into FILE, the public key to stdout.

    FILE is readable by you alone and never overwritten. If the public key cannot be written, FILE
    is removed again. Upload the public key in the service's
    developer dashboard, and give the key id that you get there to `boardlot.ApiKey`.
    """
    import boardlot as bl

    if bits is not None and algorithm != "RSA-SHA256":
        raise click.UsageError("--bits is of RSA keys: add --algorithm RSA-SHA256, or leave it out")
    refuse_existing(file)
    key = bl.generate_key(algorithm, bits=int(bits or 3072))
    with secret_file(file, key.private_pem), _to_stdout(file):
        click.echo(key.public_pem, nl=False)
    click.echo(f"wrote the private key to {file}; upload the public key", err=True)


@contextmanager
def _to_stdout(file: Path) -> Iterator[None]:
    """What the public key cannot be written to is named, and what became of the private one."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            f"the public key cannot be written to stdout: {reason}; {file} was removed: run the "
            "command again"
        ) from error
