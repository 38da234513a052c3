"""The service as an OpenAPI description, and the JSON Schemas of its records."""

from __future__ import annotations

from typing import Any

from boardlot import _core
from boardlot._support.messages.nearest import did_you_mean
from boardlot.errors import ConfigError

REFERENCE = "#/components/schemas/"


def openapi() -> dict[str, Any]:
    """The service as an OpenAPI 3.1 description, for clients in any language.

    It has everything that the service's documentation shows: paths, parameters with their limits,
    bodies, envelopes, records, both kinds of paging (`x-paging`), OAuth 2.1 with its scopes, and in
    words the signed request. What the documentation does not show is left open. `boardlot openapi`
    prints it, and a sandbox serves it at `/openapi.json`.

    Returns:
        A new dict each time.

    Example:
        >>> import boardlot as bl
        >>> bl.openapi()["paths"]["/api/v1.0/server-time"]["get"]["operationId"]
        'server_time'
    """
    import json

    description: dict[str, Any] = json.loads(_core._openapi_json())
    return description


def record_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a record, such as `Fill`, with the schemas that it refers to.

    Raises:
        ConfigError: There is no record of that name.
    """
    schemas = openapi()["components"]["schemas"]
    if name not in schemas:
        raise ConfigError(
            f"{name!r} is not the name of a schema; expected one of {', '.join(schemas)}"
            f"{did_you_mean(name, schemas)}"
        )
    used: dict[str, Any] = {}
    schema = _with_definitions(schemas[name], schemas, used)
    used.pop(name, None)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": name, **schema, **({"$defs": used} if used else {})}


def _with_definitions(node: Any, schemas: dict[str, Any], used: dict[str, Any]) -> Any:
    """A part of a schema whose references point into `$defs`, which get what they point to."""
    if isinstance(node, list):
        return [_with_definitions(item, schemas, used) for item in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for name, value in node.items():
        if name == "$ref":
            target = value.removeprefix(REFERENCE)
            if target not in used:
                used[target] = {}
                used[target] = _with_definitions(schemas[target], schemas, used)
            out[name] = f"#/$defs/{target}"
        else:
            out[name] = _with_definitions(value, schemas, used)
    return out
