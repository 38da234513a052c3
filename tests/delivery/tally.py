"""Compares what was delivered with what there is to deliver."""

import contextlib
import time
from collections import Counter

import boardlot as bl

ACCOUNT = "281756"
FILLS = 100
PAGE = 10
# Seconds: about as long as a page takes.
LONGEST = 0.005


@contextlib.contextmanager
def serve():
    """A sandbox, and the ids of its fills in the order of the service."""
    with bl.Sandbox(seed=3, fills=FILLS) as sandbox, sandbox.client() as client:
        yield sandbox, ids(fills_of(client).all())


def fills_of(client, resume=None):
    return client.fills_history(ACCOUNT, "HK", page_size=PAGE, resume=resume)


def ids(rows):
    """The ids in anything that a pager returns, or a row."""
    if isinstance(rows, dict):
        return [rows["deal_id"]]
    if hasattr(rows, "to_pylist"):
        rows = rows.to_pylist()
    elif hasattr(rows, "iloc"):
        rows = rows.to_dict("records")
    elif hasattr(rows, "columns"):
        rows = rows.to_dicts()
    return [row["deal_id"] for row in rows]


class Tally:
    """Counts over many lists what was lost, doubled, or out of order."""

    def __init__(self, fills, seconds):
        self.fills, self.end = fills, time.monotonic() + seconds
        self.counts = Counter(lists=0, interrupted=0, lost=0, doubled=0, disordered=0)

    def goes_on(self):
        """Until the time is over, and something was tried."""
        is_complete = self.counts["lists"] and self.counts["interrupted"]
        # time: many lists, each of which is checked
        return time.monotonic() < self.end or not is_complete

    def count(self, delivered, interrupted):
        """One whole list: the ids in the order of their delivery."""
        found = Counter(delivered)
        in_order = [one for one in self.fills if one in found]
        self.counts.update(
            lists=1,
            interrupted=interrupted,
            lost=len(self.fills) - len(in_order),
            doubled=found.total() - len(found),
            disordered=list(dict.fromkeys(delivered)) != in_order,
        )
