"""What the clients' methods take, by its names in their annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

__all__ = ["Day", "Query", "Time"]

Query = Mapping[str, str | int | float] | Sequence[tuple[str, str | int | float]]
Day = str | date
Time = str | int | date | datetime
