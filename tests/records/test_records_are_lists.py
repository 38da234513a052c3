"""`Records` is a list: whatever takes a list takes it, and its dicts are the caller's."""

import concurrent.futures
import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import weakref
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

from ..packaging.interpreters import VERSIONS, interpreter
from ..support.bodies import result_of_body

SENT = [
    {"order_id": str(n), "symbol": "HK.00700", "side": 1, "price": f"{n}.50", "note": {"n": n}}
    for n in range(7)
]


def orders(rows=SENT):
    body = json.dumps({"ret_code": 0, "data": {"orders": rows, "count": len(rows)}}).encode()
    return result_of_body(body, lambda client: client.sim_orders("1"))


def test_records_are_a_list_of_the_services_own_values():
    records = orders()
    assert isinstance(records, list) and type(records) is bl.Records
    assert records == SENT and records[3] == SENT[3] and SENT[2] in records
    assert records.index(SENT[2]) == 2 and records.count(SENT[2]) == 1
    assert list(reversed(records)) == SENT[::-1]
    assert records.meta == {"count": 7}
    assert json.dumps(records) == json.dumps(SENT)


def test_list_and_dicts_are_the_callers_to_change():
    records = orders()
    records[0]["mark"] = True
    del records[1]
    records.append({"order_id": "8"})
    records.sort(key=lambda row: row["order_id"], reverse=True)
    assert [row["order_id"] for row in records] == ["8", "6", "5", "4", "3", "2", "0"]
    assert records[-1]["mark"] is True


def test_slices_and_copies_know_what_the_whole_list_knows():
    records = orders()
    for part in (records[2:5], records[::-2], records[:0], records.copy(), copy.copy(records)):
        assert type(part) is bl.Records and part.meta == records.meta
        assert part.schema == records.schema
    assert records[2:5][0] is records[2]


def test_sums_and_multiples_are_plain_lists():
    records = orders()
    for made, expected in [
        (records + records, SENT + SENT),
        (records + [{"a": 1}], [*SENT, {"a": 1}]),
        ([{"a": 1}] + records, [{"a": 1}, *SENT]),
        (sum([records[:3], records[3:]], []), SENT),  # noqa: RUF017
        (records * 2, SENT * 2),
    ]:
        assert type(made) is list and made == expected


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_has_all_that_records_have(protocol):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        keys = ["HK.00700", "HK.00005", "HK.1"]
        results = [
            client.dividends("HK.00700")[3:9],
            client.fills_history(sandbox.accounts["trade"][0], "HK").all(max_items=120),
            client.sim_orders(sandbox.accounts["sim"][0]).select("symbol", "qty"),
            client.sim_orders(sandbox.accounts["sim"][0])[:0],
            client.fetch_many("dividends", keys, on_error="collect"),
        ]
    for records in results:
        loaded = pickle.loads(pickle.dumps(records, protocol=protocol))
        assert type(loaded) is bl.Records and loaded == records
        assert loaded.meta == records.meta
        assert list(map(str, loaded.errors.values())) == list(map(str, records.errors.values()))
        assert loaded.schema == records.schema
        assert [field.values for field in loaded.schema] == [f.values for f in records.schema]
        assert loaded.to_dicts(typed=True) == records.to_dicts(typed=True)
        pytest.importorskip("pyarrow")
        assert loaded.to_arrow().equals(records.to_arrow(), check_metadata=True)


# Reads a pickle from stdin, and writes what it read to stdout.
AGAIN = """
import pickle, sys
pickle.dump(pickle.load(sys.stdin.buffer), sys.stdout.buffer, int(sys.argv[1]))
"""


