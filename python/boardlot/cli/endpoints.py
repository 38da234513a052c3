"""The commands that call the service: one for each endpoint in the generated table.

The table has their names, examples and key columns. Arguments, options, their allowed values and
their help come from the signature and docstring of the method of `boardlot.Client`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from boardlot import _endpoints
from boardlot._api import Client
from boardlot.cli.click_classes import Argument, DataCommand
from boardlot.cli.completers import complete_markets
from boardlot.cli.numbers import Whole
from boardlot.cli.paths import UserPath
from boardlot.cli.settings import Settings

__all__ = ["ENDPOINTS", "command", "request_number", "summary"]

TIME = "ISO 8601 with an offset, a date (midnight UTC), or microseconds since 1970."
DAY = "As yyyy-MM-dd."
# Where the option --page-size is stored for a method that calls it limit.
PAGE_LIMIT = "page_limit"
# Sentences of a docstring that are about Python, by their beginning or their content.
OF_PYTHON = re.compile(r"^(An aware|A) `date|`\.\w|`resume`|Client\(|`(Cn)?IpoRequest`")


ENDPOINTS = {endpoint.command: endpoint for endpoint in _endpoints.ENDPOINTS}


def summary(name: str) -> str:
    """The line of a command in the list of commands."""
    return _Text.of(ENDPOINTS[name].method).summary


def command(name: str) -> click.Command:
    """The command of that name."""
    endpoint = ENDPOINTS[name]
    text = _Text.of(endpoint.method)
    signature = inspect.signature(getattr(Client, endpoint.method))
    parameters = [
        _parameter(parameter, text)
        for parameter in list(signature.parameters.values())[1:]
        if parameter.name != "resume"
    ]
    if _is_resumable(endpoint.method):
        parameters.append(RESUME)
    return DataCommand(
        name,
        params=parameters,
        help="\n\n".join([text.summary, *text.body]),
        examples=endpoint.examples,
        callback=click.pass_obj(_caller(endpoint)),
    )


RESUME = click.Option(
    ["--resume", "checkpoint"],
    metavar="FILE",
    type=UserPath(),
    help="Record the position in FILE, and resume from it when the same command is run again. "
    "Needs --out, as csv or jsonl. No row is lost or written twice.",
)

RESUME_HINT = "To make it resumable, run:"


def _is_resumable(method: str) -> bool:
    """Whether the method lists a range of time, whose rows have a fixed order."""
    return "windows" in inspect.signature(getattr(Client, method)).parameters


def _caller(endpoint: _endpoints.Endpoint) -> Callable[..., None]:
    def call(settings: Settings, /, checkpoint: Path | None = None, **arguments: Any) -> None:
        from boardlot.cli.output import check_out, emit, emit_bytes
        from boardlot.cli.resume import run_resumable
        from boardlot.cli.resume_command import resumable_command

        if checkpoint is not None:
            typed = _typed(endpoint.method, arguments)
            run_resumable(settings, checkpoint, endpoint.method, arguments, typed)
            return
        check_out(settings)
        if PAGE_LIMIT in arguments:
            arguments["limit"] = arguments.pop(PAGE_LIMIT)
        if arguments.get("request_type") is not None:
            arguments["request_type"] = request_number(**arguments)
        # The service tells everybody its time: no credentials are sent for it.
        with settings.client(identified=endpoint.method != "server_time") as client:
            result = getattr(client, endpoint.method)(**arguments)
            if not isinstance(result, datetime):
                if _is_resumable(endpoint.method) and not settings.chooses_rows:
                    settings.resume_hint = f"{RESUME_HINT}\n  {resumable_command(settings)}"
                emit(settings, result, endpoint.key_columns)
                return
            time = result.isoformat(timespec="milliseconds")
            if settings.data_format == "table":
                emit_bytes(settings, f"{time}\n".encode())
            else:
                emit(settings, [{endpoint.method: time}])

    return call


def _typed(method: str, arguments: dict[str, Any]) -> dict[str, str]:
    """The arguments and options that were given, by their names on the command line."""
    typed = {}
    for name, parameter in inspect.signature(getattr(Client, method)).parameters.items():
        value = arguments.get(name)
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            typed[name.upper() if parameter.default is parameter.empty else option] = str(value)
    return typed


def _parameter(parameter: inspect.Parameter, text: _Text) -> click.Parameter:
    """The argument or option of a method's parameter."""
    help_text = text.parameters.get(parameter.name, "")
    kind: Any = None
    complete: Any = None
    annotation = re.sub(r"\b(?:typing|_arguments)\.", "", str(parameter.annotation))
    if annotation.startswith("Literal["):
        # Type checkers also accept a `str` that is known at run time only.
        values = annotation.removeprefix("Literal").removesuffix(" | str")
        kind = click.Choice(ast.literal_eval(values), False)
        help_text = (
            help_text
            if "`" in help_text.partition("such as")[0]
            else f"{help_text} {_one_of(kind.choices)}"
        )
    elif annotation.startswith("Time"):
        kind, help_text = parse_time, f"{help_text} {TIME}"
    elif annotation.startswith("Day"):
        help_text = f"{help_text} {DAY}"
    elif parameter.name == "request_type":
        names = f"{_request_names('hk')}; in cn {_request_names('cn')}"
        help_text = f"What to list, by name or number: {names}."
    elif "int" in annotation and "str" not in annotation:
        kind = Whole()
    elif parameter.name in ("market", "trd_market"):
        kind, complete = _market, complete_markets
    elif parameter.name in ("symbol", "plate_code"):
        kind = _symbol
    help_text = _plain(help_text[:1].upper() + help_text[1:])
    if parameter.default is parameter.empty:
        name = parameter.name
        return Argument(name, help_text, type=kind, metavar=name.upper(), shell_complete=complete)
    # The name of the value, not of its type: --start TIME, --limit N.
    metavar = "TIME" if kind is parse_time else "N" if isinstance(kind, Whole) else "NAME"
    options = [f"--{parameter.name.replace('_', '-')}"]
    if parameter.name == "limit":
        # The rows of a page: --limit is the number of rows that are written.
        options = ["--page-size", PAGE_LIMIT]
    return click.Option(options, type=kind, help=help_text, metavar=metavar)


