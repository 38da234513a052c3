"""A PostgreSQL server of its own on 127.0.0.1, if the machine has its programs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The user that it runs as if the benches are run by root, which it refuses to be.
OWNER = "postgres"
NOT_INSTALLED = "PostgreSQL's server is not installed, so the rows of it are missing."


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`: Debian's newest, or of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = str(found[-1]) if found else shutil.which("initdb")
    return Path(program).parent if program else None


@contextmanager
def server() -> Iterator[str]:
    """The address of its database, with the settings that a server has by default."""
    folder_of_programs = programs()
    assert folder_of_programs is not None
    user = {"user": OWNER} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="postgres-") as name, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        if user:
            shutil.chown(name, OWNER)

        def control(what: str, options: str) -> None:
            words = [folder_of_programs / "pg_ctl", what, "-D", f"{name}/data", "-o", options]
            words += ["-l", f"{name}/log", "-m", "immediate", "-s", "-w"]
            # Not into pipes, which the server would keep open.
            subprocess.run(words, check=True, cwd="/", stdout=subprocess.DEVNULL, **user)

        control("initdb", "--auth=trust --username=bench --encoding=UTF8")
        control("start", f"-h 127.0.0.1 -k '' -p {port}")
        try:
            yield f"postgresql://bench@127.0.0.1:{port}/postgres"
        finally:
            control("stop", "")
