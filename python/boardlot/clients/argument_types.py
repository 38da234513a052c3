"""The types of the arguments of the clients' methods, as the generated annotations name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

__all__ = ["Day", "Query", "Time"]

Query = Mapping[str, str | int | float] | Sequence[tuple[str, str | int | float]]
Day = str | date
Time = str | int | date | datetime
