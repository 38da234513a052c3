"""`boardlot mcp`: read-only tools for language models, by the Model Context Protocol over stdio."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import ExitStack
from typing import Any

import click

import boardlot as bl
from boardlot._support.extras import needs
from boardlot.cli.click_classes import DataCommand
from boardlot.cli.output.terminal import note
from boardlot.cli.settings import Settings

# A model that repeats itself must not use up the limits of the service.
REQUESTS_PER_SECOND = 5.0


@click.command(
    "mcp",
    cls=DataCommand,
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
    examples=[
        "boardlot mcp --demo",
        "boardlot --profile live mcp",
        "boardlot --profile live mcp --account 281756",
    ],
)
@click.pass_obj
def mcp(settings: Settings, demo: bool, accounts: tuple[str, ...]) -> None:
    """Serve read-only tools to a language model, by the Model Context Protocol over stdio.

    There is one tool for each endpoint, and none that places, changes or cancels an order. Tools
    that read an account are offered only for the accounts passed with --account. Start it from the
    configuration of your assistant; it ends when its input is closed.

    Without a rate limit of the options or the profile, at most five requests are sent per second.
    """
    if demo and any((settings.profile, settings.key_id, settings.client_id, settings.base_url)):
        raise click.UsageError(
            "--demo serves the sandbox: leave out the service and the credentials"
        )
    with needs("the MCP SDK", "mcp", "this command"):
        from boardlot.cli.commands.mcp_tools import create_server
    with ExitStack() as stack:
        if demo:
            sandbox = stack.enter_context(bl.Sandbox(seed=7))
            client = sandbox.async_client(
                rate_limit=settings.request_rate or REQUESTS_PER_SECOND,
                read_only=True,
                **settings.connection,
            )
            accounts = accounts or tuple(x for some in sandbox.accounts.values() for x in some)
        else:
            options = settings.client_options()
            if options["rate_limit"] is None and not settings.profile_entry.get("rate_limit"):
                options["rate_limit"] = REQUESTS_PER_SECOND
            client = bl.AsyncClient(**{**options, "read_only": True})
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)
        asyncio.run(_run(create_server(client, accounts), client))


def _end(number: int, _: Any) -> None:
    """End the process at once: a thread of the SDK waits for input, which nothing interrupts."""
    note(f"boardlot: ended by {signal.Signals(number).name}")
    os._exit(128 + number)


async def _run(server: Any, client: bl.AsyncClient) -> None:
    from mcp.server.stdio import stdio_server

    try:
        async with client, stdio_server() as streams:
            await server.run(*streams, server.create_initialization_options())
    except Exception as error:
        while inner := getattr(error, "exceptions", None):
            error = inner[0]
        # Nobody reads the output any more.
        if not isinstance(error, BrokenPipeError):
            raise
        # The file over stdout fails again when it is freed, which CPython reports since 3.13.
        sys.unraisablehook = lambda _: None
