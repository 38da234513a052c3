"""Reads an archive as another user, for each line of stdin."""

import os
import sys

import boardlot as bl

# Loads the modules now, since another user may not be able to read them.
with bl.Archive(":memory:") as archive:
    archive.fills("1", "HK").all(), archive.sql("select 1")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for _ in sys.stdin:
    try:
        with bl.Archive(sys.argv[1]) as archive:
            found = len(archive.fills("281756", "HK")), len(archive.sql("select * from fills"))
        print(*found)
    except bl.StoreError as error:
        print("error:", error)
    sys.stdout.flush()
