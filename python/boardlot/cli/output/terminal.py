"""Text that may be sent to a terminal: colours, also for JSON."""

from __future__ import annotations

import os
import re

import click

# A text, with the colon after it if it is a name; or a number or a word.
TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|\btrue\b|\bfalse\b|\bnull\b)')


def coloured_json(text: str) -> str:
    """The text of a JSON document, with nothing but colours added."""
    return TOKEN.sub(_coloured, text)


def _coloured(found: re.Match[str]) -> str:
    text, colon, other = found.groups()
    if other is not None:
        return click.style(other, fg="yellow")
    return (
        click.style(text, fg="blue", bold=True) + colon if colon else click.style(text, fg="green")
    )


def coloured() -> bool:
    """True if a terminal may be sent colours: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
