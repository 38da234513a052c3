"""The fields of Arrow schemas say unit, kind and description."""

import boardlot as bl
import pytest

pa = pytest.importorskip("pyarrow")


SANDBOX = {"fills": 120}


def described(records):
    """The metadata by the schema of the records."""
    words = {"unit": "unit", "kind": "kind", "description": "doc"}
    return {
        field.name: {name.encode(): getattr(field, of).encode() for name, of in words.items()}
        for field in records.schema
    }


def of_schema(schema):
    return {field.name: field.metadata for field in schema}


RECORDS = {
    "dividends": lambda c: c.dividends("HK.00700"),
    "ipos": lambda c: c.ipo_list("hk"),
    "fills": lambda c: c.fills_history("281756", "HK").all(),
    "keys": lambda c: c.fetch_many("dividends", ["HK.00700"]),
    "selected": lambda c: c.dividends("HK.00700").select("ex_date", "dividend_per_share"),
    "none": lambda c: c.dividends("HK.00700")[:0],
}


@pytest.mark.parametrize("read", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("decimals", ["float64", "decimal", "string"])
def test_the_metadata_are_those_of_the_schema(client, read, decimals):
    records = read(client)
    expected = described(records)
    assert of_schema(records.to_arrow(decimals=decimals).schema) == expected
    assert of_schema(pa.table(records).schema) == expected


def test_a_stream_of_pages_has_the_same_metadata(client):
    expected = described(client.fills_history("281756", "HK").all())
    stream = pa.RecordBatchReader.from_stream(client.fills_history("281756", "HK"))
    batches = client.fills_history("281756", "HK").to_arrow(batches=True)
    for each in (stream, *stream, *batches):
        assert of_schema(each.schema) == expected


def test_members_of_objects_are_described_and_undeclared_fields_are_not(client):
    records = bl._core._response_parser("crypto_orders", [("acc_id", "1")])(
        b'{"code":0,"data":{"orders":[{"order_id":"1","unheard":2}]},"pagination":{}}'
    )
    schema = records.to_arrow().schema
    assert schema.field("unheard").metadata is None
    pair = [field.type for field in schema if pa.types.is_struct(field.type)]
    assert pair and all(member.metadata[b"kind"] for struct in pair for member in struct)
