"""Parts of what a method returns, for engines that read them in parallel: the one plan behind
`boardlot.polars`, `boardlot.dask`, `boardlot.ray` and `boardlot.spark`.

A `Query` says what is read, `plan` splits it, and each `Partition` reads its own rows: every row is
in exactly one. What a worker needs besides is a `Reference` to the client, which contains no
secret.
"""

from __future__ import annotations

from boardlot.partitions.filters import Condition, Filters
from boardlot.partitions.plan import Partition, count, plan
from boardlot.partitions.query import Query
from boardlot.partitions.reference import Reference, refer

__all__ = ["Condition", "Filters", "Partition", "Query", "Reference", "count", "plan", "refer"]
