"""Pages into boardlot without HTTP, by two functions of the core that exist for measuring.

- `_core._page_of(name, arguments, body) -> Records`: what the method of that name makes of one
  answer. `arguments` is the list of pairs that `ClientBase._call` takes.
- `_core._pager_of(name, arguments, bodies) -> Pager`: a pager whose pages are these answers, one
  after another, in place of requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FILLS = [("acc_id", "281756"), ("trd_market", "HK"), ("end", 1_790_000_000_000_000)]


class HookMissing(Exception):
    """The installed wheel cannot be fed without HTTP."""


def _hook(name: str) -> Any:
    from boardlot import _core

    hook = getattr(_core, name, None)
    if hook is None:
        raise HookMissing(f"the installed wheel has no boardlot._core.{name}")
    return hook


def page_of(name: str, arguments: list[tuple[str, Any]], body: bytes) -> Any:
    return _hook("_page_of")(name, arguments, body)


def pager_of(bodies: Sequence[bytes]) -> Any:
    """A pager over pages of deals."""
    return _hook("_pager_of")("fills_history", FILLS, bodies)


def require() -> None:
    _hook("_page_of")
    _hook("_pager_of")
