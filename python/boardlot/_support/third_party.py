"""The types of other packages in annotations, which are `Any` where these may not be installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecBase
    from typing_extensions import CapsuleType, Self
else:
    pandas = polars = SimpleNamespace(DataFrame=Any)
    pyarrow = SimpleNamespace(Table=Any, RecordBatch=Any)
    Axes = GridSpecBase = CapsuleType = Self = Any

# pyarrow has no types.
ArrowTable = Any
RecordBatch = Any

__all__ = [
    "ArrowTable",
    "Axes",
    "CapsuleType",
    "GridSpecBase",
    "RecordBatch",
    "Self",
    "pandas",
    "polars",
    "pyarrow",
]
