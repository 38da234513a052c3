"""Records where a list is expected: `+`, `*`, pickles, weak references, pydantic and FastAPI."""

import concurrent.futures
import copy
import json
import multiprocessing
import pickle
import sys
import types
import weakref
from typing import Any

import boardlot as bl
import pytest

from .test_changed_dicts import EXPECTED, many, stored


def test_sums_are_plain_lists():
    records = stored()
    extra = [{"a": 1}]
    for made, expected in [
        (records + records, EXPECTED + EXPECTED),
        (records + extra, EXPECTED + extra),
        (extra + records, extra + EXPECTED),
        (records[:2] + records[2:], EXPECTED),
        (sum([records[:3], records[3:]], []), EXPECTED),  # noqa: RUF017
        (records * 2, EXPECTED * 2),
        (2 * records, EXPECTED * 2),
        (records * 0, []),
        (records * -1, []),
    ]:
        assert type(made) is list and made == expected
    rows = extra
    rows += records
    assert type(rows) is list and rows == [{"a": 1}, *EXPECTED]
    records += extra
    assert type(records) is list and records == [*EXPECTED, {"a": 1}]


@pytest.mark.parametrize("other", [(), None, 5, {}, 1.0, "2"], ids=repr)
def test_records_are_added_to_lists_and_repeated_by_integers_alone(other):
    records = stored()
    for combine in (lambda: records + other, lambda: other + records):
        with pytest.raises(TypeError):
            combine()
    if other != 5:
        with pytest.raises(TypeError):
            records * other


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_pickle_has_all_that_records_have(protocol):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        results = [
            client.dividends("HK.00700")[3:9],
            client.crypto_orders(sandbox.accounts["crypto"][0]).all(),
            client.fills_history(sandbox.accounts["trade"][0], "HK").all(max_items=120),
            client.sim_orders(sandbox.accounts["sim"][0]).select("symbol", "qty"),
            client.sim_orders(sandbox.accounts["sim"][0])[:0],
            many(),
        ]
    for records in results:
        loaded = pickle.loads(pickle.dumps(records, protocol=protocol))
        assert type(loaded) is bl.Records and loaded == records
        assert loaded.meta == records.meta
        assert list(map(repr, loaded.schema)) == list(map(repr, records.schema))
        assert [field.values for field in loaded.schema] == [f.values for f in records.schema]
        assert loaded.to_json() == records.to_json() and repr(loaded) == repr(records)
        assert loaded.to_dicts(typed=True) == records.to_dicts(typed=True)
        assert {k: str(e) for k, e in loaded.errors.items()} == {
            k: str(e) for k, e in records.errors.items()
        }
        pytest.importorskip("pyarrow")
        assert loaded.to_arrow().equals(records.to_arrow(), check_metadata=True)


def test_a_pickle_has_the_kinds_that_a_user_declared():
    day = bl.Endpoint(
        "days", "GET", "/days/{symbol}", rows="data.rows", record={"rows": "date", "x": "percent"}
    )
    body = b'{"code":0,"data":{"rows":[{"rows":"2026-01-02","x":1.5}],"rows_":[1],"n":7}}'
    records = bl._core._response_parser(day, [("symbol", "HK.00700")])(body)
    loaded = pickle.loads(pickle.dumps(records))
    assert len(pickle.dumps(records[:0])) < len(pickle.dumps(records))
    assert list(map(repr, loaded.schema)) == list(map(repr, records.schema))
    assert loaded.meta == records.meta == {"rows_": [1], "n": 7}
    assert loaded.to_dicts(typed=True) == records.to_dicts(typed=True)


def test_a_process_pool_returns_records():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        records = pool.submit(marked).result()
    assert [row["mark"] for row in records] == list(range(7))


def marked():
    records = stored()
    for number, row in enumerate(records):
        row["mark"] = number
    return records


def test_a_copy_has_the_same_dicts_and_a_deep_copy_its_own():
    records = stored()
    assert copy.copy(records)[0] is records[0]
    copied = copy.deepcopy({"a": records, "b": records})
    assert copied["a"] is copied["b"] and copied["a"] is not records
    assert copied["a"] == records and copied["a"][0] is not records[0]


def test_records_can_be_referenced_weakly():
    records = stored()
    reference = weakref.ref(records)
    assert reference() is records
    del records
    assert reference() is None


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
