"""`boardlot call`: custom endpoints, from a file or a profile."""

import json
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
from boardlot.cli import main

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
def service() -> Any:
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


@pytest.fixture
def call(service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Runs `boardlot call` with the profile `live`; returns the status, stdout and stderr."""
    folder = tmp_path / "boardlot"
    folder.mkdir()
    key = bl.generate_key()
    key_id = service.upload_key(key.public_pem)
    (folder / "key.pem").write_text(key.private_pem)
    (folder / "key.pem").chmod(0o600)
    (folder / "own.toml").write_text(FILE)
    profile = f'base_url = "{service.base_url}"\nauth = {{ kind = "api_key", key_id = "{key_id}", '
    profile += 'private_key = "key.pem" }\n'
    (folder / "config.toml").write_text(
        f'[profiles.plain]\n{profile}[profiles.live]\n{profile}endpoints = "own.toml"\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run(*arguments: str, profile: str = "live") -> tuple[int, str, str]:
        status = main(["--profile", profile, "call", *arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    run.__dict__["file"] = folder / "own.toml"
    return run


def test_the_rows_of_all_pages_are_printed(call: Any) -> None:
    status, out, err = call("kline", "symbol=HK.00700", "start=2026-06-01", "--format", "jsonl")
    assert status == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) > 100
    assert len({row["data_date"] for row in rows}) == len(rows)


def test_the_file_is_an_option_or_in_the_profile(call: Any) -> None:
    arguments = ("kline", "symbol=HK.00700", "limit=300", "--format", "csv")
    given = call(*arguments, "--endpoints", str(call.file), profile="plain")
    assert given[0] == 0
    assert given[1] == call(*arguments)[1]
    status, _, err = call(*arguments, profile="plain")
    assert status == 2
    assert "pass --endpoints FILE" in err


def test_values_have_their_declared_kinds(service: Any, call: Any) -> None:
    things = bl.load_endpoints(call.file)["things"]
    service.serve(things, [{"a": 1}], n=5, x=1.5, on=True, filter={"b": [1]}, text="5")
    values = ("n=5", "x=1.5", "on=true", 'filter={"b": [1]}', "text=5")
    status, out, err = call("things", *values, "--format", "json")
    assert (status, json.loads(out)) == (0, [{"a": 1}]), err
    assert call("things", "n=6", "--format", "json")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["candles"], "'candles' is not an endpoint of the file; it has kline, things"),
        (["kline"], "symbol is missing"),
        (["kline", "HK.00700"], "expected NAME=VALUE"),
        (["kline", "symbol=a", "symbol=b"], "given twice"),
        (["kline", "symbol=../x"], "symbol is '../x'"),
        (["things", "n=many"], "n is 'many'; expected an integer"),
        (["things", "on=yes"], "on is 'yes'; expected True or False"),
        (["things", "filter={"], "filter is '{'; expected a dict or a list"),
        (["kline", "--endpoints", "missing.toml"], "missing.toml"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_why(
    arguments: list[str], expected: str, call: Any
) -> None:
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert expected in " ".join(err.split())


def test_a_mistake_in_the_file_is_reported_with_its_line(call: Any) -> None:
    call.file.write_text(FILE.replace('"decimal"', '"decimla"'))
    status, _, err = call("kline", "symbol=HK.00700")
    assert status == 2
    assert "own.toml, line 6: [kline] record.close is 'decimla'" in " ".join(err.split())
