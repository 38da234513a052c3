"""A writer beside others: updates the fills of all, its own fills, and lists; declares the same
endpoint with other fields than the writer before; and finds the views older than this version.

`TARGET URL NUMBER ROUNDS`; any error ends it.
"""

import random
import sys

import boardlot as bl

from .service import HK, PLATE, own_endpoint

FIELDS = ("close", "close open", "open")
# As by another version.
OLDER = "update archive_views set digest = 'older' where name in ('plates', 'fills', 'own')"


def work(target, url, number, rounds):
    chosen, own = random.Random(number), (number, "HK")
    with bl.Client(url) as client, bl.Archive(target, wait=120.0) as archive:
        for _ in range(int(rounds)):
            fields = dict.fromkeys(chosen.choice(FIELDS).split(), "decimal")
            lists = {"plates": [PLATE], "lists": [(own_endpoint(**fields), {})]}
            steps = [
                lambda: archive.update(client, fills=[HK, own]),
                lambda lists=lists: archive.update(client, fills=[own], **lists),
                lambda lists=lists: archive.update(client, **lists),
                lambda: archive.verify(client, fills=[HK]),
            ]
            chosen.choice(steps)()
            if chosen.random() < 0.3:
                with archive._database.transaction() as transaction:
                    transaction.execute(OLDER)


if __name__ == "__main__":
    work(*sys.argv[1:])
