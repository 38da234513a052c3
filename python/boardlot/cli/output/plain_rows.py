"""Rows of the command line's own, such as profiles and reports, for the writers of its formats."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

# The kind of a column whose values all have these types.
KINDS: dict[str, set[type]] = {"flag": {bool}, "integer": {int}, "number": {int, float}}


class PlainField(NamedTuple):
    """A column of flags or numbers; see `_core.SchemaField`."""

    name: str
    kind: str
    unit: str = ""
    doc: str = ""
    values: str | None = None


class PlainRows:
    """Undeclared rows: the counterpart of `_core._Rows` for rows of the service.

    Args:
        rows: The rows.
        columns: The names of their columns, if these are known even without rows.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
        self._rows: list[dict[str, Any]] = [plain(row) for row in rows]
        # Without rows, a column without a name is left out.
        known = (name for name in columns if name or rows)
        self._names = list(dict.fromkeys([*known, *(name for row in rows for name in row)]))
        kinds = ((name, _kind([row.get(name) for row in self._rows])) for name in self._names)
        self.schema: tuple[PlainField, ...] = tuple(
            PlainField(name, kind) for name, kind in kinds if name and kind
        )

    def __len__(self) -> int:
        return len(self._rows)

    def names(self) -> list[str]:
        """The names of the columns in their order."""
        return self._names

    def dicts(self) -> list[dict[str, Any]]:
        """The rows."""
        return self._rows

    typed_dicts = dicts

    def json(self, names: list[str] | None = None) -> list[str]:
        """Each row as compact JSON: all fields, or those with these names."""
        if names is None:
            return [_json(row) for row in self._rows]
        return [_json({name: row.get(name) for name in names}) for row in self._rows]

    def texts(self, names: list[str]) -> list[list[str | None]]:
        """The fields with these names of each row, as text; `None` for null and missing ones."""
        return [[_text(row.get(name)) for name in names] for row in self._rows]

    def take(self, indices: list[int]) -> PlainRows:
        """The rows at these indices, in this order."""
        return self._with([self._rows[index] for index in indices])

    def slice(self, start: int, stop: int) -> PlainRows:
        """The rows from `start` to before `stop`."""
        return self._with(self._rows[start:stop])

    def _with(self, rows: list[dict[str, Any]]) -> PlainRows:
        """Other rows with the same columns."""
        others = copy(self)
        others._rows = rows
        return others

    def table(self) -> Any:
        """A pyarrow Table: columns of flags or numbers alone have their type, others are text."""
        import pyarrow as pa

        types = {"flag": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
        kinds = {field.name: field.kind for field in self.schema}

        def column(name: str) -> Any:
            values = [row.get(name) for row in self._rows]
            if (kind := kinds.get(name)) in types:
                return pa.array(values, types[kind])
            return pa.array(map(_text, values), pa.string())

        return pa.table({name: column(name) for name in self._names})


def _kind(values: list[Any]) -> str | None:
    types = {type(value) for value in values if value is not None}
    if not values:
        return "text"
    kind = next((kind for kind, known in KINDS.items() if types and types <= known), None)
    is_long = kind == "integer" and any(abs(value or 0) >= 1 << 63 for value in values)
    return None if is_long else kind


def plain(value: Any) -> Any:
    """A value for JSON: bytes as hexadecimal digits; times, decimals and all others as text; null
    for an infinity, which JSON does not have, but a database may."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, dict):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _json(value)
