"""Writes the same frame as Parquet in another process."""

import sys
import tempfile

import boardlot as bl
from boardlot.dask import from_keys, from_range, write_missing

client = bl.Client(sys.argv[1], auth=bl.ApiKey(sys.argv[2], sys.argv[3]), rate_limit=900, timeout=7)
keys = from_keys(client, "dividends", ["HK.00700"], npartitions=1, concurrency=2)
now = int(sys.argv[4])
span = {"start": now - 10**12, "end": now, "npartitions": 3, "page_size": 20}
fills = from_range(client, "fills_history", acc_id=281756, trd_market="HK", **span)
for frame in (keys, fills, fills[fills["qty"] > 500]):
    with tempfile.TemporaryDirectory() as folder:
        print(*(path.name for path in write_missing(frame, folder)))
