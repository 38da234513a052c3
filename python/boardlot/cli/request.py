"""`boardlot request`: any request, with the credentials of the other commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from boardlot.cli.click_classes import Argument, DataCommand
from boardlot.cli.json_colours import coloured_json
from boardlot.cli.output import check_destination, emit_bytes
from boardlot.cli.settings import Settings
from boardlot.cli.terminal import coloured

__all__ = ["command"]


def call(
    settings: Settings, method: str, path: str, query: tuple[str, ...], body: str | None
) -> int:
    """Send any request, and print the response unchanged.

    The request is signed or carries the login's token like all others. The body of the response
    goes to stdout, with JSON indented on a terminal; the HTTP status goes to stderr. The exit
    status is 1 from HTTP 400 on; the service may also report an error with HTTP 200.
    """
    if settings.format is not None or settings.columns is not None or settings.chooses_rows:
        raise click.UsageError(
            "the response is printed unchanged: leave out --format, --columns, --where, --sort and "
            "--limit"
        )
    reads = [Path(body[1:])] if body is not None and body.startswith("@") else []
    check_destination(settings, reads)
    pairs = [_pair(text) for text in query]
    content = None if body is None else _body(body)
    with settings.client() as client:
        response = client.request(method.upper(), path, query=pairs or None, body=content)
    click.echo(f"HTTP {response.status}", err=True)
    shown = settings.out is None and sys.stdout.isatty()
    content = response.content
    emit_bytes(settings, _readable(content, colours=coloured()) if shown else content)
    return 1 if response.status >= 400 else 0


command: DataCommand = DataCommand(
    "request",
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
    help=call.__doc__,
    examples=[
        "boardlot --profile live request GET /api/v1.0/server-time",
        "boardlot --profile live request GET /api/v1.0/quote/ipo-list/hk --query request_type=9",
        "boardlot --profile live request POST /api/v1.0/quote/plate/HK.BK1001/stock "
        """--body '{"next_key":"","limit":20}'""",
    ],
    callback=click.pass_obj(call),
)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--query {text!r} is not a parameter; expected NAME=VALUE")
    return name, value


def _body(text: str) -> bytes:
    if text == "@-":
        return sys.stdin.buffer.read()
    if text.startswith("@"):
        return Path(text[1:]).read_bytes()
    try:
        json.loads(text)
    except ValueError as wrong:
        raise click.UsageError(f"--body is not JSON: {wrong}; write a file as @FILE") from None
    return text.encode()


def _readable(content: bytes, *, colours: bool = False) -> bytes:
    """The body for a terminal: JSON is indented, control characters are escaped."""
    text, indented = content.decode("utf-8", "backslashreplace"), False
    try:
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        indented = True
    except (ValueError, RecursionError):
        text = text.removesuffix("\n")
    escaped = (
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode()
        for char in text
    )
    encoding = sys.stdout.encoding or "utf-8"
    text = "".join(escaped)
    if indented and colours:
        text = coloured_json(text)
    return f"{text}\n".encode(encoding, "backslashreplace")
