"""`boardlot openapi`: the service as an OpenAPI description."""

from __future__ import annotations

import json

import click

from boardlot._support.openapi import openapi as description, record_schema
from boardlot.cli.click_classes import Command
from boardlot.cli.output.emit import emit_bytes
from boardlot.cli.settings import Settings


@click.command(
    "openapi",
    cls=Command,
    output="bytes",
    examples=["boardlot openapi > openapi.json", "boardlot openapi --schema Fill"],
)
@click.option("--schema", metavar="RECORD", help="Print the JSON Schema of this record instead.")
@click.pass_obj
def openapi(settings: Settings, schema: str | None) -> None:
    """Print the service as an OpenAPI 3.1 description, for clients in any language.

    Nothing is sent.
    """
    found = description() if schema is None else record_schema(schema)
    emit_bytes(settings, (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode())
