"""A coroutine's wait for the core."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


def awaited(call: Any) -> Generator[Any, None, Any]:
    """Waits for a call of the core, an `AwaitedCall`, as `await` does."""
    wake_up = call.start()
    try:
        yield from wake_up
        return call.result()
    finally:
        call.abort()
