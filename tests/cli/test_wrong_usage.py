"""Impossible requests end with 2 and a reason, before anything is requested or written."""

import contextlib
import math
import os
import shlex
from pathlib import Path

import click
import pytest
from boardlot.cli.application import app
from boardlot.cli.numbers import Number, Whole
from click.types import FloatParamType, IntParamType

from ..support.command_line import ACCOUNT
from ..support.words import assert_transcript, named

SANDBOX = {"fills": 60}
REFUSALS = Path(__file__).with_name("refusals")
FILLS = ["fills", ACCOUNT, "HK"]
DIVIDENDS = ["dividends", "HK.00700"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """One with a file, a folder and a pipe."""
    monkeypatch.chdir(tmp_path)
    Path("there.csv").write_text("mine")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    return tmp_path


def test_wrong_usage_is_said_before_a_request(live, sent, folder):
    before = sorted(folder.iterdir())

    def refusal(line):
        said = live(*shlex.split(line)).refusal
        assert sent() == [] and sorted(folder.iterdir()) == before, line
        assert Path("there.csv").read_text() == "mine", line
        return named(said, CONFIG=os.environ["XDG_CONFIG_HOME"])

    assert_transcript(REFUSALS / "wrong_usage.txt", refusal)


def test_a_header_of_two_lines_is_not_sent(live, sent):
    header = ["--header", "X-Service-Client-Nnid: 12\n3"]
    assert "the value of 'X-Service-Client-Nnid'" in live(*DIVIDENDS, *header).refusal
    assert sent() == []


def test_rows_that_cannot_be_chosen_are_an_error(live):
    def refusal(options):
        return live(*FILLS, *shlex.split(options)).refusal

    assert_transcript(REFUSALS / "rows.txt", refusal)


@pytest.mark.parametrize("text", ["1e400", "1e-400", "9" * 5000, "-0"])
def test_a_condition_compares_with_any_finite_number(text, live):
    assert live(*FILLS, "--where", f"price>{text}").status == 0


@pytest.mark.parametrize("option", [["--where", "qty>1"], ["--limit", "3"], ["--columns", "code"]])
@pytest.mark.parametrize(
    "command", ["completion bash", "demo", "keygen key.pem", "login", "mcp", "profile add x"]
)
def test_an_option_about_rows_is_refused_if_there_are_none(option, command, boardlot):
    done = boardlot(*option, *command.split())
    said = f"{option[0]} has no effect on `boardlot {command.split()[0]}"
    assert done.status == 2 and said in done.said


def test_text_has_no_rows_to_choose(boardlot):
    for command in (["doctor"], ["status"], ["profile", "show"]):
        done = boardlot("--base-url", "http://127.0.0.1:9", *command, "--limit", "1")
        assert done.status == 2 and "add one of them" in done.said


HOSTILE = ["nan", "-inf", "Infinity", "-1", "1e10", "1e400", "", "0", "1e-400", str(2**63)]
HOSTILE += [str(-(2**64)), "9" * 5000, "1_0", "\u0661", "x"]


def commands(group=app, names=()):
    """Every command, by its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*names, name))
        else:
            yield " ".join((*names, name)), command


NUMBERS = {
    f"{name} {parameter.opts[0]}": parameter
    for name, command in commands()
    for parameter in command.get_params(click.Context(command))
    if isinstance(parameter.type, (IntParamType, FloatParamType))
}


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_finite_and_within_bounds_or_wrong_usage(name):
    parameter, accepted = NUMBERS[name], []
    assert isinstance(parameter.type, (Number, Whole))
    for text in HOSTILE:
        with contextlib.suppress(click.UsageError):
            accepted.append(parameter.type.convert(text, parameter, None))
    assert len(accepted) < len(HOSTILE) - 6
    for number in accepted:
        assert math.isfinite(number) and (isinstance(number, float) or abs(number) < 2**63)


def links(*pairs):
    for target, link in pairs:
        Path(link).symlink_to(target)


@pytest.mark.parametrize(
    ("where", "linked"),
    [
        ("f.csv", []),
        ("../{here}/f.csv", []),
        ("f.csv.boardlot-part", []),
        ("where", [("f.csv", "where")]),
        ("where", [("f.csv.boardlot-part", "where")]),
        ("where", [("target", "f.csv"), ("target", "where")]),
        ("hard link", []),
    ],
)
def test_out_and_resume_are_two_files(where, linked, live, sent, folder):
    links(*linked)
    if where == "hard link":
        Path("f.csv").touch()
        Path(where).hardlink_to("f.csv")
    before = sorted(folder.iterdir())
    done = live(*FILLS, "--out", "f.csv", "--resume", where.format(here=folder.name), "--force")
    assert done.status == 2 and "would write to the same file" in done.said
    assert sent() == [] and sorted(folder.iterdir()) == before


def test_data_do_not_replace_what_the_command_reads(service, live, boardlot, folder):
    config = Path(service.environment["XDG_CONFIG_HOME"]) / "boardlot" / "config.toml"
    links((service.key_file, "link"))
    (folder / "hard").hardlink_to(service.key_file)
    key = service.key_file.read_bytes()
    Path("k.pem").write_bytes(key)
    Path("body").write_text("{}")
    base = ["--base-url", service.sandbox.base_url, "--key-id", "x"]
    to_file = [*DIVIDENDS, "--format", "csv", "--force", "--out"]
    for done in (
        *(live(*to_file, out) for out in (service.key_file, "link", "hard", config)),
        boardlot(*base, "--key-file", "k.pem", *to_file, "k.pem"),
        boardlot(*base, "--ca-file", "k.pem", *to_file, "k.pem"),
        live("request", "POST", "/x", "--body", "@body", "--out", "./body", "--force"),
    ):
        assert done.status == 2 and "is a file that the command itself reads" in done.said
    assert service.key_file.read_bytes() == Path("k.pem").read_bytes() == key


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_rejected(live):
    Path("folder").chmod(0o500)
    assert "cannot be written: " in live(*DIVIDENDS, "--out", "folder/f.csv").refusal
