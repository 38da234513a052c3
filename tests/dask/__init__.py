"""Dask frames, in memory and as Parquet."""
