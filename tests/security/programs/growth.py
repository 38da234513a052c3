"""The peak of the resident set over what it was after a first, harmless call."""

import re
import sys
from pathlib import Path

import boardlot as bl

good, bad, kind = sys.argv[1:]


def status(name):
    (line,) = re.findall(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return int(line) * 1024


calls = {
    "pages": lambda client: client.plate_stocks("HK.BK1001").all(),
    "request": lambda client: client.request("GET", "/any"),
    "dividends": lambda client: client.dividends("HK.00700"),
}
bl.Client(good).server_time()
before = status("VmRSS")
try:
    calls[kind](bl.Client(bad, max_retries=0, timeout=300.0))
except bl.ProtocolError:
    print(status("VmHWM") - before)
