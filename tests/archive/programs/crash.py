"""An update that is killed in the middle."""

import os
import sys

import boardlot as bl

with bl.Client(sys.argv[2]) as client, bl.Archive(sys.argv[1]) as archive:
    archive.update(client, fills=[("281756", "HK")])
    os.kill(os.getpid(), 9)
