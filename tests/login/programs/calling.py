"""Calls the service with one login, one of several processes at once."""

import sys

import boardlot as bl

base_url, client_id, path, passphrase = sys.argv[1:]
oauth = bl.OAuth(client_id, store=bl.EncryptedFileStore(path, passphrase))
with bl.Client(base_url, auth=oauth, max_retries=0, timeout=90.0) as client:
    print("ready", flush=True)
    while sys.stdin.readline():
        try:
            results = {len(client.reference_futures("HK.HSImain")) for _ in range(10)}
        except bl.BoardlotError as error:
            results = {type(error).__name__}
        print(*results, flush=True)
