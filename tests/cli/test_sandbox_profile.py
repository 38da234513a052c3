"""`boardlot sandbox --profile NAME`: the profile is there while the sandbox is, and no longer."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest
from boardlot import _core
from inline_snapshot import snapshot

from ..support.command_line import COMMAND
from ..support.words import named

PAPER = ["--profile", "paper", "--fills", "0"]


class Running(subprocess.Popen):
    """`boardlot sandbox` in a process of its own, once it serves."""

    def __init__(self, *options):
        command = [sys.executable, "-u", "-m", "boardlot", "--format", "json", "sandbox", *options]
        super().__init__(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.stdout.readline()
        self.info = json.loads(line) if line else {}

    def __exit__(self, *_):
        self.kill()
        self.communicate(timeout=60)

    def end(self, how):
        """The output from the signal on."""
        self.send_signal(how)
        return "".join(self.communicate(timeout=60))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, config):
    """The folder of temporary files, in which the configuration is, too."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def names():
    return _core._profiles()[0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_profile_works_and_ends_with_the_sandbox(how, config, folder):
    with Running("--profile", "paper", "--fills", "60") as sandbox:
        facts = sandbox.info
        assert Path(facts["key_file"]).stat().st_mode & 0o777 == 0o600
        with bl.Client(profile="paper") as client:
            assert client.base_url == facts["base_url"]
            account = facts["accounts"]["trade"][0]
            assert len(client.fills_history(account, "HK").all()) == 60
        said = sandbox.end(how)
        assert sandbox.returncode == 0
    assert f"added the profile paper to {config}" in said
    assert "removed the profile paper" in said and "PRIVATE KEY" not in f"{said}{facts}"
    assert names() == []
    # Nor is the key left, or its folder.
    assert [path.name for path in folder.iterdir()] == ["config"]


def test_a_sandbox_that_was_killed_is_replaced_and_one_that_runs_is_not(boardlot):
    with Running(*PAPER) as killed:
        killed.end(signal.SIGKILL)
    assert names() == ["paper"]
    with Running(*PAPER) as sandbox:
        refused = boardlot("sandbox", "--profile", "paper")
        assert refused.status == 2
        assert f"already exists, of {sandbox.info['base_url']}" in refused.said
        with bl.Client(profile="paper") as client:
            assert client.base_url == sandbox.info["base_url"]


def test_a_profile_of_the_user_is_never_replaced_or_removed(boardlot):
    entry = {"base_url": "https://api.example.com", "kind": "none"}
    _core._save_profile("live", entry)
    done = boardlot("sandbox", "--profile", "live")
    assert done.status == 2 and done.said == snapshot(
        "Error: the profile live already exists, of https://api.example.com: choose "
        "another name, or remove it with `boardlot profile remove live`"
    )

    with Running(*PAPER) as sandbox:
        _core._save_profile("paper", entry, replace=True)
        said = sandbox.end(signal.SIGINT)
    assert "removed the profile paper" not in said
    assert names() == ["live", "paper"]


def test_a_profile_that_cannot_be_removed_is_named(config):
    with Running(*PAPER) as sandbox:
        config.write_text(f"{config.read_text()}\n[broken")
        said = sandbox.end(signal.SIGINT)
    (why,) = (line for line in said.splitlines() if line.startswith("boardlot: "))
    assert named(why, CONFIG=config) == snapshot(
        "boardlot: the profile paper is still there: profile: CONFIG: line 5, '[broken': "
        "unclosed table, expected `]`; remove it with `boardlot profile remove paper`"
    )


def test_a_key_file_of_the_user_is_kept(folder):
    key = folder / "key.pem"
    with Running(*PAPER, "--key-file", str(key)) as sandbox:
        assert _core._profile("paper")["private_key"] == key
        said = sandbox.end(signal.SIGINT)
    assert "removed the profile paper" in said
    assert key.exists()


def test_only_a_sandbox_on_this_machine_becomes_a_profile(boardlot):
    done = boardlot("sandbox", "--host", "0.0.0.0", "--expose", "--profile", "paper")
    assert done.status == 2 and done.said == snapshot(
        "Error: --profile needs a loopback address, and --host is 0.0.0.0: clients use "
        "http only on this machine"
    )


def test_a_sandbox_that_cannot_say_its_address_leaves_no_key(folder):
    file = folder / "key.pem"
    with Path("/dev/full").open("wb") as full:
        command = [*COMMAND, "sandbox", "--key-file", str(file)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 3 and b"No space left" in done.stderr
    assert not file.exists()
