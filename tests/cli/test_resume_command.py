"""The command that resumes an interrupted download: the options that are added to it."""

from pathlib import Path

import click
import pytest
from boardlot.cli.application import app
from boardlot.cli.commands.endpoints import ENDPOINTS
from boardlot.cli.options import global_options
from boardlot.cli.output.resume import REDACTED, resumable_command, same_command
from boardlot.cli.settings import Settings

TYPED = ["fills", "1", "HK"]


@pytest.mark.parametrize(
    ("settings", "added"),
    [
        ({}, "--out fills.jsonl --resume fills.jsonl.checkpoint"),
        ({"format": "csv"}, "--out fills.csv --resume fills.csv.checkpoint"),
        (
            {"format": "table"},
            "--format jsonl --out fills.jsonl --resume fills.jsonl.checkpoint",
        ),
        ({"out": "a.csv"}, "--resume a.csv.checkpoint"),
        ({"out": "a", "format": "jsonl"}, "--resume a.checkpoint"),
        ({"out": "a.parquet"}, "--out a.jsonl --resume a.jsonl.checkpoint"),
        (
            {"out": "a.csv", "format": "json"},
            "--format jsonl --out a.jsonl --resume a.jsonl.checkpoint",
        ),
    ],
)
def test_only_what_is_missing_is_added(settings, added):
    if "out" in settings:
        settings = {**settings, "out": Path(settings["out"])}
    assert resumable_command(Settings(typed=TYPED, **settings)) == f"boardlot fills 1 HK {added}"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["--header", "Authorization: Bearer hush"], "--header 'Authorization: ...'"),
        (["--proxy", "http://me:hush@proxy:3128"], "--proxy http://...@proxy:3128"),
        (["--proxy", "http://proxy:3128"], "--proxy http://proxy:3128"),
        (["--passphrase-command", "echo hush"], "--passphrase-command ..."),
        (["--passphrase-command=echo hush"], "--passphrase-command=..."),
        (["--query", "token=hush"], "--query token=..."),
        (["--body", '{"token":"hush"}'], "--body ..."),
    ],
)
def test_what_may_be_secret_is_not_shown(typed, shown):
    command = same_command(Settings(typed=[*typed, *TYPED]))
    assert command == f"boardlot {shown} fills 1 HK"


# Options of free text whose values are no secrets: names, addresses, and what to show.
PUBLIC = {
    *("--account", "--base-url", "--client-id", "--columns", "--crypto-orders", "--dividends"),
    *("--fills", "--futures", "--host", "--ipos", "--key-id", "--name", "--plates", "--profile"),
    *("--sim-orders", "--sim-positions", "--since", "--sort", "--where"),
}


def options_of(command):
    yield from (one for one in command.params if isinstance(one, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        # The options of an endpoint are its parameters, of which none is a secret.
        for name in set(command.list_commands(context)) - set(ENDPOINTS):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from options_of(inner)


def test_each_option_of_free_text_is_known_to_be_secret_or_not():
    free = {
        name
        for option in [*global_options(), *options_of(app)]
        if isinstance(option.type, click.types.StringParamType) and not option.is_flag
        for name in option.opts
    }
    assert free == set(REDACTED) | PUBLIC
