"""The open files and the sockets of this process, as the system describes each."""

import contextlib
import os
import socket
import stat
from pathlib import Path

OPEN_FILES = Path("/dev/fd")


def open_files():
    """The number of files that this process has open."""
    return sum(1 for _ in OPEN_FILES.iterdir())


def own_sockets():
    """The local address of each TCP or UDP socket of this process, and true if it listens.

    Each socket is asked by a copy of its descriptor: entries of the table in `/proc/net/tcp` are
    skipped or doubled if others come and go while it is read, and it has those of all processes.
    """
    found = []
    for entry in OPEN_FILES.iterdir():
        # Files that are closed by now are skipped.
        with contextlib.suppress(OSError):
            descriptor = os.dup(int(entry.name))
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                continue
            with socket.socket(fileno=descriptor) as copy:
                address = copy.getsockname()
                listens = copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
            if isinstance(address, tuple):
                found.append((address[:2], listens))
    return found


def listening():
    """The addresses on which this process listens."""
    return {address for address, listens in own_sockets() if listens}


def accepted(port):
    """The number of connections that this process has accepted on a port and not closed yet."""
    return sum(address[1] == port and not listens for address, listens in own_sockets())
