"""A call in a process that has so many descriptors left as its argument says."""

# What a call imports: it could not be read from a file.
import contextlib
import contextvars  # noqa: F401
import datetime  # noqa: F401
import os
import resource
import socket
import sys

import boardlot as bl

# Loads what a call needs.
socket.getaddrinfo("127.0.0.1", 80)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
held = []
with contextlib.suppress(OSError):
    while True:
        held.append(os.open("/dev/null", 0))
for _ in range(int(sys.argv[1])):
    os.close(held.pop())
with contextlib.suppress(bl.BoardlotError):
    bl.Client("http://127.0.0.1:9", max_retries=0).server_time()
