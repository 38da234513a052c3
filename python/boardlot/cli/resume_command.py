"""The command line that resumes an interrupted download, ready to be pasted."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from boardlot.cli.settings import Settings

__all__ = ["RESUMABLE_FORMATS", "resumable_command", "same_command"]

RESUMABLE_FORMATS = ["csv", "jsonl"]

# Every option that may contain a secret, which must not appear on a screen or in a log.
REDACTED: dict[str, Callable[[str], str]] = {
    "--body": lambda _: "...",
    "--header": lambda value: f"{value.partition(':')[0]}: ...",
    "--passphrase-command": lambda _: "...",
    "--proxy": lambda value: re.sub(r"^(\w+://)?.*@", r"\1...@", value),
    "--query": lambda value: f"{value.partition('=')[0]}=...",
}


def resumable_command(settings: Settings) -> str:
    """The command of the user, with the options that make it resumable."""
    resumable = settings.data_format in RESUMABLE_FORMATS
    form = settings.data_format if resumable else "jsonl"
    out = settings.out
    if out is None or (out.exists() and not out.is_file()):
        out = Path(f"fills.{form}")
    elif not resumable:
        out = out.with_suffix(f".{form}")
    more = [] if resumable or settings.format is None else ["--format", form]
    if out != settings.out:
        more += ["--out", str(out)]
    return _quoted([*settings.typed, *more, "--resume", f"{out}.checkpoint"])


def same_command(settings: Settings) -> str:
    """The command of the user."""
    return _quoted(settings.typed)


def _quoted(words: Sequence[str]) -> str:
    """The words quoted for a shell."""
    join = shlex.join if os.name == "posix" else subprocess.list2cmdline
    return join(["boardlot", *_redacted(words)])


def _redacted(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        name, equals, value = word.partition("=")
        if before in REDACTED:
            yield REDACTED[before](word)
        elif equals and name in REDACTED:
            yield f"{name}={REDACTED[name](value)}"
        else:
            yield word
        before = word if before not in REDACTED else ""
