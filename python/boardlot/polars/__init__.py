"""Lists of the service as polars LazyFrames, of which only what a query needs is fetched."""

from __future__ import annotations

try:
    from polars.io.plugins import register_io_source as _register  # noqa: F401
except ImportError as _missing:
    raise ImportError(
        "boardlot.polars needs polars 1.18 or newer: pip install -U 'boardlot[polars]'",
        name=_missing.name,
    ) from _missing

from boardlot.polars.scan import scan

__all__ = ["scan"]
