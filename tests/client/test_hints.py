"""Hints that help: an error suggests no correction of an argument that is not wrong."""

import asyncio

import boardlot as bl
import pytest

ARGUMENT = "Correct the argument; nothing was sent."


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(seed=7) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def account(sandbox):
    return sandbox.accounts["trade"][0]


def test_an_invalid_argument_is_what_the_hint_is_about(sandbox):
    with sandbox.client() as client, pytest.raises(bl.ConfigError) as caught:
        client.ipo_list("HK")
    assert caught.value.hint == ARGUMENT


def test_a_used_pager_needs_a_new_one(sandbox, account):
    with sandbox.client() as client:
        pager = client.fills_history(account, "HK")
        pager.all()
        with pytest.raises(bl.ConfigError, match="exhausted") as caught:
            pager.all()
    assert "make a new one" in caught.value.hint


def test_a_closed_client_needs_another_place(sandbox):
    with sandbox.client() as client:
        client.close()
    with pytest.raises(bl.ConfigError, match="closed") as caught:
        client.server_time()
    assert "`with` block" in caught.value.hint


def test_a_mistake_in_sql_is_not_an_argument_that_was_not_sent(tmp_path):
    with bl.Archive(tmp_path / "a.db") as archive, pytest.raises(bl.ConfigError) as caught:
        archive.sql("select from")
    assert "sent" not in caught.value.hint


def test_a_forgotten_await_of_a_frame_is_named(sandbox, account):
    async def forget():
        async with sandbox.async_client() as client:
            frame = client.fills_history(account, "HK").to_pandas()
            with pytest.raises(AttributeError, match=r"'groupby': fills_history .* write `await`"):
                _ = frame.groupby("code")
            with pytest.raises(TypeError, match="write `await`"):
                _ = frame["code"]
            assert not hasattr(frame, "__array__")
            frame.close()

    asyncio.run(forget())


@pytest.mark.parametrize("option", ["verify", "verify_ssl", "ssl"])
def test_verification_cannot_be_turned_off_and_the_error_says_what_to_do(option):
    with pytest.raises(TypeError, match=r"always verified.*ca_file"):
        bl.Client("https://api.example.com", **{option: False})


def test_keys_that_failed_are_named_where_a_result_is_shown(sandbox):
    with sandbox.client() as client:
        some = client.fetch_many("dividends", ["HK.00700", "HK.99999"], on_error="collect")
    for shown in (repr(some), repr(some[:2]), some._repr_html_()):
        assert "1 key failed, see .errors:" in shown and "HK.99999" in shown


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dividend", "did you mean 'dividends'?"),
        ("fills", "did you mean 'fills_history'?"),
        ("time", "did you mean 'server_time'?"),
        ("get", "did you mean 'request'?"),
        ("get_quote", "no prices, no streams and no placing of orders"),
        ("place_order", "no prices, no streams and no placing of orders"),
        ("nonsense", "has no attribute 'nonsense'"),
    ],
)
def test_a_method_of_another_client(sandbox, name, said):
    with sandbox.client() as client, pytest.raises(AttributeError) as caught:
        getattr(client, name)
    assert str(caught.value).endswith(said)
