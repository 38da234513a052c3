"""The command that goes on with a broken download, as it is typed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from boardlot.cli.settings import Settings

__all__ = ["RESUMED_FORMATS", "same_command", "with_resume"]

RESUMED_FORMATS = ["csv", "jsonl"]

# What may hold a secret, which has no place on a screen that others may see, or in a log.
HIDDEN: dict[str, Callable[[str], str]] = {
    "--header": lambda value: f"{value.partition(':')[0]}: ...",
    "--proxy": lambda value: re.sub(r"^(\w+://)?.*@", r"\1...@", value),
}


def with_resume(settings: Settings) -> str:
    """The command that was typed, with what it takes to go on where it is broken off."""
    kept = settings.data_format in RESUMED_FORMATS
    form = settings.data_format if kept else "jsonl"
    out = settings.out
    if out is None or (out.exists() and not out.is_file()):
        out = Path(f"fills.{form}")
    elif not kept:
        out = out.with_suffix(f".{form}")
    more = [] if kept or settings.format is None else ["--format", form]
    if out != settings.out:
        more += ["--out", str(out)]
    return _line([*settings.typed, *more, "--resume", f"{out}.checkpoint"])


def same_command(settings: Settings) -> str:
    """The command that was typed."""
    return _line(settings.typed)


def _line(words: Sequence[str]) -> str:
    """As a shell takes it."""
    join = shlex.join if os.name == "posix" else subprocess.list2cmdline
    return join(["boardlot", *_without_secrets(words)])


def _without_secrets(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        name, equals, value = word.partition("=")
        if before in HIDDEN:
            yield HIDDEN[before](word)
        elif equals and name in HIDDEN:
            yield f"{name}={HIDDEN[name](value)}"
        else:
            yield word
        before = word if before not in HIDDEN else ""
