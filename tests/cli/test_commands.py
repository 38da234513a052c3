"""The command line: its exit statuses, its own commands, and where it writes."""

import sys
from pathlib import Path

import click
import pytest
from boardlot.cli import application as app
from boardlot.cli import settings


def test_help_lists_every_command_before_the_options(boardlot):
    shown = boardlot("--help").out
    for name, (_, line) in app.COMMANDS.items():
        assert name in shown and line in shown
    assert shown.index("Commands:") < shown.index("Data:") < shown.index("Options:")


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_shows_examples(name, boardlot):
    assert "\nExamples:\n  boardlot" in boardlot(name, "--help").out


def test_sandbox_is_on_this_machine_and_does_not_overwrite_a_key(boardlot, tmp_path):
    assert boardlot("sandbox", "--host", "0.0.0.0").status == 2
    key = tmp_path / "key.pem"
    key.write_text("mine")
    assert "already exists and is not overwritten" in boardlot("sandbox", "--key-file", key).refusal
    assert key.read_text() == "mine"


def test_demo_without_pyarrow_writes_the_fills_as_csv(tmp_path, monkeypatch, boardlot):
    for name in ("pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("boardlot.cli.commands.demo.find_spec", lambda _: None)
    done = boardlot("demo", "--out", tmp_path)
    assert done.status == 0 and "skipped fills.png" in done.out
    (written,) = tmp_path.iterdir()
    header, *rows = written.read_text().splitlines()
    assert written.name == "fills.csv" and len(rows) == 2_000
    assert header.startswith("trd_side,deal_id,order_id,code,")


def test_demo(tmp_path, boardlot):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    out = tmp_path / "new" / "folder"
    done = boardlot("demo", "--out", out, "--seed", "3")
    assert done.status == 0 and "PRIVATE KEY" not in done.out
    for line in ("iterated over 2,000 fills", "logged in with OAuth; scopes:", "the same 2,000"):
        assert line in done.out
    lines = done.out.splitlines()
    assert f"the files are in {out}" in lines
    assert sorted(path.name for path in out.iterdir()) == ["fills.parquet", "fills.png"]
    # Next steps: commands of boardlot's own, each of which its help knows.
    following = [line.split()[1:] for line in lines[-3:]]
    assert [words[0] for words in following] == ["sandbox", "--profile", "open"]
    assert not any(boardlot(*words, "--help").status for words in following)


def test_global_options_come_before_or_after_a_command(monkeypatch, boardlot):
    seen = []

    def client(given, identified=True):
        seen.append(given)
        raise click.exceptions.Exit(7)

    monkeypatch.setattr(settings.Settings, "client", client)
    line = "--format csv --profile p dividends HK.00700 --format json --header A:1 --header B:2"
    assert boardlot(*line.split()).status == 7
    given = {"profile": "p", "format": "json", "header": ("A:1", "B:2")}
    assert seen == [settings.Settings(**given)]


def test_open_prints_the_address_of_the_docs_and_opens_it(monkeypatch, boardlot):
    opened = []
    monkeypatch.setattr(click, "launch", lambda url: opened.append(url) or 0)
    page = boardlot("open", "docs").out.strip()
    assert opened == [Path(page).as_uri()]
