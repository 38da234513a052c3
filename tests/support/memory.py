"""Looks for texts in the memory of another process (Linux)."""

import re
from pathlib import Path

BEFORE = 60


def places_of(texts, pid):
    """The bytes before each copy of the texts in the writable memory of a process, by the text."""
    found = {text: [] for text in texts}
    wanted = re.compile(b"|".join(re.escape(text.encode("latin-1")) for text in texts))
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except (OSError, OverflowError):
                # Pages of a device.
                continue
            for match in wanted.finditer(content):
                before = content[max(0, match.start() - BEFORE) : match.start()]
                found[match[0].decode("latin-1")].append(before)
    return found
