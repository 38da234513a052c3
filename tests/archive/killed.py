"""Children that update or follow an archive until they are killed, each in a process of its own.

`serve` forks one for each line of stdin, `[WORDS, STEPS]`: it does what the words say, and kills
itself at that statement of its database, or never if that is 0. Its number is printed, then its
end; at the next line, whatever that is, it is reaped, and its status printed.

`update TARGET URL ACCOUNT`: updates fills and a plate; `leased` does so with short leases.
`verify TARGET URL ACCOUNT`: verifies the fills of Hong Kong. `follow TARGET URL ACCOUNT FILE`:
follows the fills and writes the id of each to a file, so that a fill that comes again is
recognized. `migrate TARGET URL STEPS`: migrates an older archive, and kills itself within the
transaction of that step. `lists TARGET URL ACCOUNT FIELDS`: updates the fills of Hong Kong, a
plate, and a custom endpoint with these fields.
"""

import importlib
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import boardlot as bl
from boardlot.archive import migration, update as updating, verify as verifying
from boardlot.archive.typed_columns import TypedList

from .service import PLATE, own_endpoint


def update(target, url, account):
    with bl.Client(url) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[(account, "HK"), (account, "US")], plates=[PLATE])


def leased(target, url, account):
    """An update whose locks behind a pooler end a second after it was killed."""
    from boardlot.archive import postgres

    postgres.LEASE, postgres.KEEP_EVERY = 1.0, 0.2
    postgres.LEASED = "null, null, clock_timestamp() + interval '1 s'"
    update(target, url, account)


def lists(target, url, account, fields):
    own = [(own_endpoint(**dict.fromkeys(fields.split(), "decimal")), {})]
    with bl.Client(url) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[(account, "HK")], plates=[PLATE], lists=own)


def verify(target, url, account):
    with bl.Client(url) as client, bl.Archive(target) as archive:
        archive.verify(client, fills=[(account, "HK")], accept_gone=True)


def follow(target, url, account, file):
    with Path(file).open("ab+") as out:
        # Removes a line that was cut; the fill of the last whole line was handled.
        out.seek(0)
        lines = out.read()
        out.truncate(lines.rfind(b"\n") + 1)
        last = lines[: lines.rfind(b"\n") + 1].split()[-1:]
        with bl.Client(url) as client, bl.Archive(target) as archive:
            for fill in archive.follow(client, fills=(account, "HK"), every=0.01):
                name = f"{fill['deal_id']}@{fill['updated_time']}".encode()
                # The fill that was being handled when the process died comes again.
                if [name] != last:
                    os.write(out.fileno(), name + b"\n")
                last = [name]


def migrate(target, url, steps):
    left = int(steps)
    store = TypedList.store

    def dying(*arguments):
        nonlocal left
        left -= 1
        stored = store(*arguments)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return stored

    migration.BATCH, TypedList.store = 20, dying
    with bl.Client(url) as client, bl.Archive(target) as archive:
        archive.update(client, ipos=["hk"])


def die_at(steps):
    """Kills this process at that statement: before it, or after it."""
    from boardlot.archive.sqlite.connection import SqliteConnection

    owners = [(SqliteConnection, name) for name in ("execute", "execute_many", "insert")]
    if "psycopg" in sys.modules:
        import psycopg

        owners += [(psycopg.Connection, "execute"), (psycopg.Cursor, "copy")]
        owners += [(psycopg.Cursor, "executemany")]
    left = steps

    def dying(function):
        def call(*arguments, **options):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return function(*arguments, **options)
            finally:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for owner, name in owners:
        setattr(owner, name, dying(getattr(owner, name)))


def serve():
    with suppress(ImportError):
        importlib.import_module("boardlot.archive.postgres")
    for line in sys.stdin:
        words, steps = json.loads(line)
        child = os.fork()
        if child == 0:
            signal.alarm(240)
            if steps:
                die_at(steps)
            COMMANDS[words[0]](*words[1:])
            os._exit(0)
        print(child, flush=True)
        # As a zombie, its number is not given again.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        print("ended", flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


COMMANDS = {
    "update": update,
    "leased": leased,
    "lists": lists,
    "follow": follow,
    "verify": verify,
    "migrate": migrate,
    "serve": serve,
}

if __name__ == "__main__":
    # A small number gives an update many transactions to be killed in.
    updating.FILLS = 20
    verifying.FILLS, verifying.PART = 40, 8
    COMMANDS[sys.argv[1]](*sys.argv[2:])
