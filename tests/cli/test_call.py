"""`boardlot call`: custom endpoints, from a file or a profile."""

import json
import shlex
from functools import partial
from pathlib import Path

import boardlot as bl
import pytest

from ..support.words import assert_transcript

FILE = """\
[kline]
method = "GET"
path = "/api/v1.0/quote/{symbol}/history-kline"
rows = "data.kline_list"
paging = { end = "end", next = "extra.next_time", unique = "data_date" }
record = { data_date = "date", close = "decimal" }

[things]
method = "POST"
path = "/api/v9/things"
rows = "data.list"
arguments = { n = "integer", x = "number", on = "flag", filter = "object" }
"""


@pytest.fixture(scope="module")
def endpoints(service):
    """A file of endpoints, which is that of the profile `own`."""
    config = Path(service.environment["XDG_CONFIG_HOME"]) / "boardlot" / "config.toml"
    text = config.read_text()
    own = text.replace("profiles.live", "profiles.own")
    config.write_text(f'{text}{own}endpoints = "own.toml"\n')
    file = config.with_name("own.toml")
    file.write_text(FILE)
    return file


@pytest.fixture
def call(endpoints, live):
    return partial(live, "--profile", "own", "call")


def test_the_rows_of_all_pages_are_printed(call):
    done = call("kline", "symbol=HK.00700", "start=2026-06-01", "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.status == 0 and len(rows) > 100
    assert len({row["data_date"] for row in rows}) == len(rows)


def test_the_file_is_an_option_or_in_the_profile(call, live, endpoints):
    arguments = ("kline", "symbol=HK.00700", "limit=300", "--format", "csv")
    given = live("call", *arguments, "--endpoints", endpoints)
    assert given.status == 0 and given.out == call(*arguments).out
    assert "pass --endpoints FILE" in live("call", *arguments).refusal


def test_values_have_their_declared_kinds(sandbox, call, endpoints):
    things = bl.load_endpoints(endpoints)["things"]
    sandbox.serve(things, [{"a": 1}], n=5, x=1.5, on=True, filter={"b": [1]}, text="5")
    values = ("n=5", "x=1.5", "on=true", 'filter={"b": [1]}', "text=5")
    assert call("things", *values, "--format", "json").json == [{"a": 1}]
    assert call("things", "n=6", "--format", "json").status == 3


def test_wrong_usage_ends_with_2_and_says_why(call, sent):
    def refusal(line):
        return call(*shlex.split(line)).refusal

    assert_transcript(Path(__file__).with_name("refusals") / "custom_endpoints.txt", refusal)
    assert sent() == []
