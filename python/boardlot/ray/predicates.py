"""The conditions of a Ray expression that the service can apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ray.data.expressions import BinaryExpr, ColumnExpr, LiteralExpr, Operation

from boardlot.partitions import Condition, Filters

__all__ = ["filters"]

OPERATORS = {
    Operation.EQ: "==",
    Operation.LT: "<",
    Operation.LE: "<=",
    Operation.GT: ">",
    Operation.GE: ">=",
}
MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def filters(expression: Any) -> Filters:
    """What of an expression the service can apply."""
    return Filters.of(_conditions(expression))


def _conditions(expression: Any) -> Iterator[Condition]:
    if not isinstance(expression, BinaryExpr):
        return
    left, operator, right = expression.left, expression.op, expression.right
    if operator == Operation.AND:
        yield from _conditions(left)
        yield from _conditions(right)
    elif operator in OPERATORS and isinstance(left, ColumnExpr) and isinstance(right, LiteralExpr):
        yield Condition(left.name, OPERATORS[operator], right.value)
    elif operator in OPERATORS and isinstance(left, LiteralExpr) and isinstance(right, ColumnExpr):
        yield Condition(right.name, MIRRORED[OPERATORS[operator]], left.value)
