"""How a coroutine waits for the core."""

from __future__ import annotations

from typing import Any


async def awaited(call: Any) -> Any:
    """The result of a call of the core, an `AwaitedCall`."""
    wake_up = call.start()
    try:
        await wake_up
        return call.result()
    finally:
        call.abort()
