"""The credentials that a profile in `config.toml` names, and where their passphrase comes from: a
file, a command or the terminal; never the environment."""

from __future__ import annotations

import codecs
import getpass
import os
import shutil
import stat
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import boardlot as bl
from boardlot import _core
from boardlot._support.hidden import Hidden
from boardlot._support.messages import hints
from boardlot.errors import StoreError

MAX_BYTES = 4096
# Seconds that a command may take: a person may have to unlock something.
COMMAND_TIMEOUT = 120.0
# Words that only a shell understands.
SHELL_WORDS = ("|", "||", "&&", ";", ">", "<")


@dataclass(frozen=True, slots=True)
class Passphrase:
    """Returns the passphrase of a file when it is called; a pickle says only where it is stored."""

    of: str
    """The encrypted file that the passphrase opens, for the prompt and for errors."""
    file: str | PathLike[str] | None = None
    """The file that contains the passphrase, readable only by its owner."""
    command: tuple[str, ...] | None = field(default=None, repr=False)
    """The program that prints the passphrase, and its arguments; no shell is involved."""
    label: str = "passphrase"
    """The terminal's word for the passphrase: a key has a password."""

    def __call__(self) -> str:
        """The passphrase.

        Raises:
            StoreError: The passphrase cannot be read.
        """
        if self.file is not None:
            return _only_line(*_content(self.file))
        if self.command is not None:
            return _only_line(*_output(self.command))
        return self.ask(f"{self.label} of {self.of}: ")

    @property
    def unattended(self) -> bool:
        """True if no person is asked."""
        return self.file is not None or self.command is not None

    def ask(self, prompt: str) -> str:
        """Ask for the passphrase at the terminal."""
        try:
            with warnings.catch_warnings():
                # The warning is raised before anything is printed: no terminal can hide the typing.
                warnings.simplefilter("error", getpass.GetPassWarning)
                return getpass.getpass(prompt)
        except getpass.GetPassWarning:
            line = _line_of_stdin()
        except (EOFError, AttributeError, OSError, ValueError):
            # Ends the line of the prompt.
            print(file=sys.stderr)
            line = None
        if line is not None:
            return line
        raise StoreError(
            f"{self.of} is encrypted and there is no terminal to ask for its passphrase; for "
            "unattended jobs set passphrase_file or passphrase_command in the profile "
            "(`boardlot profile add --help`), or pass --passphrase-file or "
            "--passphrase-command",
            hint=hints.NO_TERMINAL,
        )


def _line_of_stdin() -> str | None:
    """The next line of stdin; None if it is closed or at its end."""
    try:
        line = sys.stdin.readline()
    except (AttributeError, OSError, ValueError):
        return None
    return line.removeprefix("\ufeff").removesuffix("\n") if line else None


def _content(file: str | PathLike[str]) -> tuple[Hidden, str, str]:
    """The content of a file that only its owner can read, its name and the hint for errors."""
    file = _core._expand_user(file)
    name, hint = f"passphrase_file {_core._shown_path(file)}", hints.PASSPHRASE_FILE
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise StoreError(
                    f"{name} is not a regular file; for the output of a program, "
                    "such as <(...) in a shell, use passphrase_command",
                    hint=hint,
                )
            if sys.platform != "win32":
                if status.st_uid not in (os.geteuid(), 0):
                    problem = f"{name} belongs to another user; expected a file of your own"
                    raise StoreError(problem, hint=hint)
                if status.st_mode & 0o077:
                    problem = f"{name} can be read or changed by other users; run: chmod 600 {file}"
                    raise StoreError(problem, hint=hint)
            return Hidden(opened.read(MAX_BYTES + 1)), name, hint
    except OSError as error:
        problem = f"{name} cannot be read: {error.strerror or error}"
        raise StoreError(problem, hint=hint) from None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe, which may never come."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _output(command: Sequence[str]) -> tuple[Hidden, str, str]:
    """The output of a command, its name and the hint for errors. Errors do not show the arguments,
    one of which may be a secret."""
    command = (_core._expand_user(command[0]), *command[1:])
    # A program that is not found may be the passphrase itself.
    known = shutil.which(command[0]) is not None
    name = f"passphrase_command {command[0] if known else _core._shown_path(command[0])}"
    hint = hints.PASSPHRASE_COMMAND
    if any(word in SHELL_WORDS or word.startswith(("$", "~")) for word in command[1:]):
        hint = hints.WITHOUT_SHELL
    try:
        output, status = _run(command)
    except subprocess.TimeoutExpired:
        problem = f"{name} did not end within {COMMAND_TIMEOUT:g} s"
    except (OSError, ValueError) as error:
        problem = f"{name} cannot be run: {getattr(error, 'strerror', None) or error}"
    else:
        if status == 0:
            return output, name, hint
        problem = f"{name} failed with exit status {status}"
    # An argument may be a secret, and so may be the output.
    del command
    raise StoreError(problem, hint=hint) from None


