"""Lists of the service as a data source of Spark 4.1 or newer."""

from __future__ import annotations

try:
    from pyspark.sql.datasource import DataSourceReader as _Reader

    _Reader.pushFilters  # noqa: B018
except (ImportError, AttributeError) as _missing:
    raise ImportError(
        "boardlot.spark needs Spark 4.1 or newer: pip install -U 'boardlot[spark]'",
        name="pyspark",
    ) from _missing

from boardlot.spark.source import DataSource, options

__all__ = ["DataSource", "options"]
