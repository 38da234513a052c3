"""Values that show the types of the columns of a query without rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any

TIME, DAY = datetime(2000, 1, 1, tzinfo=timezone.utc), date(2000, 1, 1)
# Of each kind of a declared field, as SQLite's views have it.
OF_KIND: dict[str, Any] = {
    "integer": 0, "flag": 0, "number": 0.5, "decimal": 0.5, "timestamp": TIME, "date": DAY,
}  # fmt: skip
# The results of functions; of others with one of these as their first argument, its type.
OF_FUNCTION: dict[str, Any] = {
    "count": 0, "length": 0, "instr": 0, "avg": 0.5, "total": 0.5, "round": 0.5,
    "upper": "", "lower": "", "substr": "", "trim": "", "group_concat": "", "strftime": "",
    "replace": "", "printf": "", "format": "", "date": DAY,
}  # fmt: skip
SAME = ("min", "max", "sum", "abs", "coalesce", "ifnull")
CALL = re.compile(r"(\w+)\s*\(\s*(?:distinct\s+)?([^(),]*).*\)", re.IGNORECASE | re.DOTALL)
LITERAL: dict[str, Any] = {r"[+-]?\d+": 0, r"[+-]?\d*\.\d+": 0.5, r"'[^']*'": ""}


def of_kind(kind: str) -> Any:
    """A value of a declared field, by its kind."""
    return OF_KIND.get(kind.removesuffix(" not zero"), "")


def of_query(
    query: str, columns: Sequence[str], views: Mapping[str, Mapping[str, Any]]
) -> list[Any]:
    """A value for each column of a query in SQLite, which has no types for columns; `None` if its
    type is not known.

    Args:
        views: A value for each column of each view, by their names in lower case.
    """
    text = re.sub(r"--[^\n]*", " ", query)
    words = set(re.findall(r"\w+", text.lower()))
    known: dict[str, list[Any]] = {}
    for view in words & views.keys():
        for name, value in views[view].items():
            known.setdefault(name, []).append(value)
    # The same name may have two types in two views.
    fields = {name: values[0] for name, values in known.items() if len(set(values)) == 1}
    return [_of_expression(_aliased(text, column), fields) for column in columns]


def _aliased(query: str, column: str) -> str:
    """The expression that a query names so, or the column itself."""
    name = re.escape(column)
    found = re.search(
        r"(?:\bselect|\bdistinct|,)\s*([\w.]+(?:\s*\((?:[^()]|\([^()]*\))*\))?|'[^']*')\s+as\s+[\"`\[]?"
        + name
        + r"\b",
        query,
        re.IGNORECASE,
    )
    return found[1] if found else column


def _of_expression(expression: str, fields: Mapping[str, Any]) -> Any:
    text = expression.strip().strip('"').lower()
    if (name := text.rpartition(".")[2]) in fields:
        return fields[name]
    for pattern, value in LITERAL.items():
        if re.fullmatch(pattern, text):
            return value
    call = CALL.fullmatch(text)
    if call is None:
        return None
    if call[1] in SAME:
        return _of_expression(call[2], fields)
    return OF_FUNCTION.get(call[1])
