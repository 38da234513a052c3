"""Updates a value of a store many times, one of several processes at once."""

import sys

import boardlot as bl

store = bl.EncryptedFileStore(sys.argv[1], sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
me, n = sys.argv[3], 0
while n < int(sys.argv[4]):
    try:
        store.save(f"http://127.0.0.1:1 client-{me}-{n}", f"value-{me}-{n}".encode())
        n += 1
    except bl.StoreError as error:
        # On a slow machine, the others may hold the lock in turn for that long.
        assert "has held its lock" in str(error)
print("done", flush=True)
