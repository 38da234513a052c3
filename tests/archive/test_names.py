"""Names of users are data: a custom endpoint's own and those of its fields, in both databases."""

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.words import raises

PATH = "/api/v1.0/custom"


def endpoint(name="flow", record=None, **options):
    return bl.Endpoint(name, "GET", PATH, rows="data.list", record=record, **options)


NO_COLUMNS = [
    *({name: "text"} for name in ("change", "Seen_At", "key", "record", "xmin", "tableOID")),
    {"a" * 63 + "x": "text", "a" * 63 + "y": "text"},
    {"t": "seconds", "T": "text"},
]
NO_VIEWS = [
    "json_each", "sqlite_x", "SQLITE_x", "pg_class", "pragma_x", "fills", "Ipos",
    "kline_history", "series", "series_pkey", "fill_versions_by_time", "lists_id_seq",
    "archive_views", "dbstat", "fts3tokenize", "a" * 51,
]  # fmt: skip


def test_a_field_that_cannot_be_a_column_is_refused_by_name(archive, client, service):
    for record in NO_COLUMNS:
        flow = endpoint(record=record)
        calls = [
            lambda flow=flow: archive.update(client, lists=[(flow, {})]),
            lambda flow=flow: archive.seen(flow, {}),
            lambda flow=flow: archive.changes(flow, {}),
            lambda flow=flow: archive.export(flow, "flow.parquet"),
        ]
        for call in calls:
            with pytest.raises(bl.ConfigError) as refused:
                call()
            named = [f"the field {name!r} of the endpoint 'flow'" for name in record]
            assert any(one in str(refused.value) for one in named)
    assert service.received == []


def test_a_name_that_cannot_be_a_view_is_refused(archive, client, service):
    for name in NO_VIEWS:
        with pytest.raises(bl.ConfigError, match=f"the endpoint's name is '{name}'"):
            archive.update(client, lists=[(endpoint(name), {})])
    assert service.received == []


def test_every_other_name_is_a_view_with_its_own_rows(archive, book, client):
    names = ["order", "user", "kline", "_kline", "k-line", "rtree", "text"]
    for name in names:
        book.lists[PATH] = [{"name": name, "value": 1}]
        archive.update(client, lists=[(endpoint(name, {"name": "text", "rowid": "text"}), {})])
    for name in names:
        assert archive.sql(f'select name, rowid from "{name}"').to_dicts() == [
            {"name": name, "rowid": None}
        ]
    book.put_fills(3)
    assert archive.update(client, fills=[("281756", "HK")]).new == 3


def test_names_that_differ_in_case_only_are_refused_before_anything_is_sent(
    archive, book, client, service
):
    first, second = endpoint("kline", {"a": "text"}), endpoint("Kline", {"a": "text"})
    with raises(
        bl.ConfigError, snapshot("lists has two different endpoints with the name 'Kline'")
    ):
        archive.update(client, lists=[(first, {}), (second, {})])
    book.lists[PATH] = [{"a": "1"}]
    archive.update(client, lists=[(first, {})])
    sent = len(service.received)
    with raises(
        bl.ConfigError,
        snapshot(
            "the endpoint's name is 'Kline', but the archive has one with the name 'kline'; "
            "expected a name that differs by more than upper and lower case"
        ),
    ):
        archive.update(client, lists=[(second, {})])
    assert len(service.received) == sent
    assert archive.sql("select a from kline").to_dicts() == [{"a": "1"}]


def test_undeclared_fields_with_the_archive_s_own_names_keep_their_values(
    archive, book, client, tmp_path
):
    parquet = pytest.importorskip("pyarrow.parquet")
    row = {"key": "k", "change": "-1.5", "seen_at": 7, "record": "r", "a\0b": 1, "T": "1", "t": "2"}
    book.lists[PATH] = [row]
    flow = endpoint()
    archive.update(client, lists=[(flow, {})])
    assert archive.seen(flow, {}) == [row]
    (changed,) = archive.changes(flow, {})
    own = {"change_2": changed.pop("change_2"), "seen_at_2": changed.pop("seen_at_2")}
    assert own == {"change_2": "-1.5", "seen_at_2": 7}
    assert changed.pop("change") == "new" and changed.pop("seen_at") > 1_700_000_000_000_000
    assert changed == {name: row[name] for name in row if name not in ("change", "seen_at")}
    book.lists[PATH] = [{"key": "k", "change": 5}]
    archive.update(client, lists=[(flow, {"page": 2})])
    archive.export(flow, tmp_path / "flow.parquet", history=True)
    found = parquet.read_table(tmp_path / "flow.parquet").to_pylist()
    assert {(one["key"], one["key_2"], one["change"]) for one in found} == {
        ("{}", "k", "new"), ('{"page": 2}', "k", "new"),
    }  # fmt: skip


def test_a_list_that_was_never_read_is_exported_with_its_columns(archive, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = f"{PATH}/{{symbol}}/{{day}}"
    kinds = {"symbol": "symbol", "day": "date"}
    flow = bl.Endpoint(
        "flow", "GET", path, rows="data.list", arguments=kinds, record={"a": "decimal", "t": "date"}
    )
    for name, columns in {
        flow: ["key", "a", "t", "seen_at", "change"],
        endpoint("other"): ["key", "seen_at", "change"],
    }.items():
        with pytest.warns(UserWarning, match=f"has no update of {name.name}"):
            assert archive.export(name, tmp_path / "x.parquet", history=True) == 0
        assert parquet.read_table(tmp_path / "x.parquet").column_names == columns
    with pytest.warns(UserWarning, match="has no update of fills"):
        assert archive.export("fills", tmp_path / "x.parquet") == 0


def test_keys_with_u_0000_and_quotes_are_kept_apart(archive, book, client):
    keys = [{"a": "\0"}, {"a": "'; drop table lists; --"}, {"a": '"'}, {"a": "\\"}, {"a": "%s ?"}]
    for number, key in enumerate(keys):
        book.lists[PATH] = [{"n": number}]
        archive.update(client, lists=[(endpoint(), key)])
    assert [archive.seen(endpoint(), key) for key in keys] == [[{"n": n}] for n in range(5)]
