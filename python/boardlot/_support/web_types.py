"""Records in the web: as a type of pydantic, and as a result of a FastAPI route."""

from __future__ import annotations

import sys
from typing import Any

from boardlot._core import Records


def records_schema(handler: Any) -> Any:
    """The schema of `Records` for pydantic: records or a list of dicts, written as a list."""
    from pydantic_core import core_schema

    dicts = handler.generate_schema(list[dict[str, Any]])
    return core_schema.json_or_python_schema(
        json_schema=dicts,
        python_schema=core_schema.union_schema([core_schema.is_instance_schema(Records), dicts]),
        serialization=core_schema.plain_serializer_function_ser_schema(list, return_schema=dicts),
    )


def register_encoder() -> None:
    """Enters `Records` in the table by which FastAPI writes what has no annotation."""
    module = sys.modules["fastapi.encoders"]
    encoders = getattr(module, "ENCODERS_BY_TYPE", None)
    # A module that is still being imported has no table yet.
    if isinstance(encoders, dict) and Records not in encoders:
        encoders[Records] = lambda records: module.jsonable_encoder(list(records))
