"""A key that is dropped and one that is kept, in a process whose memory is searched."""

import gc
import sys

import boardlot as bl

key = bl.ApiKey("id", sys.argv[1])
with bl.Client("http://127.0.0.1:1", auth=key) as client:
    for _ in range(20):
        key.sign(b"payload")
        client.explain("GET", "/api/v1.0/server-time")
kept = bl.ApiKey("id", sys.argv[2])
del key, client
gc.collect()
print("ready", flush=True)
sys.stdin.readline()
