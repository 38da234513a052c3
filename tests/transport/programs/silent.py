"""Two calls that fail, in a program that configures no log."""

import contextlib
import sys

if sys.argv[2] == "imported":
    import logging  # noqa: F401 - it is what differs

import boardlot as bl

with bl.Client(sys.argv[1], max_retries=1) as client:
    for _ in range(2):
        with contextlib.suppress(bl.BoardlotError):
            client.server_time()
