"""Records as a type of pydantic, and as a result of a FastAPI route."""

import json
import sys
import types
from typing import Any

import boardlot as bl
import pytest

from .test_changed_dicts import EXPECTED, stored


@pytest.mark.parametrize("annotation", [list[dict], list[dict[str, Any]], list], ids=str)
def test_pydantic_takes_records_as_a_list(annotation):
    pydantic = pytest.importorskip("pydantic")
    records = stored()
    records[0]["mark"] = 1
    validated = pydantic.TypeAdapter(annotation).validate_python(records)
    assert type(validated) is list and validated == records and validated[0]["mark"] == 1


@pytest.mark.parametrize(
    "annotation", [bl.Records, bl.Records[dict[str, Any]], bl.Records[bl.Fill]]
)
@pytest.mark.parametrize("strict", [False, True])
def test_records_are_a_type_of_pydantic(annotation, strict):
    pydantic = pytest.importorskip("pydantic")
    records = stored()
    adapter = pydantic.TypeAdapter(annotation)
    assert adapter.validate_python(records, strict=strict) is records
    assert adapter.validate_python(EXPECTED, strict=strict) == EXPECTED
    assert adapter.validate_json(records.to_json(), strict=strict) == EXPECTED
    assert adapter.json_schema()["type"] == "array"
    for wrong in ("rows", 5, {"a": 1}, [1], None):
        with pytest.raises(pydantic.ValidationError):
            adapter.validate_python(wrong, strict=strict)
    records[0]["mark"] = 1
    assert type(adapter.dump_python(records)) is list
    assert adapter.dump_python(records) == json.loads(adapter.dump_json(records)) == records
    model = pydantic.create_model("Page", rows=(annotation, ...))(rows=records)
    assert type(model.rows) is bl.Records and model.model_dump() == {"rows": records}


def test_fastapi_writes_records_without_an_annotation():
    pytest.importorskip("fastapi")
    from fastapi.encoders import jsonable_encoder

    records = stored()
    assert jsonable_encoder(records) == EXPECTED
    assert jsonable_encoder({"rows": records[:0]}) == {"rows": []}


def test_records_enter_the_table_of_fastapi_once_it_is_imported(monkeypatch):
    module = types.ModuleType("fastapi.encoders")
    monkeypatch.setitem(sys.modules, "fastapi.encoders", module)
    stored()  # While that module is being imported.
    module.ENCODERS_BY_TYPE = {}
    module.jsonable_encoder = lambda rows: ("encoded", rows)
    records = stored()
    assert module.ENCODERS_BY_TYPE[bl.Records](records) == ("encoded", EXPECTED)
    mine = module.ENCODERS_BY_TYPE[bl.Records] = lambda records: "mine"
    stored()
    assert {bl.Records: mine} == module.ENCODERS_BY_TYPE
