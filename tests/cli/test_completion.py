"""Completion, tried in bash, zsh and fish: commands, options, profiles, columns and markets."""

import shlex
import subprocess
from contextlib import closing
from functools import cache
from pathlib import Path

import click
import pytest
from boardlot.cli import application as app
from boardlot.cli.numbers import complete_profiles

from ..support.command_line import Service
from ..support.system import need_program
from ..support.vectors import table

# Each shell runs the script that boardlot prints for it, and shows what it would offer.
COMMANDS = {
    "bash": ["bash", "--norc"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
}
CASES = table("command_lines")["completions"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with closing(Service(folder, fills=0)) as service:
        service.install(folder / "bin")
        config = folder / "boardlot" / "config.toml"
        config.write_text(f'{config.read_text()}[profiles.paper]\nbase_url = "https://x.example"\n')
        service.environment["HOME"] = str(folder)
        yield service


@pytest.fixture(scope="module")
def script(service, tmp_path_factory):
    """The file with what boardlot prints for a shell."""

    @cache
    def printed(shell):
        file = tmp_path_factory.mktemp("completion") / shell
        file.write_bytes(service.rows("completion", shell))
        return file

    return printed


@pytest.mark.parametrize(
    ("shell", "typed", "offered"),
    [
        *(("bash", *case) for case in CASES),
        *(("zsh", *case) for case in CASES[:2]),
        *(("fish", *case) for case in CASES[:2]),
    ],
)
def test_a_shell_completes(shell, typed, offered, service, script):
    need_program(shell)
    words = shlex.join([*typed.split(), *([""] if typed.endswith(" ") else [])])
    command = [*COMMANDS[shell], Path(__file__).with_name(f"complete.{shell}")]
    env = {**service.environment, "SCRIPT": str(script(shell)), "WORDS": words, "TYPED": typed}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = set(done.stdout.split())
    assert set(offered) <= found, done.stderr
    last = typed.rpartition(" ")[2]
    assert all(word.lower().startswith(last.lower()) for word in found)


def test_a_broken_configuration_completes_nothing_and_says_nothing(config, capsys):
    config.parent.mkdir(parents=True)
    config.write_text("[broken")
    assert complete_profiles(click.Context(app.app), app.app.params[0], "") == []
    assert capsys.readouterr() == ("", "")
