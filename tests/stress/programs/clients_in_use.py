"""The resident memory of each of 500 clients that have sent a request, in kB."""

import gc
import re
import sys
from pathlib import Path

import boardlot as bl

base_url, account, key_id, key_file = sys.argv[1:]
auth = bl.ApiKey(key_id, key_file)


def resident():
    return int(re.search(r"^VmRSS:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)[1])


def used():
    client = bl.Client(base_url, auth=auth)
    client.sim_positions(account)
    client.dividends("HK.00700")
    return client


first = [used() for _ in range(50)]
gc.collect()
before = resident()
kept = [used() for _ in range(500)]
gc.collect()
print((resident() - before) / len(kept))
