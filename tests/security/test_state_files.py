"""Whatever the file of a shared limit contains, and whatever becomes of it: nothing hangs."""

import os
import random
from pathlib import Path

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.service import Fault

HUGE = 1 << 22


def contents(good):
    """Contents in place of the right one."""
    noise = random.Random(7).randbytes
    yield from (b"", b"\0", b"\n", good[:-1], good + b"\0", good + b"\x01", good + b"\n", good * 2)
    yield from (b"\xef\xbb\xbf" + good, good.replace(b"\n", b"\r\n"), bytes(len(good)), noise(7))
    yield from (b"\xff" * len(good), noise(len(good)), good[:8] + noise(len(good) - 8))
    yield from (good[: len(good) // 2], b"{}", b"[]", b"null", "\u8d44\u6599".encode() * 40)


def limit_of(server, folder):
    limit = bl.RateLimit(1e5, name="odd")
    client = client_of(server, rate_limit=limit, max_retries=0)

    def use():
        client.server_time()
        client_of(server, rate_limit=bl.RateLimit(1e5, name="odd")).server_time()
        assert 0 <= limit.used < 1e6 and 0 <= limit.free <= 1e5

    use()
    (file,) = (path for path in Path(folder).rglob("limits/*") if not path.suffix)
    return file, use


def test_any_content_of_the_file_of_a_limit_is_recovered(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path, use = limit_of(server, tmp_path)
    good = path.read_bytes()
    for content in contents(good):
        # In place: what has the file open reads it too.
        path.write_bytes(content)
        use()
    path.write_bytes(b"")
    os.truncate(path, HUGE)
    use()
    path.write_bytes(good)
    use()


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_limit_whose_file_is_gone_is_shared_with_those_who_come_later(
    server, tmp_path, monkeypatch, change
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    limit = bl.RateLimit(2, name="gone")
    client_of(server, rate_limit=limit).server_time()
    assert limit.free > 0
    (file,) = (path for path in Path(tmp_path).rglob("limits/*") if not path.suffix)
    if change == "removed":
        file.unlink()
    else:
        new = file.with_suffix(".new")
        new.write_bytes(file.read_bytes())
        new.chmod(0o600)
        new.rename(file)
    server.faults["clock"] = [Fault(status=429, headers={"Retry-After": "30"})]
    with pytest.raises(bl.RateLimited):
        client_of(server, rate_limit=bl.RateLimit(2, name="gone")).server_time()
    # The service's response to the other is known.
    assert limit.free == 0
