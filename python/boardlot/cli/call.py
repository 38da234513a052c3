"""`boardlot call`: a custom endpoint, from a TOML file."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from boardlot.cli.click_classes import Argument, DataCommand
from boardlot.cli.paths import UserPath
from boardlot.cli.settings import Settings

__all__ = ["command"]

WHOLE = ("integer", "seconds", "millis", "micros")
FRACTION = ("number", "percent")


def call(settings: Settings, name: str, arguments: tuple[str, ...], endpoints: Path | None) -> None:
    """Call an endpoint that a TOML file declares, and print its rows.

    The file has a table for each endpoint: its method, path, rows, paging, record and arguments, as
    boardlot.Endpoint takes them. Without --endpoints it is the file that the profile names as
    `endpoints`. All pages of a list are fetched, one at a time.
    """
    from boardlot.cli.output import check_out, emit

    endpoint = _endpoint(_declared(settings, endpoints), name)
    values = dict(_pair(text, endpoint.arguments) for text in arguments)
    if len(values) < len(arguments):
        raise click.UsageError("an argument is given twice; expected each NAME once")
    check_out(settings)
    with settings.client() as client:
        if endpoint.paging is None:
            emit(settings, client.call(endpoint, **values))
        else:
            emit(settings, client.pages(endpoint, **values))


command: DataCommand = DataCommand(
    "call",
    params=[
        Argument("name", "The endpoint: the name of its table in the file.", metavar="NAME"),
        Argument(
            "arguments",
            "An argument of the endpoint; repeat it for more; they are sent in this order.",
            metavar="[ARGUMENT=VALUE]...",
            nargs=-1,
        ),
        click.Option(
            ["--endpoints"],
            metavar="FILE",
            type=UserPath(),
            help="The TOML file of the endpoints; by default that of the profile.",
        ),
    ],
    help=call.__doc__,
    examples=[
        "boardlot --profile live call kline symbol=HK.00700 --endpoints endpoints.toml",
        "boardlot --profile live call kline symbol=HK.00700 limit=200 --out kline.parquet",
    ],
    callback=click.pass_obj(call),
)


def _declared(settings: Settings, file: Path | None) -> dict[str, Any]:
    from boardlot import load_endpoints

    path = file or settings.profile_entry.get("endpoints")
    if path is None:
        raise click.UsageError(
            'no endpoints: pass --endpoints FILE, or set endpoints = "FILE" in the profile'
        )
    return load_endpoints(path)


def _endpoint(declared: dict[str, Any], name: str) -> Any:
    if name in declared:
        return declared[name]
    names = ", ".join(declared) or "no endpoints"
    raise click.UsageError(f"{name!r} is not an endpoint of the file; it has {names}")


def _pair(text: str, kinds: dict[str, str]) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} is not an argument; expected NAME=VALUE")
    return name, _value(value, kinds.get(name, "text"))


def _value(text: str, kind: str) -> Any:
    """The value of its declared kind; text that is not of it is left to the endpoint's check."""
    with suppress(ValueError):
        if kind in WHOLE and re.fullmatch(r"-?[0-9]+", text):
            return int(text)
        if kind in FRACTION:
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if kind == "object":
            return json.loads(text)
    if kind == "flag":
        return {"true": True, "false": False}.get(text, text)
    return text
