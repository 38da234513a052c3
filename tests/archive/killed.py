"""Children that update or follow an archive until they are killed.

`update TARGET URL ACCOUNT`: updates fills and a plate. `verify TARGET URL ACCOUNT`: verifies the
fills of Hong Kong. `follow TARGET URL ACCOUNT FILE`: follows the fills and writes the id of each
to a file, so that a fill that comes again is recognized. `migrate TARGET URL STEPS`: migrates an
older archive, and kills itself within the transaction of that step.
"""

import os
import signal
import sys
from pathlib import Path

import boardlot as bl
from boardlot.archive import migration, update as updating, verify as verifying
from boardlot.archive.typed_columns import TypedList

from .service import PLATE


def update(target, url, account):
    with bl.Client(url) as client, bl.Archive(target) as archive:
        archive.update(client, fills=[(account, "HK"), (account, "US")], plates=[PLATE])


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


if __name__ == "__main__":
    # A small number gives an update many transactions to be killed in.
    updating.FILLS = 20
    verifying.FILLS, verifying.PART = 40, 8
    {"update": update, "follow": follow, "verify": verify, "migrate": migrate}[sys.argv[1]](
        *sys.argv[2:]
    )
