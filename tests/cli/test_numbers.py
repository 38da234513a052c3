"""Numbers on the command line: finite and within bounds, or wrong usage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a terminal of POSIX")
import click
from boardlot.cli import main
from boardlot.cli.application import app
from boardlot.cli.numbers import Number, Whole
from click.types import FloatParamType, IntParamType

from ..support.command_line import ACCOUNT, Service

HOSTILE = ["nan", "-nan", "inf", "-inf", "Infinity", "-1", "1e10", "1e400", "-1e400", ""]
HOSTILE += ["0", "1e-400", str(2**63), str(-(2**64)), "9" * 400, "9" * 5000, "1_0", "\u0661", "x"]


def commands(group: Any = app, names: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command, by its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*names, name))
        else:
            yield " ".join((*names, name)), command


def numbers() -> Iterator[Any]:
    """Every option and argument that is a number, with its command."""
    for name, command in commands():
        for parameter in command.get_params(click.Context(command)):
            if isinstance(parameter.type, (IntParamType, FloatParamType)):
                yield pytest.param(name, parameter, id=f"{name} {parameter.opts[0]}")


NUMBERS = list(numbers())


def test_there_are_numbers_of_all_kinds_of_commands() -> None:
    found = {parameter.id for parameter in NUMBERS}
    assert {
        "archive follow --every",
        "sandbox --latency",
        "fills --windows",
        "ipos --limit",
    } < found


@pytest.mark.parametrize(("name", "parameter"), NUMBERS)
def test_a_number_is_finite_and_within_bounds_or_wrong_usage(name: str, parameter: Any) -> None:
    assert isinstance(parameter.type, (Number, Whole)), name
    accepted = 0
    for text in HOSTILE:
        try:
            number = parameter.type.convert(text, parameter, None)
        except click.UsageError:
            continue
        accepted += 1
        assert math.isfinite(number) and number.__class__ in (int, float), text
        assert isinstance(number, float) or -(2**63) <= number < 2**63, text
    assert accepted < len(HOSTILE) - 8


def test_a_whole_number_has_64_bits() -> None:
    for number in (-(2**63), -1, 0, 2**63 - 1):
        assert Whole().convert(str(number), None, None) == number
    for number in (-(2**63) - 1, 2**63):
        with pytest.raises(click.UsageError, match=r"an integer from -2\^63 to 2\^63 - 1"):
            Whole().convert(str(number), None, None)


def test_a_whole_number_may_come_from_json() -> None:
    for value in (float("inf"), float("nan"), 2.0**70):
        with pytest.raises(click.UsageError):
            Whole().convert(value, None, None)


SANDBOX = {"fills": 60}


@pytest.fixture
def run(service: Service, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Any:
    """Runs a command in this process: its status, and what it wrote to stderr."""
    monkeypatch.setenv("XDG_CONFIG_HOME", service.environment["XDG_CONFIG_HOME"])

    def call(*arguments: str) -> tuple[int, str]:
        status = main(["--profile", "live", *arguments])
        return status, capfdbinary.readouterr().err.decode()

    return call


# The arguments of commands that end by themselves, whatever number they are given.
ENDING = {
    "archive update": ["{folder}/trades.db", "--fills", f"{ACCOUNT}:HK"],
    "crypto-orders": ["281757"],
    "doctor": [],
    "fills": [ACCOUNT, "HK", "--limit", "1"],
    "plate-stocks": ["HK.BK1001"],
    "profile list": [],
    "trading-days": ["HK"],
}


@pytest.mark.parametrize(("name", "parameter"), [one for one in NUMBERS if one.values[0] in ENDING])
def test_a_command_never_fails_with_anything_but_a_message(
    name: str, parameter: Any, tmp_path: Path, run: Any
) -> None:
    arguments = [argument.format(folder=tmp_path) for argument in ENDING[name]]
    for text in HOSTILE:
        # The last one of an option that is given twice is the one that counts.
        status, err = run(*name.split(), *arguments, f"{parameter.opts[0]}={text}")
        assert status in (0, 1, 2), text
        assert status == 0 or "Error:" in err or "boardlot:" in err or "failed" in err, text
        if text in ("nan", "inf", "-inf", "1e400", "", "x"):
            assert status == 2, (text, err)


@pytest.mark.parametrize(
    "text", ["nan", "NaN", "-nan", "sNaN", "nan123", "inf", "-Infinity", "1e", "x"]
)
@pytest.mark.parametrize("comparison", ["=", "==", "!=", "<", "<=", ">", ">="])
def test_a_condition_compares_with_finite_numbers(comparison: str, text: str, run: Any) -> None:
    status, err = run("fills", ACCOUNT, "HK", "--where", f"price{comparison}{text}")
    assert status == 2 and f"not {text!r}" in err, err


@pytest.mark.parametrize(
    ("typed", "meant"), [("price=>3", "price>=3"), ("code=<HK", "code<=HK"), ("qty = !5", "qty!=5")]
)
def test_a_comparison_with_its_signs_swapped_is_refused(typed: str, meant: str, run: Any) -> None:
    status, err = run("fills", ACCOUNT, "HK", "--where", typed)
    assert status == 2 and f"did you mean {meant!r}?" in err, err
    assert run("fills", ACCOUNT, "HK", "--where", "code==>HK")[0] == 0


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-400", "9" * 5000, "1e999999", "-0"])
def test_a_condition_compares_with_any_finite_number(text: str, run: Any) -> None:
    assert run("fills", ACCOUNT, "HK", "--where", f"price>{text}")[0] == 0


def test_numbers_of_an_archive_are_bounded_in_python_too(service: Service, tmp_path: Path) -> None:
    bad: list[Any] = [float("nan"), float("inf"), 1e10, 10**400, -1, True, "5"]
    client = service.sandbox.client()
    with client, bl.Archive(tmp_path / "a.db") as archive:
        for value in bad:
            with pytest.raises(bl.ConfigError, match=r"wait is .*expected a number of seconds"):
                bl.Archive(tmp_path / "b.db", wait=value)
            with pytest.raises(bl.ConfigError, match=r"every is .*expected a number of seconds"):
                archive.follow(client, fills=(ACCOUNT, "HK"), every=value)
