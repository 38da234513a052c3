"""`boardlot keygen`: creates a key pair for signed requests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

import boardlot as bl
from boardlot._support.credentials import passphrase_of
from boardlot.cli.click_classes import Command
from boardlot.cli.files import UserPath, check_writable, reject_existing, write_secret
from boardlot.cli.options import shown_options
from boardlot.cli.output.emit import naming
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Settings


@click.command(
    "keygen",
    cls=Command,
    output="nothing",
    params=shown_options("--passphrase-file", "--passphrase-command"),
    examples=[
        "boardlot keygen key.pem > key.pub",
        "boardlot keygen key.pem --passphrase-file secret > key.pub",
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
@click.pass_obj
def keygen(
    settings: Settings, file: Path, algorithm: Literal["Ed25519", "RSA-SHA256"], bits: str | None
) -> None:
    """Create a key pair: the private key goes into FILE, the public key to stdout.

    Only you can read FILE, which with --passphrase-file or --passphrase-command is also encrypted
    (PKCS#8). An existing file is never overwritten. If the public key cannot be
    written, there is no FILE. Upload the public key in the service's developer dashboard, and pass
    the key id that you get there to `boardlot.ApiKey`.
    """
    if bits is not None and algorithm != "RSA-SHA256":
        raise click.UsageError(
            "--bits is valid only for RSA keys: add --algorithm RSA-SHA256, or leave it out"
        )
    settings.check_secrets()
    reject_existing(file)
    try:
        check_writable(file)
    except OSError as error:
        text = f"{file} cannot be written: {error.filename}: {error.strerror}; choose another FILE"
        raise click.ClickException(text) from None
    key = bl.generate_key(algorithm, bits=int(bits or 3072))
    passphrase = passphrase_of(settings.credentials, file)
    private = key._encrypted_pem(passphrase()) if passphrase.unattended else key.private_pem
    # First: without a public key, the private one is of no use.
    with naming("stdout"):
        click.echo(key.public_pem, nl=False)
        sys.stdout.flush()
    write_secret(file, private)
    note(f"wrote the private key to {file}; upload the public key")
