"""Saves into an encrypted file with an open umask, and prints every mode that others could use."""

import contextlib
import os
import sys
import threading
from pathlib import Path

import boardlot as bl

os.umask(0)
store = bl.EncryptedFileStore(sys.argv[1], sys.argv[2])
wrong, over = set(), threading.Event()


def watch(folder):
    # Every name that is ever seen, as often as it can be looked at.
    while not over.is_set():
        for path, _, names in os.walk(folder):
            for name in [".", *names]:
                with contextlib.suppress(OSError):
                    mode = Path(path, name).lstat().st_mode
                    if mode & 0o077:
                        wrong.add((f"{path}/{name}", oct(mode)))


watcher = threading.Thread(target=watch, args=(str(Path(sys.argv[1]).parent),))
watcher.start()
for n in range(30):
    store.save(sys.argv[3], b"x" * n * 1000)
over.set()
watcher.join()
print(sorted(wrong))
