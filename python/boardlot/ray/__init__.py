"""Lists of the service as ray.data Datasets, read in parallel by the cluster."""

from __future__ import annotations

try:
    from ray import __version__ as _version

    # Those before 2.57 leave the renaming of columns to the source; the tests run on this one.
    if tuple(int(part) for part in _version.split(".")[:2]) < (2, 60):
        raise ImportError(f"Ray {_version} is too old", name="ray")
    import ray.data as _ray  # noqa: F401
except ImportError as _missing:
    raise ImportError(
        "boardlot.ray needs Ray 2.60 or newer: pip install -U 'boardlot[ray]'", name=_missing.name
    ) from _missing

from boardlot.ray.source import Datasource, read

__all__ = ["Datasource", "read"]
