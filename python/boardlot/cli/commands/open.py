"""`boardlot open`: a page of the project in the browser."""

from __future__ import annotations

from importlib.metadata import metadata
from pathlib import Path

import click

from boardlot import _core
from boardlot._support.cell_format import escaped
from boardlot.cli.click_classes import Argument, Command

# The labels of the project's addresses in the package's metadata; the docs are in the package.
DOCS = "docs"
PAGES = {"source": "Source", "changelog": "Changelog", "issues": "Issues"}


@click.command(
    "open",
    cls=Command,
    output="nothing",
    params=[
        Argument(
            "page",
            f"One of {', '.join([DOCS, *PAGES])}.",
            metavar="|".join([DOCS, *PAGES]),
            type=click.Choice([DOCS, *PAGES], case_sensitive=False),
        )
    ],
    examples=["boardlot open docs"],
)
def open(page: str) -> None:
    """Open the docs, which are in the package, or the project's source, changelog or issues.

    The address is also printed, for a machine without a browser.
    """
    if page == DOCS:
        file = Path(_core.__file__).with_name("docs.html")
        click.echo(str(file))
        _launch(file.as_uri())
        return
    address = addresses().get(PAGES[page].lower())
    if address is None:
        raise click.ClickException(
            f"this build of boardlot has no address for its {page}: install a released version"
        )
    click.echo(escaped(address))
    _launch(address)


def _launch(address: str) -> None:
    if click.launch(address) != 0:
        click.echo("no browser could be started: open the address yourself", err=True)


def addresses() -> dict[str, str]:
    """The https addresses in the metadata of the installed package, by their labels."""
    found = {}
    for entry in metadata("boardlot").get_all("Project-URL") or []:
        label, _, address = entry.partition(",")
        if address.strip().startswith("https://"):
            found[label.strip().lower()] = address.strip()
    return found
