"""The conditions of a polars predicate that the service can apply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from boardlot.partitions import Condition, Filters

if TYPE_CHECKING:
    import polars as pl

__all__ = ["filters"]

OPERATORS = {"Eq": "==", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
# How many of each unit are a microsecond, or how many microseconds it is.
UNITS = {"Nanoseconds": (1, 1_000), "Microseconds": (1, 1), "Milliseconds": (1_000, 1)}


def filters(predicate: pl.Expr | None) -> Filters:
    """What of a predicate the service can apply: nothing, if the predicate is of a form that is not
    known here. polars has no other way to look into an expression than its serialized form, which
    may change with each version."""
    if predicate is None:
        return Filters()
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
        return Filters.of(_conditions(tree))
    # Whatever a later version writes, without conditions the result is the same.
    except Exception:
        return Filters()


def _conditions(tree: Any) -> Iterator[Condition]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            yield from _conditions(left)
            yield from _conditions(right)
        case {"BinaryExpr": {"left": {"Column": str(column)}, "op": operator, "right": value}}:
            yield from _condition(column, OPERATORS.get(operator), value)
        case {"BinaryExpr": {"left": value, "op": operator, "right": {"Column": str(column)}}}:
            yield from _condition(column, MIRRORED.get(OPERATORS.get(operator, "")), value)
        case {
            "Function": {
                "input": [{"Column": str(column)}, low, high],
                "function": {"Boolean": {"IsBetween": {"closed": str(closed)}}},
            }
        } if closed in CLOSED:
            after, before = CLOSED[closed]
            yield from _condition(column, after, low)
            yield from _condition(column, before, high)


def _condition(column: str, operator: str | None, literal: Any) -> Iterator[Condition]:
    if operator is None:
        return
    match literal:
        case {"Literal": {"Scalar": {"String": str(text)}}}:
            yield Condition(column, operator, text)
        # A time without a zone is not compared with one that has a zone.
        case {"Literal": {"Scalar": {"Datetime": [int(count), str(unit), {"inner": _}]}}}:
            times, divisor = UNITS[unit]
            yield Condition(column, operator, count * times // divisor)
