"""What a shell may complete: names of profiles, columns and markets. Nothing is sent."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from boardlot.errors import BoardlotError

__all__ = ["complete_profiles"]


def complete_profiles(
    _ctx: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The profiles in `config.toml`, with their services."""
    from boardlot import _core

    try:
        names, _ = _core._profiles()
    except BoardlotError:
        # A file that cannot be read has nothing to complete; the command will say so.
        return []
    return [CompletionItem(name) for name in names if name.startswith(typed)]
