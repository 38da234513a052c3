"""Typed columns: records as a pyarrow Table, a pandas or a polars DataFrame."""

from boardlot.results.frames import to_arrow, to_pandas, to_polars

__all__ = ["to_arrow", "to_pandas", "to_polars"]
