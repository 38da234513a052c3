"""`boardlot sandbox --profile NAME`: the profile is there while the sandbox is, and no longer."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
from boardlot import _core

from ..support.sandbox_command import running

pytest.importorskip("click")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / "config" / "boardlot" / "config.toml"


def names() -> list[str]:
    return _core._profiles()[0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_profile_works_and_ends_with_the_sandbox(
    how: signal.Signals, config: Path, tmp_path: Path
) -> None:
    with running("--profile", "paper", "--fills", "60") as sandbox:
        assert sandbox.info["profile"] == "paper"
        with bl.Client(profile="paper") as client:
            assert client.base_url == sandbox.info["base_url"]
            assert len(client.fills_history("281756", "HK").all()) == 60
        said = sandbox.end(how)
    assert f"added the profile paper to {config}" in said
    assert "removed the profile paper" in said
    assert names() == []
    # Nor is the key left, or its folder.
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


def test_a_sandbox_that_was_killed_is_replaced_and_one_that_runs_is_not(tmp_path: Path) -> None:
    with running("--profile", "paper", "--fills", "0") as killed:
        killed.end(signal.SIGKILL)
    assert names() == ["paper"]
    with running("--profile", "paper", "--fills", "0") as sandbox:
        assert bl.Client(profile="paper").base_url == sandbox.info["base_url"]
        assert not Path(killed.info["key_file"]).exists()
        with running("--profile", "paper") as second:
            said = second.process.communicate(timeout=60)[1]
            assert second.process.returncode == 2
        assert f"the sandbox that is running at {sandbox.info['base_url']}" in said
        assert bl.Client(profile="paper").base_url == sandbox.info["base_url"]


def test_a_profile_of_the_user_is_never_replaced_or_removed(tmp_path: Path) -> None:
    entry = {"base_url": "https://api.example.com", "kind": "none"}
    _core._save_profile("live", entry)
    with running("--profile", "live") as sandbox:
        said = sandbox.process.communicate(timeout=60)[1]
        assert sandbox.process.returncode == 2
    assert "the profile live already exists" in said and "boardlot profile remove live" in said

    with running("--profile", "paper", "--fills", "0") as sandbox:
        _core._save_profile("paper", entry, replace=True)
        said = sandbox.end(signal.SIGINT)
    assert "kept the profile paper: it was changed in the meantime" in said
    assert names() == ["live", "paper"]


def test_a_profile_that_cannot_be_removed_is_named(config: Path) -> None:
    with running("--profile", "paper", "--fills", "0") as sandbox:
        config.write_text(f"{config.read_text()}\n[broken")
        said = sandbox.end(signal.SIGINT)
    assert "the profile paper is still there" in said
    assert "boardlot profile remove paper" in said


def test_a_key_file_of_the_user_is_kept(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    with running("--profile", "paper", "--fills", "0", "--key-file", str(key)) as sandbox:
        assert _core._profile("paper")["private_key"] == key
        said = sandbox.end(signal.SIGINT)
    assert "removed the profile paper" in said and f"kept {key}" in said
    assert key.exists()


def test_only_a_sandbox_on_this_machine_becomes_a_profile(capsys: Any) -> None:
    from boardlot.cli import main

    assert main(["sandbox", "--host", "0.0.0.0", "--expose", "--profile", "paper"]) == 2
    assert "--profile needs a loopback address" in capsys.readouterr().err
    assert names() == []
