"""Hints that help: what to call or correct instead, and nothing that is not wrong."""

import asyncio

import boardlot as bl
import pytest

SANDBOX = {"fills": 60}


@pytest.fixture
def client(sandbox):
    with sandbox.client() as client:
        yield client


@pytest.fixture
def pager(client):
    return client.fills_history("281756", "HK")


def test_an_invalid_argument_is_what_the_hint_is_about(client):
    with pytest.raises(bl.ConfigError) as caught:
        client.ipo_list("HK")
    assert caught.value.hint == "Correct the argument; nothing was sent."


def test_a_used_pager_needs_a_new_one(pager):
    pager.all()
    with pytest.raises(bl.ConfigError, match="exhausted") as caught:
        pager.all()
    assert "make a new one" in caught.value.hint


def test_a_closed_client_needs_another_place(client):
    client.close()
    with pytest.raises(bl.ConfigError, match="closed") as caught:
        client.server_time()
    assert "`with` block" in caught.value.hint


def test_a_mistake_in_sql_is_not_an_argument_that_was_not_sent(tmp_path):
    with bl.Archive(tmp_path / "a.db") as archive, pytest.raises(bl.ConfigError) as caught:
        archive.sql("select from")
    assert "sent" not in caught.value.hint


def test_a_forgotten_await_of_a_frame_is_named(sandbox):
    async def forget():
        async with sandbox.async_client() as client:
            frame = client.fills_history("281756", "HK").to_pandas()
            with pytest.raises(AttributeError, match=r"'groupby': fills_history .* write `await`"):
                _ = frame.groupby("code")
            with pytest.raises(TypeError, match="write `await`"):
                _ = frame["code"]
            assert not hasattr(frame, "__array__")
            frame.close()

    asyncio.run(forget())


def test_keys_that_failed_are_named_where_a_result_is_shown(client):
    some = client.fetch_many("dividends", ["HK.00700", "HK.99999"], on_error="collect")
    for shown in (repr(some), repr(some[:2]), some._repr_html_()):
        assert "1 key failed, see .errors:" in shown and "HK.99999" in shown


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dividend", "did you mean 'dividends'?"),
        ("get", "did you mean 'request'?"),
        ("get_quote", "no prices, no streams and no placing of orders"),
        ("nonsense", "has no attribute 'nonsense'"),
    ],
)
def test_a_method_of_another_client(client, name, said):
    with pytest.raises(AttributeError) as caught:
        getattr(client, name)
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize(
    ("kind", "name", "instead"),
    [
        ("Records", "to_df", "; call `to_pandas()`, `to_polars()` or `to_arrow()`"),
        ("Records", "head", "; frames have it: call `to_pandas()` or `to_polars()` first"),
        ("Records", "append", "; records cannot be changed: `to_dicts()` returns a list that can"),
        (
            *("Records", "ex_date"),
            "; it is a field: write `records[0]['ex_date']`, or `to_pandas()['ex_date']`",
        ),
        ("Records", "to_pandsa", "; did you mean 'to_pandas'?"),
        ("Records", "__dataframe__", ""),
        ("Pager", "to_df", "; call `to_pandas()`, `to_polars()` or `to_arrow()`"),
        ("Pager", "check_point", "; did you mean 'checkpoint'?"),
        ("Pager", "append", ""),
    ],
)
def test_rows_say_what_to_call(kind, name, instead, client, pager):
    rows = client.dividends("HK.00700") if kind == "Records" else pager
    with pytest.raises(AttributeError) as caught:
        getattr(rows, name)
    assert str(caught.value) == f"{kind!r} object has no attribute {name!r}{instead}"
    assert not hasattr(rows, name) and getattr(rows, name, 7) == 7


def test_an_async_pager_says_where_await_belongs(sandbox):
    pager = bl.AsyncClient(sandbox.base_url).fills_history("281756", "HK")
    with pytest.raises(AttributeError, match=r"call `await to_pandas\(\)`"):
        pager.to_df()
    with pytest.raises(TypeError, match=r"write `async for`, or `await pager.all\(\)`"):
        list(pager)


def test_a_pager_has_neither_length_nor_indices_and_reads_all_the_same(pager):
    # Without even a method for it: what has one is taken for a sequence.
    assert not hasattr(pager, "__len__")
    for key in (0, -1, "code", slice(3)):
        with pytest.raises(TypeError, match=r"`next\(pager\)`"):
            pager[key]
    assert bool(pager) and pager.requests == 0
    assert len(list(pager)) == 60


def test_a_field_is_no_index_of_records(client):
    records = client.dividends("HK.00700")
    for key in ("ex_date", 1.0, None):
        with pytest.raises(TypeError, match=r"indexed by integers or slices, not \w+; for a field"):
            records[key]
    with pytest.raises(IndexError):
        records[10**30]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        *((name, "always verified.*ca_file") for name in ("verify", "verify_ssl", "ssl")),
        ("proxies", "did you mean 'proxy'"),
        ("api_key", "did you mean 'auth'"),
        ("cert", "did you mean 'ca_file'"),
    ],
)
def test_options_of_other_libraries_lead_to_those_of_the_client(option, said):
    with pytest.raises(TypeError, match=said):
        bl.Client("https://api.example.com", **{option: False})


def test_words_in_another_case_have_a_suggestion(sandbox, client):
    for call, meant in [
        (lambda: bl.generate_key("ed25519"), "Ed25519"),
        (lambda: sandbox.client(auth="ed25519"), "Ed25519"),
        (lambda: client.dividends("HK.00700").to_pandas(decimals="Decimal"), "decimal"),
        (lambda: client.dividends("HK.00700").to_pandas(invalid="nul"), "null"),
        (lambda: client.fetch_many("fills", ["281756"]), "fills_history"),
    ]:
        with pytest.raises(bl.ConfigError, match=f"did you mean '{meant}'"):
            call()


def test_a_token_with_its_scheme_and_a_checkpoint_that_is_none(pager, client):
    with pytest.raises(bl.ConfigError, match="without the word 'Bearer'"):
        bl.BearerToken("Bearer abc")
    with pytest.raises(bl.ConfigError, match=r"pass what checkpoint\(\) returned"):
        client.fills_history("281756", "HK", resume="{}").all()