def _run(command: Sequence[str]) -> tuple[Hidden, int]:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=COMMAND_TIMEOUT,
        check=False,
    )
    return Hidden(done.stdout), done.returncode


def _only_line(text: Hidden, name: str, hint: str) -> str:
    """The passphrase, without the line break at its end."""
    problem = _problem_of(text)
    if problem:
        raise StoreError(f"{name} {problem}; expected the passphrase alone", hint=hint)
    return _line(text).decode()


def _line(text: Hidden) -> bytes:
    line: bytes = text.reveal()
    return line.removeprefix(codecs.BOM_UTF8).removesuffix(b"\n").removesuffix(b"\r")


def _problem_of(text: Hidden) -> str:
    """The problem with the content of a file or the output of a command; "" without one.

    Raises nothing, so no error shows a frame with the passphrase.
    """
    line = _line(text)
    if not line:
        return "has no passphrase"
    if b"\n" in line or len(text.reveal()) > MAX_BYTES:
        return "has more than one line, or a line over 4 KiB"
    try:
        line.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return ""


def profile_auth(
    entry: Mapping[str, Any], base_url: str | None = None
) -> bl.ApiKey | bl.OAuth | None:
    """The credentials of a profile, as `_core._profile` returns it; `None` if it has none.

    A passphrase comes from the profile's `passphrase_file` or `passphrase_command`, otherwise from
    the terminal. The passphrase of a login is read when the store first needs it. `base_url` is the
    service at which the credentials are used.

    Raises:
        ConfigError: The profile is of another service.
    """
    check_address(entry, base_url)
    if entry["kind"] == "api_key":
        return key_in_file(entry["key_id"], entry["private_key"], entry)
    if entry["kind"] == "oauth":
        return profile_login(entry, entry["client_id"], profile_store(entry), base_url)
    return None


def key_in_file(key_id: str, file: str | PathLike[str], entry: Mapping[str, Any]) -> bl.ApiKey:
    """The key in a file, which is opened by the password of the profile's entry if it is encrypted.

    Raises:
        ConfigError: The file is not a key, or the password is wrong.
        StoreError: The password cannot be read.
    """
    if not is_encrypted(file):
        return bl.ApiKey(key_id, file)
    return bl.ApiKey(key_id, file, password=passphrase_of(entry, file, "password")())


def profile_login(
    entry: Mapping[str, Any], client_id: str, store: Any, base_url: str | None
) -> bl.OAuth:
    """A login, whose errors name its profile, if it has one."""
    login = bl.OAuth(client_id, store=store, base_url=base_url)
    if "name" in entry:
        login._set_profile(entry["name"])
    return login


def application_of(entry: Mapping[str, Any]) -> str | None:
    """The id of the application to which the service grants a rate; `None` without credentials."""
    return entry.get("key_id") or entry.get("client_id")


def check_address(entry: Mapping[str, Any], base_url: str | None) -> None:
    """Refuse to use the credentials of a profile at another service.

    Raises:
        ConfigError: The profile is of another service.
    """
    own = entry.get("base_url")
    if own is not None and base_url is not None and entry["kind"] != "none":
        _core._check_profile_address(own, base_url)


def profile_store(entry: Mapping[str, Any]) -> bl.EncryptedFileStore | bl.KeyringStore:
    """The store of a login: an encrypted file, or the keychain."""
    file = entry.get("store")
    if file is None:
        return bl.KeyringStore()
    return bl.EncryptedFileStore(file, passphrase_of(entry, file))


def passphrase_of(
    entry: Mapping[str, Any], file: str | PathLike[str], label: str = "passphrase"
) -> Passphrase:
    """The passphrase of the profile's encrypted file."""
    source, command = entry.get("passphrase_file"), entry.get("passphrase_command")
    return Passphrase(os.fspath(file), source, command and tuple(command), label)


def is_encrypted(key_file: str | PathLike[str]) -> bool:
    """True if the file of a key needs a password."""
    path = Path(key_file)
    # Otherwise `ApiKey` says what is wrong.
    return os.access(path, os.R_OK) and path.is_file() and b"ENCRYPTED" in path.read_bytes()
