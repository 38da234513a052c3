"""`boardlot keygen` and `public-key`: a key pair for signed requests, and its public half."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import click

import boardlot as bl
from boardlot._support.credentials.profiles import is_encrypted, key_in_file, passphrase_of
from boardlot._support.hidden import Hidden
from boardlot.cli.click_classes import Argument, Command
from boardlot.cli.files import UserPath, check_writable, write_secret
from boardlot.cli.options import shown_options
from boardlot.cli.output.emit import naming
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Settings
from boardlot.cli.statuses import reading_files


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
    (PKCS#8). An existing file is never overwritten: if it has a private key, its public key is
    printed again and nothing changes. If the public key cannot be written, there is no FILE. Upload
    the public key in the service's developer dashboard, and pass the key id that you get there to
    `boardlot.ApiKey`.
    """
    if bits is not None and algorithm != "RSA-SHA256":
        raise click.UsageError(
            "--bits is valid only for RSA keys: add --algorithm RSA-SHA256, or leave it out"
        )
    settings.check_secrets()
    if os.path.lexists(file):
        _print_again(settings, file, algorithm if _is_given("algorithm") else None)
        return
    try:
        check_writable(file)
    except OSError as error:
        text = f"{file} cannot be written: {error.filename}: {error.strerror}; choose another FILE"
        raise click.ClickException(text) from None
    key = bl.generate_key(algorithm, bits=int(bits or 3072))
    passphrase = passphrase_of(settings.credentials, file)
    private = Hidden(key._encrypted_pem(passphrase()) if passphrase.unattended else key.private_pem)
    # Printed first: without a public key, the private one is of no use.
    _print(key.public_pem)
    write_secret(file, private)
    note(f"wrote the private key to {file}; upload the public key")


@click.command(
    "public-key",
    cls=Command,
    output="nothing",
    params=[
        Argument("file", "The private key.", metavar="FILE", type=UserPath()),
        *shown_options("--passphrase-file", "--passphrase-command"),
    ],
    examples=["boardlot public-key key.pem > key.pub"],
)
@click.pass_obj
def public_key(settings: Settings, file: Path) -> None:
    """Print the public key of the private key in FILE.

    The password of an encrypted key comes from --passphrase-file or --passphrase-command, otherwise
    from the terminal.
    """
    settings.check_secrets()
    _print(_key(settings, file).public_key_pem())


def _print_again(settings: Settings, file: Path, algorithm: str | None) -> None:
    """Print the public key of an existing key: a shell has already emptied the file of the public
    key to which stdout is redirected."""
    try:
        key = _key(settings, file)
    except bl.ConfigError as error:
        if is_encrypted(file):
            raise
        text = f"{file} already exists and is not overwritten, and it is not a key: {error}"
        if file.is_file() and not file.stat().st_size:
            # The shell has emptied the file if stdout is redirected to it.
            text = (
                f"{file} is empty, and an existing file is not overwritten: remove it, and "
                f"redirect the public key to another file, such as {file.with_suffix('.pub')}"
            )
        raise click.UsageError(text) from None
    _print(key.public_key_pem())
    note(f"{file} already has a private key, which was not changed; this is its public key")
    if algorithm not in (None, key.algorithm):
        note(f"it is an {key.algorithm} key, not {algorithm}: choose another FILE", "warning")
    if passphrase_of(settings.credentials, file).unattended and not is_encrypted(file):
        note("it is not encrypted: the passphrase was not used", "warning")


def _key(settings: Settings, file: Path) -> bl.ApiKey:
    with reading_files():
        # The dash stands for a key id, which a public key does not need.
        return key_in_file("-", file, settings.credentials)


def _print(public_pem: str) -> None:
    with naming("stdout"):
        click.echo(public_pem, nl=False)
        sys.stdout.flush()


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE
