"""Many calls as a dask DataFrame: each partition is a part of the keys or of the time range.

Nothing is fetched before the frame is computed; then the workers fetch. They receive a reference to
the credentials (the path of a key file, a profile, a token store), never a secret, and share the
rate limit: each process has one client, with `rate_limit` divided by the number of workers in the
cluster when the partition starts, or by the number of partitions if that is smaller.
"""

from __future__ import annotations

try:
    import dask.dataframe as _dask  # noqa: F401
except ImportError as _missing:
    raise ImportError(
        "boardlot.dask needs dask: pip install 'boardlot[dask]'", name=_missing.name
    ) from _missing

from boardlot.dask.keys import from_keys
from boardlot.dask.ranges import from_range
from boardlot.dask.writing import write_missing

__all__ = ["from_keys", "from_range", "write_missing"]
