"""Whatever a file of ours contains, what reads it recovers or says what is wrong: nothing hangs."""

import random
import time
from pathlib import Path

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.service import Fault

PASSPHRASE = "correct-horse-battery-staple"


def contents(good):
    """Contents in place of the right one."""
    noise = random.Random(7).randbytes
    yield from (b"", b"\0", b"\n", good[:-1], good + b"\0", good + b"\x01", good + b"\n", good * 2)
    yield from (b"\xef\xbb\xbf" + good, good.replace(b"\n", b"\r\n"), bytes(len(good)), noise(7))
    yield from (b"\xff" * len(good), noise(len(good)), good[:8] + noise(len(good) - 8))
    yield from (good[: len(good) // 2], b"{}", b"[]", b"null", "\u8d44\u6599".encode() * 40)
    yield bytes(1 << 22)


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


def tokens_of(server, folder):
    path = folder / "tokens"
    oauth = sign_in(server, bl.EncryptedFileStore(path, PASSPHRASE))

    def use():
        store = bl.EncryptedFileStore(path, PASSPHRASE)
        assert list(quotes(client_of(server, bl.OAuth(oauth.client_id, store=store)))) == []

    return path, use


def configuration_of(server, folder):
    path = folder / "boardlot" / "config.toml"
    path.parent.mkdir()
    path.write_text(f'[profiles.one]\nbase_url = "{server.base_url}"\n')

    def use():
        bl.Client(profile="one").server_time()

    return path, use


def cassette_of(server, folder):
    path = folder / "cassette.jsonl"
    with bl.Recorder(path) as recorder, client_of(server, cassette=recorder) as client:
        client.server_time()

    def use():
        bl.Client(cassette=bl.Replay(path)).server_time()

    return path, use


def archive_of(server, folder):
    path = folder / "archive.db"

    def use():
        with bl.Archive(path) as archive:
            archive.sql("select count(deal_id) from fills")

    use()
    return path, use


FILES = [limit_of, tokens_of, configuration_of, cassette_of, archive_of]


@pytest.mark.parametrize("file_of", FILES)
def test_any_content_of_a_file_is_recovered_or_an_error(server, file_of, tmp_path, monkeypatch):
    for name in ("STATE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path))
    path, use = file_of(server, tmp_path)
    use()
    good = path.read_bytes()
    for content in contents(good):
        # In place: what has the file open reads it too.
        path.write_bytes(content)
        try:
            use()
        except bl.BoardlotError as error:
            assert file_of is not limit_of
            assert len(str(error)) > 20, content
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
    earlier = client_of(server, rate_limit=bl.RateLimit(1e5, name="gone"))
    earlier.server_time()
    (file,) = (path for path in Path(tmp_path).rglob("limits/*") if not path.suffix)
    before = file.read_bytes()
    if change == "removed":
        file.unlink()
    else:
        new = file.with_suffix(".new")
        new.write_bytes(before)
        new.chmod(0o600)
        new.rename(file)
    time.sleep(0.02)  # time: a request checks again 10 ms after the last check
    earlier.server_time()
    assert file.read_bytes() != before
    server.faults["clock"] = [Fault(status=429, headers={"Retry-After": "30"})]
    with pytest.raises(bl.RateLimited):
        client_of(server, rate_limit=bl.RateLimit(2, name="gone")).server_time()
    # The service's response to the other is known.
    assert limit.free == 0
