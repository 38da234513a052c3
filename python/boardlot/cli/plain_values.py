"""`plain`: a value of a database as JSON has it."""

from __future__ import annotations

from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """A value for JSON: bytes as hexadecimal digits; times, decimals and all others as text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, dict):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)