def _market(text: str) -> str:
    """A market in capital letters, as the service writes them."""
    return text.upper() if text.isascii() and text.isalpha() else text


def _symbol(text: str) -> str:
    """A symbol with its market in capital letters; codes such as HK.HSImain have a case."""
    market, dot, code = text.partition(".")
    return f"{_market(market)}{dot}{code}" if dot else text


def _one_of(values: Sequence[str]) -> str:
    return f"One of {', '.join(values)}."


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


class _Text(NamedTuple):
    """A method's docstring, as far as it is about the service."""

    summary: str
    body: list[str]
    parameters: dict[str, str]

    @classmethod
    def of(cls, method: str) -> _Text:
        first, *others = (inspect.getdoc(getattr(Client, method)) or "").split("\n\n")
        body: list[str] = []
        parameters: dict[str, str] = {}
        for paragraph in others:
            if paragraph.startswith("- `"):
                for name, text in re.findall(r"- `(\w+)`: (.*?)(?=\n- |\Z)", paragraph, re.DOTALL):
                    parameters[name] = _of_the_service(text)
            elif re.match(r"Returns|A pager|Raises|Service document, section|>>>", paragraph):
                break
            elif kept := _plain(_of_the_service(paragraph)):
                body.append(kept)
        return cls(_plain(first), body, parameters)


def _of_the_service(text: str) -> str:
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z`])", " ".join(text.split()))
    return " ".join(x for x in sentences if not OF_PYTHON.search(x))


def _plain(text: str) -> str:
    return text.replace("`", "")
