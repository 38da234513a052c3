"""Typed columns that are the same in every partition, also in an empty one."""

from __future__ import annotations

from typing import Any

import pandas as pd

from boardlot.errors import ConfigError

__all__ = ["empty", "fitted"]

# Types that hold missing values as well, so that a partition's own nulls change nothing.
NULLABLE = {"text": "string[pyarrow]", "integer": "Int64", "flag": "boolean"}


def empty(records: Any, decimals: str, meta: pd.DataFrame | None, key: str | None) -> pd.DataFrame:
    """A frame without rows that has the columns of every partition.

    Args:
        records: `Records` without rows, for their schema.
        decimals: What `to_pandas` takes, but for `"decimal"`.
        meta: The caller's own columns, which go before the declared ones.
        key: The name of the column that is the key and no field.

    Raises:
        ConfigError: The record declares no fields and there is no `meta`, or `decimals` is
            none of its values.
    """
    if decimals not in ("float64", "string"):
        raise ConfigError(f'decimals is {decimals!r}; allowed is "float64" or "string"')
    if meta is not None:
        return meta.iloc[:0]
    if all(field.name == key for field in records.schema):
        raise ConfigError(
            "the service document does not show the fields of this record: pass meta=, an empty "
            "frame with the columns to keep, such as that of one key: "
            "client.fetch_many(method, [key]).to_pandas().iloc[:0]"
        )
    types = {field.name: NULLABLE[field.kind] for field in records.schema if field.kind in NULLABLE}
    if decimals == "string":
        types |= {
            field.name: "string[pyarrow]" for field in records.schema if field.kind == "decimal"
        }
    frame: pd.DataFrame = records.to_pandas(decimals=decimals)
    return frame.astype(types)


def fitted(frame: pd.DataFrame, meta: pd.DataFrame) -> pd.DataFrame:
    """The frame with the columns and types of `meta`: other columns are left out."""
    return frame.reindex(columns=meta.columns).astype(meta.dtypes.to_dict())
