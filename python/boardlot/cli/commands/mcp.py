"""`boardlot mcp`: read-only tools for language models, by the Model Context Protocol over stdio."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

import boardlot as bl
from boardlot.cli.click_classes import DataCommand
from boardlot.cli.commands.mcp_stdio import Input, Output, messages
from boardlot.cli.settings import Settings, Terminated

# A model that repeats itself must not use up the limits of the service.
REQUESTS_PER_SECOND = 5.0


def _mcp(settings: Settings, demo: bool, accounts: tuple[str, ...]) -> None:
    """Serve read-only tools to a language model, by the Model Context Protocol over stdio.

    There is one tool for each endpoint, and none that places, changes or cancels an order. Tools
    that read an account are offered only for the accounts passed with --account. Start it from the
    configuration of your assistant; it ends when its input is closed.
    """
    if demo and (settings.has_credentials or settings.base_url):
        raise click.UsageError(
            "--demo serves the sandbox: leave out the service and the credentials"
        )
    try:
        from boardlot.cli.commands.mcp_tools import create_server
    except ImportError as missing:
        raise click.ClickException(
            "this command needs the MCP SDK: pip install 'boardlot[mcp]'"
        ) from missing
    with ExitStack() as stack:
        if demo:
            sandbox = stack.enter_context(bl.Sandbox(seed=7))
            client = sandbox.async_client()
            accounts = accounts or tuple(x for some in sandbox.accounts.values() for x in some)
        else:
            settings.check()
            client = bl.AsyncClient(
                settings.base_url,
                profile=settings.profile,
                auth=settings.auth(),
                rate_limit=REQUESTS_PER_SECOND,
                **settings.connection,
            )
        server = create_server(client, accounts)
        stopped_by = asyncio.run(_until_signal(_serve(server, client, *_own_streams())))
    if stopped_by:
        raise stopped_by


mcp: DataCommand = DataCommand(
    "mcp",
    output="nothing",
    params=[
        click.Option(["--demo"], is_flag=True, help="Serve the sandbox, with invented data."),
        click.Option(
            ["--account", "accounts"],
            metavar="ID",
            multiple=True,
            help="Allow tools to read this account; repeat it for more. Default with --demo: all.",
        ),
    ],
    help=_mcp.__doc__,
    examples=[
        "boardlot mcp --demo",
        "boardlot --profile live mcp",
        "boardlot --profile live mcp --account 281756",
    ],
    callback=click.pass_obj(_mcp),
)


async def _until_signal(serving: Coroutine[Any, Any, None]) -> type[BaseException] | None:
    """Serve until the input ends or a signal arrives, and return what to raise for the signal.

    An exception that a signal handler raises could end any task of the event loop, or none.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(serving)
    received: list[type[BaseException]] = []
    raises = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}

    def stop(number: signal.Signals) -> None:
        received.append(raises[number])
        task.cancel()
        # The next one ends the process even if something here does not end.
        for each in raises:
            loop.remove_signal_handler(each)

    with suppress(NotImplementedError):  # On Windows Ctrl-C cancels the task that awaits this one.
        for each in raises:
            loop.add_signal_handler(each, stop, each)
    await asyncio.wait({task})
    if received:
        return received[0]
    task.result()
    return None


async def _serve(server: Any, client: bl.AsyncClient, stdin: int, stdout: int) -> None:
    from mcp.server.stdio import stdio_server

    # It iterates over its input, and writes and flushes its output.
    output: Any = Output(os.fdopen(stdout, "wb"))
    lines = Input(stdin, output)
    received: Any = messages(lines, output)
    try:
        async with client, stdio_server(received, output) as streams:
            await server.run(*streams, server.create_initialization_options())
    except Exception:
        # What was being sent when the input ended, or to a client that has ended, has no reader.
        if not (lines.ended or output.is_closed):
            raise


def _own_streams() -> tuple[int, int]:
    """The input and output of the protocol, for it alone.

    Prompts find no input, and what is printed goes to stderr: both would break the protocol.
    """
    stdin, stdout = os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stdin, stdout
