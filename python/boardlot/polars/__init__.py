"""Lists of the service as polars LazyFrames, of which only what a query needs is fetched."""

from __future__ import annotations

try:
    from polars import __version__ as _version

    # Earlier ones lose filters of a source on a time with a zone.
    if tuple(int(part) for part in _version.split(".")[:2]) < (1, 22):
        raise ImportError(f"polars {_version} is too old", name="polars")
except ImportError as _missing:
    raise ImportError(
        "boardlot.polars needs polars 1.22 or newer: pip install -U 'boardlot[polars]'",
        name=_missing.name,
    ) from _missing

from boardlot.polars.scan import scan

__all__ = ["scan"]
