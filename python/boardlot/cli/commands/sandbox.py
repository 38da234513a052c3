"""`boardlot sandbox`: the service on this machine, for other programs; and its profile, which ends
with it."""

from __future__ import annotations

import ipaddress
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import click

import boardlot as bl
from boardlot import _core
from boardlot._support.hidden import Hidden
from boardlot.cli.click_classes import Command
from boardlot.cli.files import UserPath, reject_existing, write_secret
from boardlot.cli.numbers import Number, Whole
from boardlot.cli.options import shown_options
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Settings
from boardlot.errors import BoardlotError

RATE = Number(0.0, 1.0)
(PROFILE,) = shown_options("--profile")
PROFILE.help = "Register it as a profile of that name until it ends."
# Options of `boardlot.Sandbox`, then those of `boardlot.Faults`.
NUMBERS: list[tuple[str, Number | Whole, float, str]] = [
    ("--port", Whole(0, 65535), 0, "Port; 0 picks a free one."),
    ("--seed", Whole(0), 0, "Seed of the data."),
    ("--fills", Whole(0), 2000, "Number of fills in the last 90 days."),
    ("--orders", Whole(0), 120, "Number of orders."),
    ("--plate-stocks", Whole(0), 500, "Number of stocks."),
    ("--token-lifetime", Number(0), 7200.0, "Seconds that an access token is valid."),
    ("--clock-offset", Number(-(10**9), 10**9), 0.0, "Seconds its clock is ahead."),
    ("--latency", Number(0), 0.0, "Seconds before a response."),
    ("--error-rate", RATE, 0.0, "Fraction of responses that are errors."),
    ("--drop-rate", RATE, 0.0, "Fraction of connections dropped."),
    ("--truncate-rate", RATE, 0.0, "Fraction of responses cut short."),
    ("--throttle-rate", RATE, 0.0, "Fraction of responses with HTTP 429."),
    ("--html-rate", RATE, 0.0, "Fraction of responses that are HTML pages."),
]
FAULTS = ("latency", "error_rate", "drop_rate", "truncate_rate", "throttle_rate", "html_rate")
# A signal that arrives just before a sleep does not end it.
SECONDS_BETWEEN_CHECKS = 0.5


