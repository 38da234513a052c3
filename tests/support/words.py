"""Texts for people, as snapshots that `make snapshots` accepts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import external_file
from inline_snapshot.plugin import Builder, customize

# Room for the indentation, the quotes and a comma in a line of at most 100 characters.
WIDTH = 80
AS_IT_IS: Any = {"break_long_words": False, "break_on_hyphens": False}
INDENT: Any = dict.fromkeys(("initial_indent", "subsequent_indent"), "    ")


@contextmanager
def raises(kind: type[BaseException], text: str) -> Iterator[pytest.ExceptionInfo[Any]]:
    """`pytest.raises` of an error whose text is this one."""
    with pytest.raises(kind) as caught:
        yield caught
    assert str(caught.value) == text


def named(text: str, **names: object) -> str:
    """A text with names instead of what differs in each run, such as the path of a folder."""
    for name, value in names.items():
        text = text.replace(str(value), name)
    return text


def unbroken(err: str) -> str:
    """The stderr of a command, whose lines may be broken anywhere, without the usage."""
    return re.sub("Usage: .* for help. ", "", " ".join(err.split()))


def assert_transcript(file: Path, said: Callable[[str], str]) -> None:
    """Checks a file of commands, each with what boardlot says to it."""
    blocks = []
    for command in file.read_text("utf-8").splitlines():
        if command[:1].strip():
            # Each system has numbers of its own.
            text = re.sub(r"os error \d+", "os error N", said(command))
            lines = [textwrap.fill(line, 100, **INDENT, **AS_IT_IS) for line in text.splitlines()]
            blocks.append("\n".join([command, *lines, ""]))
    assert "\n".join(blocks) == external_file(file)


@customize
def text_in_lines(value: object, builder: Builder) -> Any:
    """Writes a long text as several literals, since no formatter breaks one."""
    if not isinstance(value, str) or all(len(line) <= WIDTH for line in value.splitlines()):
        return None
    parts = (
        part
        for line in value.splitlines(keepends=True)
        for part in textwrap.wrap(
            line, WIDTH, drop_whitespace=False, replace_whitespace=False, **AS_IT_IS
        )
    )
    # Not `repr()`, for which inline-snapshot has another one, which would ask here again.
    return builder.create_code(" ".join(f"{part!r}" for part in parts))
