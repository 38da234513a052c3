"""What a shell may complete: names of profiles, columns and markets. Nothing is sent."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from boardlot._endpoints import ENDPOINTS, MARKETS
from boardlot.errors import BoardlotError

__all__ = ["complete_columns", "complete_condition", "complete_markets", "complete_profiles"]

COLUMNS = {endpoint.command: endpoint.columns for endpoint in ENDPOINTS}


def complete_profiles(
    _ctx: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The profiles in `config.toml`."""
    from boardlot import _core

    try:
        names, _ = _core._profiles()
    except BoardlotError:
        # A file that cannot be read has nothing to complete; the command will say so.
        return []
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def complete_markets(
    _ctx: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The markets, in whatever case they are typed."""
    return [CompletionItem(name) for name in MARKETS if name.startswith(typed.upper())]


def complete_columns(
    ctx: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The last name of a list of columns such as `code,qty`."""
    before, comma, last = typed.rpartition(",")
    sign = "-" if last.startswith("-") else ""
    taken = set(before.replace("-", "").split(","))
    return [
        CompletionItem(f"{before}{comma}{sign}{name}")
        for name in _columns(ctx)
        if name.startswith(last.removeprefix("-")) and name not in taken
    ]


def complete_condition(
    ctx: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The field of a condition such as `qty>100`."""
    return [CompletionItem(name) for name in _columns(ctx) if name.startswith(typed)]


def _columns(ctx: click.Context) -> tuple[str, ...]:
    """The declared fields of the command's rows, in all their markets."""
    return COLUMNS.get(ctx.info_name or "", ())