@click.command(
    "sandbox",
    cls=Command,
    output="format",
    examples=[
        "boardlot sandbox",
        "boardlot sandbox --seed 7 --key-file key.pem",
        "boardlot sandbox --profile paper",
        "boardlot sandbox --latency 0.05 --error-rate 0.01",
    ],
    params=[
        PROFILE,
        *(
            click.Option([name], type=kind, default=default, show_default=bool(default), help=text)
            for name, kind, default, text in NUMBERS
        ),
    ],
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--expose", is_flag=True, help="Allow a --host that other machines can reach.")
@click.option(
    "--algorithm",
    type=click.Choice(["Ed25519", "RSA-SHA256"]),
    default="Ed25519",
    show_default=True,
    help="Algorithm of the key.",
)
@click.option(
    "--key-file",
    type=UserPath(),
    help="Create this file with a private key that the sandbox accepts.",
)
@click.pass_obj
def sandbox(
    settings: Settings,
    /,
    host: str,
    expose: bool,
    algorithm: Literal["Ed25519", "RSA-SHA256"],
    key_file: Path | None,
    **numbers: Any,
) -> None:
    """Serve the whole service on this machine, with invented data, until Ctrl-C.

    What a program needs to connect goes to stdout: base URL, key id and account ids; with
    `boardlot --format json sandbox` as one line of JSON. No secrets are shown: --key-file writes
    the private key to a file that only you can read.

    With --profile, other commands and programs use it as `boardlot --profile NAME ...` and
    `boardlot.Client(profile=NAME)`. The profile is removed when the sandbox ends; if it is killed,
    the next sandbox with that name replaces the profile.
    """
    name = settings.profile
    if name is not None:
        check_profile(name)
    if not _is_loopback(host):
        if name is not None:
            raise click.UsageError(
                f"--profile needs a loopback address, and --host is {host}: clients use http only "
                "on this machine"
            )
        if not expose:
            raise click.UsageError(
                f"--host {host} can be reached from other machines: add --expose if you intend that"
            )
        text = f"warning: other machines can reach this sandbox on {host}; anyone there can log in"
        note(text, "warning", click.style(text, fg="yellow"))
    if key_file is not None:
        reject_existing(key_file)

    rates = {name: numbers.pop(name) for name in FAULTS}
    faults = bl.Faults(seed=numbers["seed"], **rates) if any(rates.values()) else None
    # Ctrl-C, SIGTERM and a closed terminal are the normal ends of this command.
    with suppress(KeyboardInterrupt, SystemExit), ExitStack() as stack:
        sandbox = stack.enter_context(bl.Sandbox(host=host, faults=faults, **numbers))
        info: dict[str, Any] = {"base_url": sandbox.base_url, "accounts": sandbox.accounts}
        if key_file is None and name is not None:
            folder = tempfile.TemporaryDirectory(prefix=KEY_FOLDER, ignore_cleanup_errors=True)
            key_file = Path(stack.enter_context(folder)) / "key.pem"
        if key_file is not None:
            key = bl.generate_key(algorithm)
            info["key_id"] = sandbox.upload_key(key.public_pem)
            info["key_file"] = str(key_file)
            write_secret(key_file, Hidden(key.private_pem))
        try:
            if name is not None and key_file is not None:
                info["profile"] = name
                profile = registered(name, sandbox.base_url, info["key_id"], key_file)
                stack.enter_context(profile)
            _print(info, as_json=settings.format in ("json", "jsonl"))
        except (BoardlotError, OSError):
            # The key of a sandbox that did not start would block the next run.
            if key_file is not None:
                _core._remove_file(key_file)
            raise
        note("serving until Ctrl-C")
        while True:
            # Unlike waiting for an event, sleeping ends on Ctrl-C on every platform.
            time.sleep(SECONDS_BETWEEN_CHECKS)
    note("stopped")


def _print(info: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(info))
        return
    for name in ("base_url", "profile", "key_id", "key_file"):
        if name in info:
            click.echo(f"{name.replace('_', ' ').replace('url', 'URL'):<16}{info[name]}")
    if "key_id" not in info:
        note("no key was created: add --key-file FILE for signed requests")
    for kind, accounts in info["accounts"].items():
        click.echo(f"{kind + ' accounts':<16}{', '.join(map(str, accounts))}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise click.UsageError(f"--host {host} is not a numeric IP address") from None


# The folder of the key, by which the profile of a sandbox that was killed is recognized.
KEY_FOLDER = "boardlot-sandbox-"


def check_profile(name: str) -> None:
    """Reject a name that belongs to another profile, before the sandbox starts."""
    known = _core._profile(name, may_be_missing=True)
    if known is None or (_is_of_sandbox(known) and not _responds(known["base_url"])):
        return
    raise click.UsageError(
        f"the profile {name} already exists, of {known['base_url']}: choose another name, or "
        f"remove it with `boardlot profile remove {name}`"
    )


def _is_of_sandbox(entry: dict[str, Any]) -> bool:
    key_file: Path | None = entry.get("private_key")
    return key_file is not None and key_file.parent.name.startswith(KEY_FOLDER)


def _responds(base_url: str) -> bool:
    with suppress(BoardlotError), bl.Client(base_url, timeout=2, max_retries=0) as client:
        client.server_time()
        return True
    return False


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
    note(f"added the profile {name} to {path} until the sandbox ends")
    try:
        yield
    finally:
        try:
            # Another profile of this name belongs to the user.
            if (_core._profile(name, may_be_missing=True) or {}).get("key_id") == key_id:
                _core._remove_profile(name)
                note(f"removed the profile {name}")
        except (BoardlotError, OSError) as error:
            note(
                f"boardlot: the profile {name} is still there: {error}; remove it with "
                f"`boardlot profile remove {name}`"
            )
