"""What the command line makes of other spellings, and what a terminal gets in colour."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

click = pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a terminal of POSIX")
from boardlot.cli import main  # noqa: E402
from boardlot.cli.commands import open  # noqa: E402
from boardlot.cli.output.terminal import coloured_json  # noqa: E402

from ..support.command_line import ACCOUNT, Service  # noqa: E402

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


SANDBOX = {"fills": 20}


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        (["dividends", "hk.00700"], "/quote/HK.00700/"),
        (["DIVIDENDS", "HK.00700"], "/quote/HK.00700/"),
        (["futures", "hk.HSImain"], "/quote/HK.HSImain/"),
        (["plate", "hk.BK1001"], "/plate/HK.BK1001/"),
        (["ipos", "HK"], "/ipo-list/hk"),
        (["trading-days", "hk", "2026-01-05", "2026-01-09"], "market=HK"),
        (["fills", ACCOUNT, "hk"], "trd_market=HK"),
        (["dividends", "HK.00700", "--format", "JSON"], "/quote/HK.00700/"),
    ],
)
def test_either_case_is_accepted_where_it_is_unambiguous(
    typed: list[str], sent: str, service: Service, live: list[str]
) -> None:
    assert main([*live, *typed]) == 0
    request = service.sandbox.requests[-1]
    assert sent in f"{request.path}?{request.query}"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["dividens", "HK.00700"], "did you mean 'dividends'?"),
        (["profile", "ad"], "did you mean 'add'?"),
        (["FILS", ACCOUNT, "HK"], "did you mean 'fills'?"),
        (["dividends", "0700.HK"], "did you mean 'HK.00700'?"),
        (["dividends", "HK.00700", "--fromat", "json"], "--format"),
        (["dividends", "HK.00700", "--where", "exdate>2024"], "did you mean 'ex_date'?"),
        (["dividends", "HK.00700", "--sort", "ex_date,desc"], "write a minus before the name"),
    ],
)
def test_the_nearest_name_is_suggested(
    typed: list[str], said: str, live: list[str], service: Service, capsys: Any
) -> None:
    assert main([*live, *typed]) == 2
    assert said in capsys.readouterr().err


def test_a_symbol_that_the_service_does_not_know_is_suggested_too(
    live: list[str], capsys: Any
) -> None:
    assert main([*live, "dividends", "HK.700"]) == 1
    assert "hint: Did you mean 'HK.00700'?" in capsys.readouterr().err


def test_what_is_far_from_every_command_has_no_suggestion(capsys: Any) -> None:
    assert main(["xyzzy"]) == 2
    said = capsys.readouterr().err
    assert "'xyzzy' is not a command of boardlot" in said and "did you mean" not in said


def test_help_has_the_commands_first_and_a_commands_own_options_first(capsys: Any) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("Commands:") < text.index("Data:") < text.index("Options:")
    assert main(["fills", "--help"]) == 0
    text = capsys.readouterr().out
    own, shared = text.index("--windows"), text.index("Global options:")
    assert text.index("Arguments:") < text.index("Options:") < own < shared
    assert shared < text.index("\n  --profile NAME")


def test_help_and_json_are_in_colour_on_a_terminal_only(service: Service) -> None:
    for arguments in (["dividends", "--help"], ["dividends", "HK.00700", "--format", "json"]):
        screen = service.terminal(*arguments, columns=100)
        assert "\x1b[" in screen.text
        assert "\x1b" not in service.terminal(*arguments, NO_COLOR="1", columns=100).text
        plain = service.run(*arguments, env={"COLUMNS": "100"})
        assert b"\x1b" not in plain.stdout
        # Colours are all that is added.
        assert ESCAPE.sub("", screen.text).split()[:20] == plain.stdout.decode().split()[:20]


@pytest.mark.parametrize(
    "value",
    [
        {"a": 'quote " and \\ backslash', "n": -1.5e-7, "b": True, "z": None},
        ["x: 1", {"true": "false"}, [], {}, 10**30],
        {"名": "騰訊", "empty": ""},
    ],
)
def test_coloured_json_is_the_same_text(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert ESCAPE.sub("", coloured_json(text)) == text
    assert coloured_json(text) != text


def test_open_prints_the_address_and_opens_it(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    opened: list[str] = []
    monkeypatch.setattr(open, "addresses", lambda: {"source": "https://source.example.com"})
    monkeypatch.setattr(click, "launch", lambda url: opened.append(url) or 0)
    assert main(["open", "source"]) == 0
    assert opened == ["https://source.example.com"]
    assert capsys.readouterr().out == "https://source.example.com\n"
    assert main(["open", "docs"]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert opened[1] == page.as_uri() and "<h1>boardlot</h1>" in page.read_text("utf-8")
    assert main(["open", "changelog"]) == 1
    assert "no address for its changelog" in capsys.readouterr().err


def test_only_https_addresses_of_the_package_are_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Metadata:
        def get_all(self, _: str) -> list[str]:
            return ["Documentation, https://docs.example.com", "Source, file:///etc/passwd", "odd"]

    monkeypatch.setattr(open, "metadata", lambda _: Metadata())
    assert open.addresses() == {"documentation": "https://docs.example.com"}
