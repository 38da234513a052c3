"""`boardlot keygen`: creates a key pair for signed requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import click

from boardlot.cli.click_classes import Command
from boardlot.cli.files import UserPath, reject_existing, secret_file


@click.command(
    "keygen",
    cls=Command,
    output="nothing",
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
    help="Size of an RSA key; default: 3072.",
)
def keygen(file: Path, algorithm: Literal["Ed25519", "RSA-SHA256"], bits: str | None) -> None:
    """Create a key pair: the private key goes into FILE, the public key to stdout.

    Only you can read FILE, and an existing file is never overwritten. If the public key cannot be
    written, FILE is removed. Upload the public key in the service's developer dashboard, and pass
    the key id that you get there to `boardlot.ApiKey`.
    """
    import boardlot as bl

    if bits is not None and algorithm != "RSA-SHA256":
        raise click.UsageError(
            "--bits is valid only for RSA keys: add --algorithm RSA-SHA256, or leave it out"
        )
    reject_existing(file)
    key = bl.generate_key(algorithm, bits=int(bits or 3072))
    with secret_file(file, key.private_pem), _removal_reported(file):
        click.echo(key.public_pem, nl=False)
    click.echo(f"wrote the private key to {file}; upload the public key", err=True)


@contextmanager
def _removal_reported(file: Path) -> Iterator[None]:
    """If the public key cannot be written, say so, and that the private one was removed."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            f"the public key cannot be written to stdout: {reason}; {file} was removed. Run the "
            "command again"
        ) from error
