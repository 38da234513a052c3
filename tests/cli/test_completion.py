"""Completion, tried in bash, zsh and fish: commands, options, profiles, columns and markets."""

from __future__ import annotations

import functools
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="shells of POSIX")

from boardlot.cli import application as app
from boardlot.cli import main

from ..support.command_line import Service
from ..support.system import need_program

# Each shell runs the script that boardlot prints for it, and shows what it would offer.
SCRIPTS = {
    "bash": """
        source {script}
        COMP_WORDS=({words})
        COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _boardlot_completion boardlot
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": """
        compdef() {{ }}
        compadd() {{ print -rl -- "${{completions[@]}}" }}
        _describe() {{ print -rl -- "${{completions_with_descriptions[@]%%:*}}" }}
        source {script}
        words=({words})
        CURRENT=${{#words}}
        _boardlot_completion
    """,
    "fish": """
        source {script}
        complete -C {line} | string replace -r '\\t.*' ''; true
    """,
}
CASES = [
    ("boardlot ", {"fills", "profile", "open"}),
    ("boardlot div", {"dividends"}),
    ("boardlot --profile ", {"live", "paper"}),
    ("boardlot --profile pa", {"paper"}),
    ("boardlot profile use li", {"live"}),
    ("boardlot fills --columns pr", {"price"}),
    ("boardlot fills --columns code,pr", {"code,price"}),
    ("boardlot ipos --sort list_ti", {"list_time", "list_timestamp"}),
    ("boardlot dividends --where ex", {"ex_date"}),
    ("boardlot trading-days ", {"HK", "US", "MY"}),
    ("boardlot fills 281756 h", {"HK"}),
    ("boardlot ipos s", {"sg"}),
    ("boardlot dividends HK.00700 --format j", {"json", "jsonl"}),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: Any) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    service = Service(folder, fills=0)
    service.install(folder / "bin")
    config = folder / "boardlot" / "config.toml"
    config.write_text(f'{config.read_text()}[profiles.paper]\nbase_url = "https://x.example"\n')
    service.environment["HOME"] = str(folder)
    yield service
    service.close()


@pytest.fixture(scope="module")
def script_of(service: Service, tmp_path_factory: Any) -> Callable[[str], Path]:
    """A file with what `boardlot completion` prints for a shell."""
    folder = tmp_path_factory.mktemp("scripts")

    @functools.cache
    def written(shell: str) -> Path:
        path: Path = folder / shell
        path.write_bytes(service.rows("completion", shell))
        return path

    return written


@pytest.mark.parametrize(("typed", "offered"), CASES, ids=[typed for typed, _ in CASES])
@pytest.mark.parametrize("shell", list(SCRIPTS))
def test_a_shell_completes(
    shell: str,
    typed: str,
    offered: set[str],
    service: Service,
    script_of: Callable[[str], Path],
) -> None:
    need_program(shell)
    words = shlex.join([*typed.split(), *([""] if typed.endswith(" ") else [])])
    script = SCRIPTS[shell].format(words=words, line=shlex.quote(typed), script=script_of(shell))
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *quiet, "-c", script],
        env=service.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = set(done.stdout.split())
    assert offered <= found, done.stderr
    last = typed.rpartition(" ")[2]
    assert all(word.lower().startswith(last.lower()) for word in found)


def test_a_broken_configuration_completes_nothing_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "boardlot").mkdir()
    (tmp_path / "boardlot" / "config.toml").write_text("[broken")
    import click
    from boardlot.cli.numbers import complete_profiles

    context = click.Context(app.app)
    assert complete_profiles(context, app.app.params[0], "") == []
    seen = capsys.readouterr()
    assert not seen.out and not seen.err


@pytest.mark.parametrize("shell", ["bash", "ZSH", "fish"])
def test_each_shell_has_a_script(shell: str, capsys: Any) -> None:
    assert main(["completion", shell]) == 0
    assert "_BOARDLOT_COMPLETE" in capsys.readouterr().out
