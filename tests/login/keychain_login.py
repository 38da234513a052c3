"""A login kept in the keychain: prints its URL, reads the callback, and calls the service."""

import sys

import boardlot as bl

try:
    flow = bl.begin_login(sys.argv[1], timeout=120.0)
    print(flow.url, flush=True)
    oauth = flow.finish(sys.stdin.readline().strip())
    with bl.Client(sys.argv[1], auth=oauth) as client:
        print(len(client.reference_futures("HK.HSImain")))
except bl.StoreError as error:
    print("StoreError", bool(error.hint))
