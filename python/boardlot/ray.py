"""Lists of the service as ray.data Datasets, read in parallel by the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from boardlot._support.extras import needs

with needs("Ray 2.60 or newer", "ray", "boardlot.ray"):
    import pyarrow as pa
    import ray

    # Versions before 2.57 leave the renaming of columns to the source; the tests run on this
    # version.
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < (2, 60):
        raise ImportError(f"Ray {ray.__version__} is too old", name="ray")
    from ray.data import ReadTask
    from ray.data.block import BlockMetadata
    from ray.data.expressions import BinaryExpr, ColumnExpr, LiteralExpr, Operation

from boardlot import AsyncClient, Client, Endpoint, RateLimit
from boardlot._calls import explained
from boardlot._support.engines import partition_tables as tables, partitions as parts
from boardlot.records import Decimals

__all__ = ["Datasource", "read"]


@explained
def read(
    client_or_profile: Client | AsyncClient | str,
    method: str | Endpoint,
    *,
    partitions: int = 64,
    decimals: Decimals = "float64",
    rate_limit: float | RateLimit | None = None,
    ray_options: dict[str, Any] | None = None,
    **arguments: Any,
) -> ray.data.Dataset:
    """A list of the service as a Dataset, of which each partition is read by one task.

    Nothing is fetched before the Dataset is consumed; then the workers fetch. They receive a
    reference to the credentials, never a secret. Each row is in exactly one partition: a task that
    Ray runs again, such as after the loss of a worker, reads the same rows again, and Ray drops the
    rows of the lost task. `select_columns` makes only these columns. A filter expression of
    `fills_history` on `code` (`==`) or `updated_time` becomes part of the requests, and is applied
    again to the rows.

    Args:
        client_or_profile: A client that can be pickled (its credentials are a key file, a profile
            or a token store), or the name of a profile. Only its arguments are used.
        method: The name of a method that returns records, such as `"fills_history"`, or an
            `Endpoint` with a `record`.
        partitions: The number of tasks. Keys are split first, then a range of time. A partition is
            in memory as a whole.
        decimals: As for `to_arrow`.
        rate_limit: Requests per second of all workers together; `None` is the client's own. It is
            divided by the number of tasks that the cluster's CPUs can run at once when this is
            called; a `RateLimit` of the client is shared and not divided.
        ray_options: Further arguments of `ray.data.read_datasource`, such as
            `{"ray_remote_args": {"retry_exceptions": True}}`.
        arguments: The arguments of the method. One of them can be a list, such as several accounts:
            then the rows have a leading column with its value.

    Returns:
        A Dataset of the declared columns, typed as by `to_arrow`. An open range ends now, by the
        service's clock.

    Raises:
        ConfigError: The client's credentials cannot be sent as a reference, or an argument is
            missing or not valid; nothing was sent.
        BoardlotError: As raised by `server_time`, for an open range. In a worker: as raised by the
            method.

    Example:
        >>> import boardlot.ray
        >>> dividends = boardlot.ray.read("live", "dividends", symbol="HK.00700")  # doctest: +SKIP
    """
    reference = parts.refer(client_or_profile, rate_limit)
    parts.count(partitions)
    query = parts.Query.of(method, arguments)
    source = Datasource(reference, query, partitions, decimals)
    options = {"override_num_blocks": len(source.plan()) or 1, **(ray_options or {})}
    return ray.data.read_datasource(source, **options)


class Datasource(ray.data.Datasource):  # type: ignore[misc]
    """A source that Ray reads; made by `read`."""

    def __init__(
        self, reference: parts.Reference, query: parts.Query, partitions: int, decimals: Decimals
    ) -> None:
        super().__init__()
        self._projection_map: dict[str, str] | None = None
        self._reference, self._partitions, self._decimals = reference, partitions, decimals
        self._schema = tables.schema(query, decimals)
        # An open range is fixed once, whatever is pushed down later.
        with reference.open() as client:
            self._query = query.fixed(client)
        cpus = int(ray.cluster_resources().get("CPU", 1)) if ray.is_initialized() else 1
        self._processes = max(1, min(partitions, cpus))

    def get_name(self) -> str:
        return self._query.name

    def supports_projection_pushdown(self) -> bool:
        return True

    def supports_predicate_pushdown(self) -> bool:
        return True

    def estimate_inmemory_data_size(self) -> int | None:
        # The service does not say how many rows a range has.
        return None

    def plan(self) -> list[parts.Partition]:
        """The partitions that have rows, as far as the filters say."""
        pushed = filters(self._predicate_expr)
        with self._reference.open() as client:
            return parts.plan(client, self._query, self._partitions, pushed)

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """One task for each partition, however many Ray suggests."""
        columns = self._get_data_columns()
        names = self._schema.names if columns is None else columns
        # Without any column, the number of rows would be lost.
        names = names or self._schema.names[-1:]
        shown = pa.schema([self._schema.field(name) for name in names])
        predicate = self._predicate_expr
        used = "" if predicate is None else str(predicate.to_pyarrow())
        needed = [name for name in self._schema.names if name in names or name in used]
        metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        tasks = []
        for partition in self.plan():
            read = _Read(
                self._reference, partition, tuple(names), tuple(needed), self._decimals, predicate,
                self._processes,
            )  # fmt: skip
            tasks.append(
                ReadTask(read, metadata, schema=shown, per_task_row_limit=per_task_row_limit)
            )
        if not tasks:
            empty = shown.empty_table()
            tasks.append(ReadTask(lambda: iter([empty]), metadata, schema=shown))
        return tasks


@dataclass(frozen=True)
class _Read:
    """Reads one partition, in a worker.

    The whole partition is one table: a part that a lost worker had passed on would be followed by
    the rows of another worker, whose pages may have other rows.
    """

    reference: parts.Reference
    partition: parts.Partition
    columns: tuple[str, ...]
    needed: tuple[str, ...]
    decimals: Decimals
    predicate: Any
    processes: int

    def __call__(self) -> Iterator[pa.Table]:
        client = self.reference.client(self.processes)
        table = tables.table(self.partition, client, self.needed, self.decimals)
        if self.predicate is not None:
            table = table.filter(self.predicate.to_pyarrow())
        yield table.select(list(self.columns))


OPERATORS = {
    Operation.EQ: "==",
    Operation.LT: "<",
    Operation.LE: "<=",
    Operation.GT: ">",
    Operation.GE: ">=",
}


def filters(expression: Any) -> parts.Filters:
    """The part of an expression that the service can apply."""
    return parts.Filters.of(_conditions(expression))


def _conditions(expression: Any) -> Iterator[parts.Condition]:
    if not isinstance(expression, BinaryExpr):
        return
    left, operator, right = expression.left, expression.op, expression.right
    if operator == Operation.AND:
        yield from _conditions(left)
        yield from _conditions(right)
    elif operator in OPERATORS and isinstance(left, ColumnExpr) and isinstance(right, LiteralExpr):
        yield parts.Condition(left.name, OPERATORS[operator], right.value)
    elif operator in OPERATORS and isinstance(left, LiteralExpr) and isinstance(right, ColumnExpr):
        yield parts.Condition(right.name, parts.MIRRORED[OPERATORS[operator]], left.value)
