"""The commands that call the service: one for each endpoint in the generated table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from boardlot import Client, _endpoints
from boardlot.cli.click_classes import Argument, DataCommand
from boardlot.cli.files import UserPath
from boardlot.cli.numbers import Whole, Windows, complete_markets
from boardlot.cli.settings import RESUMABLE_FORMATS, Settings

# The parameter of the option --page-size, for a method that calls it limit.
PAGE_LIMIT = "page_limit"
RESUME_HINT = "With --resume FILE{}, it can be resumed."
RESUMABLE_OUT = f"--out as {' or '.join(RESUMABLE_FORMATS)}"

ENDPOINTS = {endpoint.command: endpoint for endpoint in _endpoints.ENDPOINTS}


def command(name: str) -> click.Command:
    """The command of that name."""
    endpoint = ENDPOINTS[name]
    parameters = [_parameter(parameter) for parameter in endpoint.parameters]
    if endpoint.resumable:
        parameters.append(RESUME)
    return DataCommand(
        name,
        params=parameters,
        help="\n\n".join(filter(None, (endpoint.summary, endpoint.notes))),
        examples=endpoint.examples,
        callback=click.pass_obj(_caller(endpoint)),
    )


RESUME = click.Option(
    ["--resume", "checkpoint"],
    metavar="FILE",
    type=UserPath(),
    help="Record the position in FILE, and resume from it when the same command is run again. "
    f"Needs {RESUMABLE_OUT}. No row is lost or written twice.",
)


def _caller(endpoint: _endpoints.Endpoint) -> Callable[..., None]:
    def call(settings: Settings, /, checkpoint: Path | None = None, **arguments: Any) -> None:
        from boardlot.cli.output.emit import check_out, emit, emit_bytes, warn_of_table
        from boardlot.cli.output.resume import run_resumable

        if checkpoint is not None:
            typed = _typed(endpoint, arguments)
            run_resumable(settings, checkpoint, endpoint.method, arguments, typed)
            return
        check_out(settings)
        if PAGE_LIMIT in arguments:
            arguments["limit"] = arguments.pop(PAGE_LIMIT)
        if arguments.get("request_type") is not None:
            arguments["request_type"] = request_number(**arguments)
        if arguments.get("windows", 1) is None:
            # The rows are read by one cursor, even if all are sorted before the first one is
            # written.
            arguments["windows"] = 1
        # The service tells its time to everybody, so no credentials are sent.
        with settings.client(identified=endpoint.method != "server_time") as client:
            result = _result(client, endpoint, arguments)
            if not isinstance(result, datetime):
                if endpoint.resumable and not settings.chooses_rows:
                    fits = settings.out is not None and settings.data_format in RESUMABLE_FORMATS
                    settings.resume_hint = RESUME_HINT.format(
                        "" if fits else f", and {RESUMABLE_OUT}"
                    )
                warn_of_table(settings, endpoint.command)
                emit(settings, result, endpoint.key_columns)
                return
            time = result.isoformat(timespec="milliseconds")
            if settings.data_format == "table" and not settings.output_options:
                emit_bytes(settings, f"{time}\n".encode())
            else:
                emit(settings, [{endpoint.method: time}])

    return call


def _result(client: Client, endpoint: _endpoints.Endpoint, arguments: dict[str, Any]) -> Any:
    """A time, rows or a pager; rows have every number as the service sent it."""
    if endpoint.paged or endpoint.method == "server_time":
        return getattr(client, endpoint.method)(**arguments)
    return client._boardlot_core.call(endpoint.method, list(arguments.items()))


def _typed(endpoint: _endpoints.Endpoint, arguments: dict[str, Any]) -> dict[str, str]:
    """The arguments and options that choose rows, by their names on the command line."""
    return {
        name.upper() if parameter.required else f"--{name.replace('_', '-')}": str(arguments[name])
        for parameter in endpoint.parameters
        if arguments.get(name := parameter.name) is not None and parameter.kind != "windows"
    }


def _parameter(parameter: _endpoints.Parameter) -> click.Parameter:
    """The argument or option of a method's parameter."""
    name, kind = parameter.name, TYPES.get(parameter.kind)
    if parameter.kind == "choice":
        kind = click.Choice(parameter.choices, case_sensitive=False)
    if parameter.required:
        complete = complete_markets if parameter.kind == "market" else None
        return Argument(
            name, parameter.help, type=kind, metavar=name.upper(), shell_complete=complete
        )
    # The name of the value, not of its type: --start TIME, --limit N.
    metavar = {"time": "TIME", "integer": "N", "windows": "N"}.get(parameter.kind, "NAME")
    # The rows of a page: --limit is the number of rows that are written.
    options = ["--page-size", PAGE_LIMIT] if name == "limit" else [f"--{name.replace('_', '-')}"]
    return click.Option(options, type=kind, help=parameter.help, metavar=metavar)


def _market(text: str) -> str:
    """A market in capital letters, as the service writes them."""
    return text.upper() if text.isascii() and text.isalpha() else text


def _symbol(text: str) -> str:
    """A symbol with its market in capital letters; codes such as HK.HSImain have a case."""
    market, dot, code = text.partition(".")
    return f"{_market(market)}{dot}{code}" if dot else text


def parse_time(text: str) -> str | int:
    """A time for the client, which checks it; an integer is microseconds since 1970."""
    return int(text) if text.isascii() and text.isdecimal() else text


def request_number(market: str, request_type: str) -> int:
    """The request type of an IPO list, by its number or its name in the market's enum."""
    if request_type.isdecimal():
        return int(request_type)
    for member in _request_enum(market):
        if request_type == _option_value(member.name):
            return int(member)
    raise click.UsageError(
        f"--request-type is {request_type!r}; expected one of these for {market}: "
        f"{_request_names(market)}"
    )


def _request_names(market: str) -> str:
    kind = _request_enum(market)
    return ", ".join(f"{_option_value(member.name)} ({int(member)})" for member in kind)


def _request_enum(market: str) -> Any:
    from boardlot._records import CnIpoRequest, IpoRequest

    return CnIpoRequest if market == "cn" else IpoRequest


def _option_value(name: str) -> str:
    return name.lower().replace("_", "-")


TYPES: dict[str, Any] = {
    "time": parse_time,
    "integer": Whole(0),
    "windows": Windows(0),
    "market": _market,
    "symbol": _symbol,
}
