"""Lists of the service as ray.data Datasets, read in parallel by the cluster."""

from __future__ import annotations

try:
    import ray.data as _ray  # noqa: F401
except ImportError as _missing:
    raise ImportError(
        "boardlot.ray needs Ray: pip install 'boardlot[ray]'", name=_missing.name
    ) from _missing

from boardlot.ray.source import Datasource, read

__all__ = ["Datasource", "read"]
