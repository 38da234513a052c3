"""Forks between two pages."""

import os
import sys

import boardlot as bl

from tests.support.processes import forked

client = bl.Client(sys.argv[1], auth=bl.ApiKey(*sys.argv[2:4]))
fills = client.fills_history("281756", "HK", page_size=10)
statuses = set()
for number, _ in enumerate(fills):
    # The next page is being fetched, and its request signed, on a thread of ours.
    if number % 10 == 0:
        statuses.add(os.waitpid(forked(client.server_time), 0)[1])
print(number + 1, statuses)
