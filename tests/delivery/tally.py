"""What was delivered, beside what there is to deliver."""

import time
from collections import Counter

import boardlot as bl

ACCOUNT = "281756"
# A list that is read in steps is long; one that is read as a whole has to end within a deadline.
LONG, SHORT = 300, 40
PAGE = 10


class Service:
    """A sandbox with so many fills, and their ids in the order of the service."""

    def __init__(self, fills):
        self.sandbox = bl.Sandbox(seed=3, fills=fills)
        self.client = self.sandbox.client()
        self.fills = ids(self.open(self.client).all())
        began = time.perf_counter()
        pages = sum(1 for _ in self.open(self.client).pages())
        self.page_seconds = (time.perf_counter() - began) / pages
        self.whole_seconds = self.page_seconds * pages

    @staticmethod
    def open(client, resume=None):
        return client.fills_history(ACCOUNT, "HK", page_size=PAGE, resume=resume)


def ids(rows):
    return [row["deal_id"] for row in rows]


class Tally:
    """Counts over many lists what was lost, doubled, or out of order."""

    def __init__(self, fills):
        self.fills = fills
        self.lists = self.interrupted = self.lost = self.doubled = self.disordered = 0

    def count(self, delivered, interrupted):
        """One whole list: the ids in the order of their delivery."""
        self.lists += 1
        self.interrupted += interrupted
        counts = Counter(delivered)
        self.doubled += sum(count - 1 for count in counts.values())
        in_order = [one for one in self.fills if one in counts]
        self.lost += len(self.fills) - len(in_order)
        self.disordered += list(dict.fromkeys(delivered)) != in_order

    def complete(self):
        """Whether anything was tried."""
        return self.lists > 0 and self.interrupted > 0

    def report(self):
        return {name: value for name, value in vars(self).items() if name != "fills"}
