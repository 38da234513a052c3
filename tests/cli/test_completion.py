"""Completion, tried in bash, zsh and fish: commands, options, profiles, columns and markets."""

import shlex
import subprocess
from contextlib import closing

import click
import pytest
from boardlot.cli import application as app
from boardlot.cli.numbers import complete_profiles

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
    ("boardlot profile use li", {"live"}),
    ("boardlot --profile ", {"live", "paper"}),
    ("boardlot fills --columns code,pr", {"code,price"}),
    ("boardlot ipos --sort list_ti", {"list_time", "list_timestamp"}),
    ("boardlot trading-days ", {"HK", "US", "MY"}),
    ("boardlot fills 281756 h", {"HK"}),
    ("boardlot dividends HK.00700 --format j", {"json", "jsonl"}),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with closing(Service(folder, fills=0)) as service:
        service.install(folder / "bin")
        config = folder / "boardlot" / "config.toml"
        config.write_text(f'{config.read_text()}[profiles.paper]\nbase_url = "https://x.example"\n')
        service.environment["HOME"] = str(folder)
        yield service


@pytest.mark.parametrize(
    ("shell", "typed", "offered"),
    [
        *(("bash", *case) for case in CASES),
        *(("zsh", *case) for case in CASES[:2]),
        *(("fish", *case) for case in CASES[:2]),
    ],
)
def test_a_shell_completes(shell, typed, offered, service, tmp_path):
    need_program(shell)
    words = shlex.join([*typed.split(), *([""] if typed.endswith(" ") else [])])
    printed = tmp_path / "script"
    printed.write_bytes(service.rows("completion", shell))
    script = SCRIPTS[shell].format(words=words, line=shlex.quote(typed), script=printed)
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    command = [shell, *quiet, "-c", script]
    done = subprocess.run(command, env=service.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = set(done.stdout.split())
    assert offered <= found, done.stderr
    last = typed.rpartition(" ")[2]
    assert all(word.lower().startswith(last.lower()) for word in found)


def test_a_broken_configuration_completes_nothing_and_says_nothing(config, capsys):
    config.parent.mkdir(parents=True)
    config.write_text("[broken")
    assert complete_profiles(click.Context(app.app), app.app.params[0], "") == []
    assert capsys.readouterr() == ("", "")
