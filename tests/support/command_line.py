"""The command as users run it: a process of its own, before a sandbox, in a pipe or a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any, NamedTuple

import boardlot as bl
from boardlot.cli.settings import FORMATS

from .keys import uploaded_key

# The formats that can be written to a terminal or a pipe.
TEXT_FORMATS = [name for name, row in FORMATS.items() if not row.is_binary]
COMMAND = [sys.executable, "-m", "boardlot"]
ACCOUNT = "281756"


class Screen(NamedTuple):
    """The text that a terminal got, and how the command ended."""

    text: str
    status: int

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


class Service:
    """A sandbox, and the profile `live` that leads to it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.sandbox = bl.Sandbox(**{"seed": 7, **options})
        self.key_id, key_file = uploaded_key(self.sandbox, folder)
        self.key_file = Path(key_file)
        (folder / "boardlot").mkdir()
        (folder / "boardlot" / "config.toml").write_text(
            f'[profiles.live]\nbase_url = "{self.sandbox.base_url}"\n'
            f'auth = {{ kind = "api_key", key_id = "{self.key_id}", '
            f'private_key = "{self.key_file}" }}\n'
        )
        self.environment = {
            **os.environ,
            "XDG_CONFIG_HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "PYTHONIOENCODING": "utf-8",
            "TERM": "xterm-256color",
        }
        # pytest-xdist sets the size of its own terminal, and make its own options.
        for name in ("NO_COLOR", "COLUMNS", "LINES", "MAKEFLAGS", "MFLAGS"):
            self.environment.pop(name, None)

    def install(self, folder: Path) -> None:
        """Puts a program `boardlot` into the folder, and the folder first on the path."""
        folder.mkdir()
        program(folder / "boardlot", f'exec "{sys.executable}" -m boardlot "$@"')
        self.environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"

    def start(self, *arguments: str, **how: Any) -> subprocess.Popen[bytes]:
        """The command with the profile, its stdout and stderr in pipes."""
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        env = {**self.environment, **how.pop("env", {})}
        return subprocess.Popen([*COMMAND, "--profile", "live", *arguments], env=env, **how)

    def run(self, *arguments: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
        with self.start(*arguments, **how) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def rows(self, *arguments: str) -> bytes:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def terminal(self, *arguments: str, columns: int = 80, **environment: str) -> Screen:
        """The command in a terminal of its own, of this many columns."""
        command = [*COMMAND, "--profile", "live", *arguments]
        return in_a_terminal(command, columns, {**self.environment, **environment})

    def close(self) -> None:
        self.sandbox.close()


def program(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def in_a_terminal(
    command: list[str], columns: int, environment: dict[str, str] | None = None
) -> Screen:
    """A command in a terminal of its own, of this many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(command, env=environment, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        text = _read_all(ours)
    os.close(ours)
    return Screen(text.replace("\r\n", "\n"), process.returncode)


def _read_all(terminal: int) -> str:
    parts = []
    # Linux raises an error when the other end is closed.
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 65536):
            parts.append(part)
    return b"".join(parts).decode()
