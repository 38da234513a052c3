"""`boardlot open`: the docs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from boardlot import _core
from boardlot.cli.click_classes import Argument, Command
from boardlot.cli.output.terminal import note


@click.command(
    "open",
    cls=Command,
    output="nothing",
    params=[Argument("page", "What to open.", metavar="docs", type=click.Choice(["docs"]))],
    examples=["boardlot open docs"],
)
def open(page: str) -> None:
    """Open the docs, which are in the package.

    The address is also printed, for a machine without a browser.
    """
    file = Path(_core.__file__).with_name(f"{page}.html")
    click.echo(str(file))
    if click.launch(file.as_uri()) != 0:
        note("no browser could be started: open the address yourself")
