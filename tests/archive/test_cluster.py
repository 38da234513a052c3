"""A cluster fills one archive in PostgreSQL, as docs/scale-out.md does: its example runs here."""

import re
from pathlib import Path

import boardlot as bl
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale-out.md"
EXAMPLE = r"^```py\n(import boardlot as bl\n.*?bl\.Archive.*?)^```$"
ACCOUNTS = ["281756", "281757", "281758", "281759"]


def test_the_workers_of_a_cluster_share_an_archive(postgres, service, book, tmp_path, capsys):
    pytest.importorskip("distributed")
    for account in ACCOUNTS:
        book.put_fills(70, account)
    key_file, target = tmp_path / "key.pem", postgres.address()
    key_file.touch(mode=0o600)
    key_file.write_text(bl.generate_key().private_pem)
    [example] = re.findall(EXAMPLE, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for shown, here in {
        "postgresql://trades@db.example.com/trades": target,
        "/shared/key.pem": str(key_file),
        "https://api.example.com": service.base_url,
        "WORKERS = 4": "WORKERS = 2",
    }.items():
        assert shown in example
        example = example.replace(shown, here)
    exec(example, {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == [f"{account} 70 []" for account in ACCOUNTS]
    with bl.Archive(target) as archive:
        for account in ACCOUNTS:
            assert archive.fills(account, "HK") == book.expected(account)
