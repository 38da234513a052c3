"""Engines that read in parallel: polars, Dask, Ray and Spark."""
