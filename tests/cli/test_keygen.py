"""`boardlot keygen`: a new key, for its owner alone."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
from boardlot.cli import main

pytest.importorskip("click")


def test_keygen_writes_the_private_key_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    command = [sys.executable, "-m", "boardlot", "keygen", str(file)]
    made = subprocess.run(command, capture_output=True, text=True, umask=0)
    assert made.returncode == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert bl.ApiKey("app-key", file).public_key_pem() == made.stdout
    assert "PRIVATE" not in made.stdout + made.stderr

    before = file.read_bytes()
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 2
    assert "not overwritten" in again.stderr
    assert file.read_bytes() == before


def test_keygen_makes_no_other_key_than_bits_are_of(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "key.pem"
    assert main(["keygen", str(file), "--bits", "2048"]) == 2
    assert "add --algorithm RSA-SHA256" in capsys.readouterr().err
    assert not file.exists()
    assert main(["keygen", str(file), "--bits", "2048", "--algorithm", "RSA-SHA256"]) == 0
    assert bl.ApiKey("app-key", file).algorithm == "RSA-SHA256"
