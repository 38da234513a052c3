"""A real PostgreSQL server of Debian's packages, on loopback and in a folder of its own."""

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from .addresses import held_port
from .threads import wait_until

# The user that the server runs as if root runs the tests: the server refuses to run as root.
OWNER = "postgres"
DATABASES = itertools.count()
OPTIONS = "-h 127.0.0.1 -k '' -F -N 40 -B 16MB -c full_page_writes=off -c autovacuum=off -c jit=off"


def folder_of_programs():
    """The folder of `initdb` and `postgres`; None if they are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = str(found[-1]) if found else shutil.which("initdb")
    return Path(program).parent if program else None


class Postgres:
    """A running server; `address()` makes a new database, or empties one that was given to `spare`.

    Making a database takes a third of a second, and removing it with the server takes as long.
    """

    def __enter__(self):
        self._user = {"user": OWNER} if os.getuid() == 0 else {}
        self._spare = []
        with contextlib.ExitStack() as stack:
            self.port = stack.enter_context(held_port())
            self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="postgres-")))
            if self._user:
                shutil.chown(self._folder, OWNER)
            self._make()
            stack.callback(self.stop)
            self.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _make(self):
        self._control("initdb", "--auth=trust --username=boardlot --no-sync --encoding=UTF8")

    def start(self):
        self._control("start", f"{OPTIONS} -c port={self.port}")

    def stop(self):
        """Stops the server at once, as if the machine had failed; committed data remain."""
        if (self._folder / "data" / "postmaster.pid").exists():
            self._control("stop")

    def _control(self, what, options=""):
        program, log = folder_of_programs() / "pg_ctl", self._folder / "log"
        words = [program, what, "-D", self._folder / "data", "-o", options, "-mimmediate", "-t90"]
        with log.open("a") as out:
            done = subprocess.run(words, stdout=out, stderr=out, cwd="/", **self._user)
        assert done.returncode == 0, log.read_text()

    def ask_for_password(self, role):
        """From now on the server asks this role for a password; it trusts all others."""
        rules = self._folder / "data" / "pg_hba.conf"
        rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute("select pg_reload_conf()")
        wait_until(lambda: self._asks(role))

    def _asks(self, role):
        try:
            psycopg.connect(self._address("postgres"), user=role, passfile=os.devnull).close()
        except psycopg.OperationalError as error:
            assert "password" in str(error)
            return True
        return False

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


class Standby(Postgres):
    """A server that follows another one, and is read-only until it is promoted."""

    def __init__(self, primary):
        self._primary = primary

    def _make(self):
        program, primary = (
            folder_of_programs() / "pg_basebackup",
            self._primary._address("postgres"),
        )
        # `-R`: the server continues to follow the primary.
        words = [program, "-d", primary, "-D", self._folder / "data", "-R", "--no-sync", "-cfast"]
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", **self._user)
        assert done.returncode == 0, done.stderr

    def of(self, address):
        """The address, on this server, of a database of the primary."""
        return self._address(address.rpartition("/")[2])

    def wait_until_it_has(self, address):
        """Waits until this server, too, has everything that was written before the call."""
        with psycopg.connect(address, autocommit=True) as connection:
            (written,) = connection.execute("select pg_current_wal_lsn()").fetchone()
        with psycopg.connect(self.of(address), autocommit=True) as connection:
            wait_until(
                lambda: connection.execute(
                    "select pg_last_wal_replay_lsn() >= %s", [written]
                ).fetchone()[0]
            )


class Pooler:
    """A running PgBouncer, which gives each transaction one of three sessions of a server."""

    def __init__(self, server, folder):
        self._server, self._folder = server, Path(folder)

    def __enter__(self):
        self._user = {"user": OWNER} if os.getuid() == 0 else {}
        with contextlib.ExitStack() as stack:
            self.port = stack.enter_context(held_port())
            (self._folder / "users").write_text('"boardlot" ""\n')
            (self._folder / "pool.ini").write_text(
                f"[databases]\n* = host=127.0.0.1 port={self._server.port} user=boardlot\n"
                f"[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={self.port}\nauth_type=any\n"
                f"auth_file={self._folder}/users\npool_mode=transaction\ndefault_pool_size=3\n"
                f"unix_socket_dir=\nlogfile={self._folder}/log\n"
            )
            if self._user:
                for path in (self._folder, *self._folder.iterdir()):
                    shutil.chown(path, OWNER)
            self.start()
            stack.callback(self.kill)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def start(self):
        command = [shutil.which("pgbouncer") or "/usr/sbin/pgbouncer", self._folder / "pool.ini"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **self._user
        )
        wait_until(self._responds)

    def _responds(self):
        assert self._process.poll() is None, (self._folder / "log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True

    def kill(self):
        """Ends PgBouncer as by `kill -9`."""
        self._process.kill()
        self._process.wait()

    def address(self, of_server):
        """The address of a database through the pooler."""
        return of_server.replace(f":{self._server.port}/", f":{self.port}/")
