"""A cluster fills one archive in PostgreSQL, as docs/scale-out.md does: its example runs here."""

import re
from pathlib import Path

import boardlot as bl
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale-out.md"
EXAMPLE = r"^```py\n(import boardlot as bl\n.*?bl\.Archive.*?)^```$"
ACCOUNTS = ["281756", "281757", "281758", "281759"]


@pytest.fixture
def folder_of_workers(tmp_path):
    pytest.importorskip("distributed")
    import dask

    with dask.config.set(temporary_directory=str(tmp_path)):
        yield


@pytest.mark.usefixtures("folder_of_workers")
def test_the_workers_of_a_cluster_share_an_archive(address, service, book, tmp_path, capsys):
    for account in ACCOUNTS:
        book.put_fills(70, account)
    key_file = tmp_path / "key.pem"
    key_file.touch(mode=0o600)
    key_file.write_text(bl.generate_key().private_pem)
    [example] = re.findall(EXAMPLE, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for shown, here in {
        "postgresql://trades@db.example.com/trades": address,
        "/shared/key.pem": str(key_file),
        "https://api.example.com": service.base_url,
        "WORKERS = 4": "WORKERS = 2",
        # Beside another cluster, a fixed port of the dashboard would be in use.
        "threads_per_worker=1": 'threads_per_worker=1, dashboard_address="127.0.0.1:0"',
    }.items():
        assert shown in example
        example = example.replace(shown, here)
    exec(example, {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == [f"{account} 70 []" for account in ACCOUNTS]
    with bl.Archive(address) as archive:
        for account in ACCOUNTS:
            assert archive.fills(account, "HK") == book.expected(account)