def read_and_written_by(version, thing, protocol=pickle.DEFAULT_PROTOCOL):
    """What is loaded from the pickle that another CPython writes of the pickle that it is given."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"this machine has no CPython {version}")
    environment = {**os.environ, "PYTHONPATH": str(Path(bl.__file__).parents[1])}
    sent = pickle.dumps(thing, protocol)
    done = subprocess.run(
        [python, "-c", AGAIN, str(protocol)],
        input=sent,
        capture_output=True,
        env=environment,
        check=True,
    )
    return pickle.loads(done.stdout)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("version", VERSIONS)
def test_another_cpython_reads_a_pickle_and_writes_it_again(version, protocol):
    records = orders()
    loaded = read_and_written_by(version, records, protocol)
    assert type(loaded) is bl.Records and loaded == records and loaded.meta == records.meta
    assert loaded.schema == records.schema


@pytest.mark.parametrize("version", VERSIONS)
def test_another_cpython_reads_a_pickle_of_what_has_a_path(version, tmp_path):
    key, traffic = tmp_path / "key.pem", tmp_path / "traffic.jsonl"
    key.touch(0o600)
    key.write_text(bl.generate_key().private_pem)
    traffic.touch(0o600)
    store = bl.EncryptedFileStore(tmp_path / "tokens", os.getcwd)
    things = [bl.ApiKey("id", key), bl.Replay(traffic), store]
    assert list(map(repr, read_and_written_by(version, things))) == list(map(repr, things))


def test_a_pickle_has_the_kinds_that_a_user_declared():
    day = bl.Endpoint(
        "days", "GET", "/days/{symbol}", rows="data.rows", record={"rows": "date", "x": "percent"}
    )
    body = b'{"code":0,"data":{"rows":[{"rows":"2026-01-02","x":1.5}],"rows_":[1],"n":7}}'
    records = result_of_body(body, lambda client: client.call(day, symbol="HK.00700"))
    loaded = pickle.loads(pickle.dumps(records))
    assert loaded.schema == records.schema
    assert loaded.meta == records.meta == {"rows_": [1], "n": 7}
    assert loaded.to_dicts(typed=True) == records.to_dicts(typed=True)


def test_a_process_pool_returns_records():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        records = pool.submit(orders).result()
    assert type(records) is bl.Records and records == SENT


def test_a_copy_has_the_same_dicts_and_a_deep_copy_its_own():
    records = orders()
    assert copy.copy(records)[0] is records[0]
    copied = copy.deepcopy({"a": records, "b": records})
    assert copied["a"] is copied["b"] and copied["a"] is not records
    assert copied["a"] == records and copied["a"][0] is not records[0]


def test_records_can_be_referenced_weakly():
    records = orders()
    reference = weakref.ref(records)
    assert reference() is records
    del records
    assert reference() is None


@pytest.mark.parametrize("dumps", ["orjson", "msgspec.json"])
def test_other_writers_of_json_take_records(dumps):
    module = pytest.importorskip(dumps.partition(".")[0])
    write = module.dumps if dumps == "orjson" else pytest.importorskip(dumps).encode
    assert json.loads(write(orders())) == SENT


@pytest.mark.parametrize("annotation", [list[dict], list[dict[str, Any]], list], ids=str)
def test_pydantic_takes_records_as_a_list(annotation):
    pydantic = pytest.importorskip("pydantic")
    assert pydantic.TypeAdapter(annotation).validate_python(orders(), strict=True) == SENT


@pytest.mark.parametrize(
    "annotation", [bl.Records, bl.Records[dict[str, Any]], bl.Records[bl.SimOrder]]
)
@pytest.mark.parametrize("strict", [False, True])
def test_records_are_a_type_of_pydantic(annotation, strict):
    pydantic = pytest.importorskip("pydantic")
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        records = client.sim_orders(sandbox.accounts["sim"][0])
    adapter = pydantic.TypeAdapter(annotation)
    assert adapter.validate_python(records, strict=strict) is records
    plain = list(records)
    for made in (
        adapter.validate_python(plain, strict=strict),
        adapter.validate_json(json.dumps(plain), strict=strict),
    ):
        assert type(made) is bl.Records and made == plain
    assert adapter.json_schema()["type"] == "array"
    for wrong in ("rows", 5, {"a": 1}, [1], None):
        with pytest.raises(pydantic.ValidationError):
            adapter.validate_python(wrong, strict=strict)
    assert adapter.dump_python(records) == json.loads(adapter.dump_json(records)) == plain
    model = pydantic.create_model("Page", rows=(annotation, ...))(rows=records)
    assert type(model.rows) is bl.Records and model.model_dump() == {"rows": plain}


@pytest.mark.parametrize("annotation", [bl.Records[bl.SimOrder], list[bl.SimOrder]])
def test_pydantic_keeps_fields_that_are_not_declared(annotation):
    pydantic = pytest.importorskip("pydantic")
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        rows = [{**row, "mine": 1} for row in client.sim_orders(sandbox.accounts["sim"][0])]
    adapter = pydantic.TypeAdapter(annotation)
    made = adapter.validate_python(rows)
    assert made == rows and json.loads(adapter.dump_json(made)) == rows


def test_fastapi_writes_records_without_an_annotation():
    pytest.importorskip("fastapi")
    from fastapi.encoders import jsonable_encoder

    assert jsonable_encoder(orders()) == SENT
    assert jsonable_encoder({"rows": orders()[:0]}) == {"rows": []}
