"""Pages into boardlot without HTTP, by two functions of the core that exist for measuring.

- `_core._response_parser(name, arguments)(body) -> Rows`: the result that the method of that name
  makes of one response; like a client, it keeps the builder of records from one response to the
  next. `arguments` is the list of pairs that `_ClientCore.call` takes.
- `_core._pages_of_bodies(name, arguments, bodies, copied=False, windows=None) -> Pages`: a pager of
  these responses, one after another, in place of requests. With `copied`, each page has a copy of
  its own, as if it came from the network: where memory is measured and the pages are kept. With
  `windows`, each window of the time range has an equal share of the responses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

START, END = 1_786_000_000_000_000, 1_790_000_000_000_000
FILLS = [("acc_id", "281756"), ("trd_market", "HK"), ("start", START), ("end", END)]


class HookMissing(Exception):
    """The installed wheel cannot take responses without HTTP."""


def _hook(name: str) -> Any:
    from boardlot import _core

    hook = getattr(_core, name, None)
    if hook is None:
        raise HookMissing(f"the installed wheel has no boardlot._core.{name}")
    return hook


def reader_of(name: str, arguments: list[tuple[str, Any]]) -> Callable[[bytes], Any]:
    from boardlot.records import records_of

    parse = _hook("_response_parser")(name, arguments)
    return lambda body: records_of(parse(body))


def pager_of(bodies: Sequence[bytes], copied: bool = False, windows: int = 1) -> Any:
    """A pager over pages of fills."""
    import boardlot as bl

    return bl.Pager(_hook("_pages_of_bodies")("fills_history", FILLS, bodies, copied, windows))


def require() -> None:
    _hook("_response_parser")
    _hook("_pages_of_bodies")
