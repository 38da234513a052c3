"""A real PostgreSQL server of Debian's packages, on loopback and in a folder of its own."""

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg

from .threads import wait_until

# The user that the server runs as if the tests are run by root, which it refuses to be.
OWNER = "postgres"
DATABASES = itertools.count()
OPTIONS = (
    "listen_addresses=127.0.0.1 unix_socket_directories= fsync=off full_page_writes=off"
    " autovacuum=off jit=off max_connections=40 shared_buffers=16MB"
)


def folder_of_programs():
    """The folder of `initdb` and `postgres`; None if they are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = str(found[-1]) if found else shutil.which("initdb")
    return Path(program).parent if program else None


class Postgres:
    """A running server; `address()` makes a database of its own, or empties one that was `spared`.

    To make one takes a third of a second, and as long to remove it with the server.
    """

    def __init__(self):
        self._programs = folder_of_programs()
        self._user = {"user": OWNER} if os.getuid() == 0 else {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process = None
        self._spare = []

    def __enter__(self):
        self._temporary = tempfile.TemporaryDirectory(prefix="boardlot-postgres-")
        self._folder = Path(self._temporary.name)
        if self._user:
            shutil.chown(self._folder, OWNER)
        self._run("initdb", "--auth=trust", "--username=boardlot", "--no-sync", "--encoding=UTF8")
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self._temporary.cleanup()

    def start(self):
        options = [f"port={self.port}", *OPTIONS.split()]
        arguments = [part for option in options for part in ("-c", option)]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._folder / "data", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._user,
        )
        wait_until(self._is_up, "the server of PostgreSQL")

    def _is_up(self):
        assert self._process.poll() is None, "the server of PostgreSQL has ended"
        try:
            psycopg.connect(self._address("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self):
        """At once, as if the machine had failed; what was committed remains."""
        if self._process is not None:
            # SIGQUIT: without waiting for connections.
            self._process.send_signal(3)
            self._process.wait(60)
            self._process = None

    def address(self):
        """The address of an empty database."""
        if self._spare:
            address = self._spare.pop()
            self._empty(address)
            return address
        name = f"archive_{os.getpid()}_{next(DATABASES)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name}".encode())
        return self._address(name)

    def spare(self, address):
        """Lets another test have this database."""
        self._spare.append(address)

    def _empty(self, address):
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
            schemas = connection.execute(
                "select nspname from pg_namespace"
                " where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')"
            ).fetchall()
            for (schema,) in schemas:
                connection.execute(f'drop schema "{schema}" cascade'.encode())

    def _address(self, database):
        return f"postgresql://boardlot@127.0.0.1:{self.port}/{database}"

    def _run(self, program, *arguments):
        command = [self._programs / program, "-D", self._folder / "data", *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._user)
