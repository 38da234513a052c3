"""`boardlot keygen`: a new key, for its owner alone, or none."""

import shlex
import subprocess
from pathlib import Path

import boardlot as bl
import pytest

from ..support.command_line import COMMAND


def keygen(file, **options):
    command = [*COMMAND, "keygen", str(file)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)


def test_keygen_writes_the_private_key_for_its_owner_alone(tmp_path):
    file = tmp_path / "key.pem"
    made = keygen(file, stdout=subprocess.PIPE, umask=0)
    assert made.returncode == 0 and "PRIVATE" not in made.stdout + made.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert bl.ApiKey("app-key", file).public_key_pem() == made.stdout

    before = file.read_bytes()
    again = keygen(file)
    assert again.returncode == 2 and "not overwritten" in again.stderr
    assert file.read_bytes() == before


def test_bits_are_those_of_an_rsa_key(boardlot, tmp_path):
    file = tmp_path / "key.pem"
    assert "add --algorithm RSA-SHA256" in boardlot("keygen", file, "--bits", "2048").refusal
    assert not file.exists()
    assert boardlot("keygen", file, "--bits", "2048", "--algorithm", "RSA-SHA256").status == 0
    assert bl.ApiKey("app-key", file).algorithm == "RSA-SHA256"


def test_a_key_whose_public_half_cannot_be_written_is_not_kept(tmp_path):
    file = tmp_path / "key.pem"
    with Path("/dev/full").open("wb") as full:
        of_full_disk = keygen(file, stdout=full)
    script = f"{shlex.join([*COMMAND, 'keygen', str(file)])} >&-"
    of_closed = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, text=True)
    for done in (of_full_disk, of_closed):
        assert done.returncode == 1
        assert "boardlot: stdout: " in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert not file.exists()


@pytest.mark.parametrize(
    ("file", "status", "said"),
    [
        ("-", 2, "'-' is not a file"),
        ("", 2, "the path is empty"),
        ("missing/key.pem", 1, "No such file"),
    ],
)
def test_a_key_needs_a_file(file, status, said, boardlot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = boardlot("keygen", file)
    assert done.status == status and said in done.err
    assert "PRIVATE" not in done.out + done.err and not list(tmp_path.iterdir())
