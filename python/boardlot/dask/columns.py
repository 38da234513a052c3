"""Typed columns that are the same in every partition, even in an empty one."""

from __future__ import annotations

from typing import Any

import pandas as pd

from boardlot.errors import ConfigError

__all__ = ["conformed", "empty"]

# Nullable types, so that nulls in a partition do not change its types.
NULLABLE = {"integer": "Int64", "flag": "boolean"}


def empty(records: Any, decimals: str, meta: pd.DataFrame | None, key: str | None) -> pd.DataFrame:
    """A frame without rows that has the columns of every partition.

    Args:
        records: `Records` without rows, for their schema.
        decimals: As for `to_pandas`, except `"decimal"`.
        meta: The caller's own columns, which replace the declared ones.
        key: The name of the key column, which is not a field.

    Raises:
        ConfigError: The record declares no fields and there is no `meta`, or `decimals` is
            not one of its values.
    """
    if decimals not in ("float64", "string"):
        raise ConfigError(f'decimals is {decimals!r}; expected "float64" or "string"')
    if meta is not None:
        return meta.iloc[:0]
    if all(field.name == key for field in records.schema):
        raise ConfigError(
            "the service's documentation does not show the fields of this record: pass meta=, an "
            "empty frame with the columns to keep, such as that of one key: "
            "client.fetch_many(method, [key]).to_pandas().iloc[:0]"
        )
    fields = tuple((field.name, field.kind) for field in records.schema)
    if (fields, decimals) not in _EMPTY:
        texts = {"text", "decimal"} if decimals == "string" else {"text"}
        types = {name: "string[pyarrow]" for name, kind in fields if kind in texts}
        types |= {name: NULLABLE[kind] for name, kind in fields if kind in NULLABLE}
        frame: pd.DataFrame = records.to_pandas(decimals=decimals)
        _EMPTY[fields, decimals] = frame.astype(types)
    return _EMPTY[fields, decimals].copy()


# By fields and decimals: making one takes as long as fetching a page.
_EMPTY: dict[tuple[tuple[tuple[str, str], ...], str], pd.DataFrame] = {}


def conformed(frame: pd.DataFrame, meta: pd.DataFrame) -> pd.DataFrame:
    """The frame with the columns and types of `meta`: other columns are left out."""
    return frame.reindex(columns=meta.columns).astype(meta.dtypes.to_dict())
