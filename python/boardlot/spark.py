"""Lists of the service as a data source of Spark 4.1 or newer."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from boardlot._support.extras import needs

with needs("Spark 4.1 or newer", "spark", "boardlot.spark"):
    import pyarrow as pa
    from pyspark.sql import datasource as spark
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

    if not hasattr(spark.DataSourceReader, "pushFilters"):
        raise ImportError("pyspark is too old", name="pyspark")

from boardlot import ApiKey, AsyncClient, Client
from boardlot._calls import explained
from boardlot._support.engines import partition_tables as tables, partitions as parts
from boardlot.errors import ConfigError
from boardlot.records import Decimals

__all__ = ["DataSource", "options"]

OPERATORS: dict[type[spark.Filter], str] = {
    spark.EqualTo: "==",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
}
# The options that are not arguments of the method.
OWN = frozenset(
    {"client", "profile", "base_url", "key_id", "key_file", "method", "partitions", "columns"}
    | {"decimals", "rate_limit", "workers", "push_filters"}
)
PARTITIONS = 64


@explained
def options(client_or_profile: Client | AsyncClient | str) -> dict[str, str]:
    """The options that make the workers use this client, without its secrets.

    Args:
        client_or_profile: A client that can be pickled (its credentials are a key file, a profile
            or a token store), or the name of a profile. Only its arguments are used.

    Returns:
        Options for `spark.read.format("boardlot").options(...)`.

    Raises:
        ConfigError: The client's credentials cannot be sent as a reference.

    Example:
        >>> import boardlot.spark
        >>> options = boardlot.spark.options("live")  # doctest: +SKIP
    """
    pickled = pickle.dumps(parts.refer(client_or_profile))
    return {"client": base64.b64encode(pickled).decode("ascii")}


class DataSource(spark.DataSource):  # type: ignore[misc]
    """A list of the service, of which each partition is read by one task of Spark.

    Register it with `spark.dataSource.register(boardlot.spark.DataSource)`. Options, all of them
    text:

    - a client: those of `boardlot.spark.options(client)`; or `profile`; or `base_url`, `key_id` and
      `key_file`, the path of a private key that all workers have;
    - `method`: the name of a method that returns records, such as `fills_history`;
    - the arguments of the method by their names. One of them can be a list, as JSON text, such as
      `["281756", "281757"]`: then the rows have a leading column with its value. Times are ISO 8601
      text with an offset, or microseconds since 1970;
    - `partitions` (64): the number of tasks. Keys are split first, then a range of time;
    - `columns`: the names of the columns to read, separated by commas; all without it;
    - `decimals`: as for `to_arrow`;
    - `rate_limit`: requests per second of all workers together, instead of the client's own. It is
      divided by `workers`, or else by the number of partitions. A `RateLimit` of the client is
      shared and not divided;
    - `push_filters` (`false`): with `true`, and `spark.sql.python.filterPushdown.enabled`, a filter
      of `fills_history` on `code` (equality) or `updated_time` becomes part of the requests; Spark
      applies it again to the rows. Spark 4.3 keeps the filters of one query for the next one of the
      same DataFrame, which would miss rows: so load a DataFrame for each query.

    Each row is in exactly one partition: a task that Spark runs again reads the same rows again,
    and Spark drops the rows of the lost task.

    Raises `ConfigError` for an invalid option or argument, before anything is sent; in a worker,
    the errors of the method.
    """

    @classmethod
    def name(cls) -> str:
        return "boardlot"

    def schema(self) -> StructType:
        call = _Call.of(dict(self.options))
        return cast(StructType, from_arrow_schema(call.schema()))

    def reader(self, schema: StructType) -> spark.DataSourceReader:
        call = _Call.of(dict(self.options))
        return _PushingReader(call, schema) if call.push_filters else _Reader(call, schema)


@dataclass(frozen=True)
class _Call:
    """The options, parsed."""

    reference: parts.Reference
    query: parts.Query
    partitions: int
    columns: tuple[str, ...] | None
    decimals: Decimals
    workers: int
    push_filters: bool

    @classmethod
    def of(cls, given: dict[str, str]) -> _Call:
        given = {name.lower(): value for name, value in given.items()}
        if "method" not in given:
            raise ConfigError(
                "the option 'method' is missing; expected one such as 'fills_history'"
            )
        arguments = {name: _value(name, text) for name, text in given.items() if name not in OWN}
        columns = tuple(
            name.strip() for name in given.get("columns", "").split(",") if name.strip()
        )
        partitions = _number(given, "partitions", PARTITIONS)
        return cls(
            _reference(given),
            parts.Query.of(given["method"], arguments),
            partitions,
            columns or None,
            cast(Decimals, given.get("decimals", "float64")),
            _number(given, "workers", partitions),
            _flag(given, "push_filters"),
        )

    def schema(self) -> pa.Schema:
        schema = tables.schema(self.query, self.decimals)
        unknown = [name for name in self.columns or () if name not in schema.names]
        if unknown:
            known = ", ".join(schema.names)
            raise ConfigError(f"{', '.join(unknown)} is not a column; expected some of {known}")
        return pa.schema([schema.field(name) for name in self.columns or schema.names])


@dataclass(frozen=True)
class _Part(spark.InputPartition):  # type: ignore[misc]
    """A partition that Spark passes to a task."""

    partition: parts.Partition | None


class _Reader(spark.DataSourceReader):  # type: ignore[misc]
    def __init__(self, call: _Call, schema: StructType) -> None:
        self._call, self._schema = call, schema
        self._pushed: list[parts.Condition] = []

    def partitions(self) -> list[spark.InputPartition]:
        call = self._call
        with call.reference.open() as client:
            found = parts.plan(client, call.query, call.partitions, parts.Filters.of(self._pushed))
        # Without any partition, Spark would ask for one that is None.
        return [_Part(partition) for partition in found] or [_Part(None)]

    def read(self, partition: spark.InputPartition) -> Iterator[pa.RecordBatch]:
        part = cast(_Part, partition).partition
        if part is None:
            return
        call = self._call
        client = call.reference.client(call.workers)
        target = to_arrow_schema(self._schema, timezone="UTC")
        for batch in tables.batches(part, client, self._schema.names, call.decimals):
            yield from pa.Table.from_batches([batch]).cast(target).to_batches()


class _PushingReader(_Reader):
    """Spark refuses to read with a method `pushFilters` while its own setting is off."""

    def pushFilters(self, filters: list[spark.Filter]) -> Iterable[spark.Filter]:
        for condition in filters:
            operator = OPERATORS.get(type(condition))
            if operator is not None and len(condition.attribute) == 1:
                (column,) = condition.attribute
                self._pushed.append(parts.Condition(column, operator, condition.value))
        # Spark applies all filters to the rows again.
        return filters


def _reference(given: dict[str, str]) -> parts.Reference:
    """The client that the options name."""
    limit = float(given["rate_limit"]) if "rate_limit" in given else None
    if "client" in given:
        reference: parts.Reference = pickle.loads(base64.b64decode(given["client"]))
        return reference if limit is None else replace(reference, rate_limit=limit)
    if "profile" in given:
        return parts.refer(given["profile"], limit)
    if not {"base_url", "key_id", "key_file"} <= given.keys():
        raise ConfigError(
            "there is no client: pass boardlot.spark.options(client), the option 'profile', or "
            "'base_url', 'key_id' and 'key_file'"
        )
    auth = ApiKey(given["key_id"], given["key_file"])
    with Client(given["base_url"], auth=auth) as client:
        return parts.refer(client, limit)


def _value(name: str, text: str) -> Any:
    """An argument of the method."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{name} is not a valid JSON list: {error}") from error
    is_number = name in ("start", "end", "page_size", "limit") and text.isdecimal()
    return int(text) if is_number else text


def _flag(given: dict[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{name} is {text!r}; expected 'true' or 'false'")
    return text == "true"


def _number(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{name} is {text!r}; expected a positive integer")
    return int(text)
