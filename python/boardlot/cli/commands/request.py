"""`boardlot request` and `boardlot call`: any request, and custom endpoints from a TOML file."""

from __future__ import annotations

import codecs
import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from boardlot import load_endpoints
from boardlot._core import _expand_user
from boardlot._support.tables.cell_format import escaped
from boardlot.cli.click_classes import Argument, DataCommand
from boardlot.cli.files import UserPath
from boardlot.cli.output.emit import check_destination, check_out, emit, emit_bytes
from boardlot.cli.output.terminal import colored, colored_json, note
from boardlot.cli.settings import Settings
from boardlot.cli.statuses import FAILED, RETRYABLE


@click.command(
    "request",
    cls=DataCommand,
    output="bytes",
    params=[
        Argument("method", "GET, POST, ...", metavar="METHOD"),
        Argument(
            "path", "Relative to the base URL, such as /api/v1.0/server-time.", metavar="PATH"
        ),
        click.Option(
            ["--query"],
            metavar="NAME=VALUE",
            multiple=True,
            help="A query parameter; repeat it for more; they are sent in this order.",
        ),
        click.Option(
            ["--body"],
            metavar="JSON|@FILE",
            help="The body, sent unchanged: JSON, or the content of FILE (@- is stdin).",
        ),
    ],
    examples=[
        "boardlot --profile live request GET /api/v1.0/server-time",
        "boardlot --profile live request GET /api/v1.0/quote/ipo-list/hk --query request_type=9",
        "boardlot --profile live request POST /api/v1.0/quote/plate/HK.BK1001/stock "
        """--body '{"next_key":"","limit":20}'""",
    ],
)
@click.pass_obj
def request(
    settings: Settings, method: str, path: str, query: tuple[str, ...], body: str | None
) -> int:
    """Send any request, and print the response unchanged.

    The request is signed or carries the login's token like all others. The body of the response
    goes to stdout, with JSON indented on a terminal; the HTTP status goes to stderr. The exit
    status is 1 for HTTP 429 and from 500 on, and 3 for other statuses from 400 on; the service may
    also report an error with HTTP 200.
    """
    reads = [Path(_expand_user(body[1:]))] if body is not None and body.startswith("@") else []
    check_destination(settings, reads)
    pairs = [_pair(text, f"--query {text!r} is not a parameter") for text in query]
    content = None if body is None else _body(body)
    with settings.client() as client:
        response = client.request(method.upper(), path, query=pairs or None, body=content)
    note(f"HTTP {response.status}")
    shown = settings.out is None and sys.stdout.isatty()
    content = response.content
    emit_bytes(settings, _readable(content, colors=colored()) if shown else content)
    if response.status < 400:
        return 0
    return RETRYABLE if response.status == 429 or response.status >= 500 else FAILED


def _pair(text: str, otherwise: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{otherwise}; expected NAME=VALUE")
    return name, value


def _body(text: str) -> bytes:
    if text == "@-":
        return sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)
    if text.startswith("@"):
        return Path(_expand_user(text[1:])).read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        json.loads(text, parse_constant=_reject_constant)
    except ValueError as wrong:
        raise click.UsageError(f"--body is not JSON: {wrong}; write a file as @FILE") from None
    return text.encode()


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _readable(content: bytes, *, colors: bool = False) -> bytes:
    """The body for a terminal: JSON is indented, control characters are escaped."""
    text = content.decode("utf-8", "backslashreplace")
    try:
        text = escaped(json.dumps(json.loads(text), indent=2, ensure_ascii=False), "\n")
        text = colored_json(text) if colors else text
    except (ValueError, RecursionError):
        text = escaped(text.removesuffix("\n"), "\n\t")
    return f"{text}\n".encode(sys.stdout.encoding or "utf-8", "backslashreplace")


WHOLE = ("integer", "seconds", "millis", "micros")
FRACTION = ("number", "percent")


@click.command(
    "call",
    cls=DataCommand,
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
            help="The TOML file of the endpoints; by default the profile's.",
        ),
    ],
    examples=[
        "boardlot --profile live call kline symbol=HK.00700 --endpoints endpoints.toml",
        "boardlot --profile live call kline symbol=HK.00700 limit=200 --out kline.parquet",
    ],
)
@click.pass_obj
def call(settings: Settings, name: str, arguments: tuple[str, ...], endpoints: Path | None) -> None:
    """Call an endpoint that a TOML file declares, and print its rows.

    The file has a table for each endpoint: its method, path, rows, paging, record and arguments, as
    boardlot.Endpoint takes them. Without --endpoints it is the file that the profile names as
    `endpoints`. All pages of a list are fetched, one at a time.
    """
    endpoint = _endpoint(_declared(settings, endpoints), name)
    values = dict(_argument_pair(text, endpoint.arguments) for text in arguments)
    if len(values) < len(arguments):
        raise click.UsageError("an argument is given twice; expected each NAME once")
    check_out(settings)
    with settings.client() as client:
        if endpoint.paging is None:
            emit(settings, client._boardlot_core.call(endpoint, list(values.items())))
        else:
            emit(settings, client.pages(endpoint, **values))


def _declared(settings: Settings, file: Path | None) -> dict[str, Any]:
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


def _argument_pair(text: str, kinds: dict[str, str]) -> tuple[str, Any]:
    name, value = _pair(text, f"{text!r} is not an argument")
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
