"""`boardlot keygen`: a new key pair for signed requests."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from boardlot.cli.files import refuse_existing, write_secret
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
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
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

    FILE is readable by you alone and never overwritten. Upload the public key in the service's
    developer dashboard, and give the key id that you get there to `boardlot.ApiKey`.
    """
    import boardlot as bl

    if bits is not None and algorithm != "RSA-SHA256":
        raise click.UsageError("--bits is of RSA keys: add --algorithm RSA-SHA256, or leave it out")
    refuse_existing(file)
    key = bl.generate_key(algorithm, bits=int(bits or 3072))
    write_secret(file, key.private_pem)
    click.echo(f"wrote the private key to {file}; upload the public key below", err=True)
    click.echo(key.public_pem, nl=False)
