"""Hints that help, beside those of docs/mistakes.md, which tests/docs tries."""

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


def test_a_mistake_in_sql_is_not_an_argument_that_was_not_sent(tmp_path):
    with bl.Archive(tmp_path / "a.db") as archive, pytest.raises(bl.ConfigError) as caught:
        archive.sql("select from")
    assert "sent" not in caught.value.hint


def test_keys_that_failed_are_named_where_a_result_is_shown(client):
    some = client.fetch_many("dividends", ["HK.00700", "HK.99999"], on_error="collect")
    for shown in (repr(some), repr(some[:2]), some._repr_html_()):
        assert "1 key failed, see .errors:" in shown and "HK.99999" in shown


@pytest.mark.parametrize(
    ("name", "said"),
    [
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
        ("Records", "append", "; records cannot be changed: `to_dicts()` returns a list that can"),
        (
            *("Records", "ex_date"),
            "; it is a field: write `records[0]['ex_date']`, or `to_pandas()['ex_date']`",
        ),
        ("Records", "to_pandsa", "; did you mean 'to_pandas'?"),
        ("Records", "__dataframe__", ""),
        ("Pager", "to_df", "; call `to_pandas()`, `to_polars()` or `to_arrow()`"),
        ("Pager", "check_point", "; did you mean 'checkpoint'?"),
        (
            "AsyncPager",
            "to_df",
            "; call `await to_pandas()`, `await to_polars()` or `await to_arrow()`",
        ),
    ],
)
def test_rows_say_what_to_call(kind, name, instead, client, pager):
    rows = {
        "Records": lambda: client.dividends("HK.00700"),
        "Pager": lambda: pager,
        "AsyncPager": lambda: bl.AsyncClient(client.base_url).fills_history("281756", "HK"),
    }[kind]()
    with pytest.raises(AttributeError) as caught:
        getattr(rows, name)
    assert str(caught.value) == f"{kind!r} object has no attribute {name!r}{instead}"
    assert not hasattr(rows, name) and getattr(rows, name, 7) == 7


@pytest.mark.parametrize(
    ("option", "said"),
    [
        *((name, "always verified.*ca_file") for name in ("verify_ssl", "ssl")),
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
