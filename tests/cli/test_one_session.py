"""One session at a shell, by hand: a profile, a list as CSV and as JSON, a mistake."""

import csv
import io
import json
import os
import subprocess
import sys

import boardlot as bl
import pytest


@pytest.fixture
def shell(tmp_path):
    """Runs a command of the package, with an empty folder for its configuration."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}

    def run(*words):
        command = [sys.executable, "-m", "boardlot", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    return run


def test_a_profile_is_added_and_used(shell, tmp_path):
    with bl.Sandbox() as sandbox:
        key_file = tmp_path / "key.pem"
        pair = bl.generate_key()
        key_file.touch(mode=0o600)
        key_file.write_text(pair.private_pem)
        key = ["--key-id", sandbox.upload_key(pair.public_pem), "--key-file", str(key_file)]
        assert (
            shell("--base-url", sandbox.base_url, *key, "profile", "add", "paper").returncode == 0
        )

        done = shell("--profile", "paper", "--format", "csv", "dividends", "HK.00700")
        assert (done.returncode, done.stderr) == (0, "")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))

        done = shell("--profile", "paper", "--format", "json", "dividends", "HK.00700")
        assert [row["statement"] for row in json.loads(done.stdout)] == [
            row["statement"] for row in rows
        ]
        assert len(rows) > 0

        done = shell("--profile", "paper", "dividends", "700")
        assert (done.returncode, done.stdout) == (2, "")
        assert "HK.00700" in done.stderr
