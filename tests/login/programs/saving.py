"""Saves into a store until it is killed, in a child for each line of stdin.

The children have the key that their parent derived from the passphrase.
"""

import os
import sys

import boardlot as bl

path, passphrase, key = sys.argv[1:]
store = bl.EncryptedFileStore(path, passphrase)
store.save(key, b"0")
while line := sys.stdin.readline():
    child = os.fork()
    if child == 0:
        n = int(line)
        print(os.getpid(), flush=True)
        while True:
            n += 1
            store.save(key, b"%d " % n * (n % 400 + 1))
            print("saved", flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
