"""The command that resumes an interrupted download: the options that are added to it."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
from boardlot.cli.resume_command import resumable_command, same_command
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
def test_only_what_is_missing_is_added(settings: dict[str, Any], added: str) -> None:
    if "out" in settings:
        settings = {**settings, "out": Path(settings["out"])}
    assert resumable_command(Settings(typed=TYPED, **settings)) == f"boardlot fills 1 HK {added}"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["--header", "Authorization: Bearer hush"], "--header 'Authorization: ...'"),
        (["--header=Authorization: Bearer hush"], "'--header=Authorization: ...'"),
        (["--proxy", "http://me:hush@proxy:3128"], "--proxy http://...@proxy:3128"),
        (["--proxy=me:hush@proxy:3128"], "--proxy=...@proxy:3128"),
        (["--proxy", "http://proxy:3128"], "--proxy http://proxy:3128"),
    ],
)
def test_what_may_be_secret_is_not_shown(typed: list[str], shown: str) -> None:
    told = same_command(Settings(typed=[*typed, *TYPED]))
    assert told == f"boardlot {shown} fills 1 HK"
