"""What is said of an argument that is not what was expected: its name, its value, and what to
write, which is never the value that was given."""

import boardlot as bl
import pytest
from inline_snapshot import snapshot

ACCOUNT = "281756"
SANDBOX = {"fills": 60}


@pytest.fixture
def archive(tmp_path):
    with bl.Archive(tmp_path / "a.db") as opened:
        yield opened


def refused(call):
    with pytest.raises(bl.ConfigError) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            (ACCOUNT, "HK"),
            "one account and market; expected a list of such pairs: [('281756', 'HK')]",
        ),
        (
            [ACCOUNT, "HK"],
            "one account and market; expected a list of such pairs: [['281756', 'HK']]",
        ),
        (ACCOUNT, "fills is '281756'; expected a list, such as [('281756', 'HK')]"),
        ([(ACCOUNT,)], "fills is ('281756',); expected an acc_id and a trd_market"),
    ],
)
def test_fills_of_an_update(given, said, archive, client):
    assert said in refused(lambda: archive.update(client, fills=given))
    assert refused(lambda: archive.update(client, fills=given)).startswith("fills is ")


@pytest.mark.parametrize(
    ("name", "example"),
    [("dividends", "HK.00700"), ("ipos", "hk"), ("plates", "HK.BK1001"), ("sim_orders", "5001")],
)
def test_lists_of_an_update(name, example, archive, client):
    said = refused(lambda: archive.update(client, **{name: 5}))
    assert said == f"{name} is 5; expected a list, such as ['{example}']"


def test_fills_that_are_followed_are_of_one_account(archive, client):
    pairs = [(ACCOUNT, "HK"), (ACCOUNT, "US")]
    said = refused(lambda: next(archive.follow(client, fills=pairs)))
    assert said == snapshot(
        "fills is [('281756', 'HK'), ('281756', 'US')], several pairs; expected one: an "
        "acc_id and a trd_market, such as ('281756', 'HK')"
    )


def test_markets_of_a_calendar(client):
    said = refused(lambda: client.ipo_calendar(5))
    assert said == "markets is 5; expected a list of them, such as ['hk', 'us']"


@pytest.mark.parametrize(
    ("name", "value", "call"),
    [
        ("windows", True, lambda c, v: c.fills_history(ACCOUNT, "HK", windows=v)),
        ("windows", "5", lambda c, v: c.fills_history(ACCOUNT, "HK", windows=v)),
        ("max_items", "5", lambda c, v: c.fills_history(ACCOUNT, "HK").all(max_items=v)),
        ("max_items", 2**70, lambda c, v: c.fills_history(ACCOUNT, "HK").all(max_items=v)),
        ("max_pages", 1.5, lambda c, v: c.fills_history(ACCOUNT, "HK").all(max_pages=v)),
        ("concurrency", "2", lambda c, v: c.fetch_many("dividends", ["HK.00700"], concurrency=v)),
        ("page_size", "5", lambda c, v: c.fills_history(ACCOUNT, "HK", page_size=v)),
        ("timeout", "5", lambda c, v: bl.Client(c.base_url, timeout=v)),
        ("max_connections", 2**70, lambda c, v: bl.Client(c.base_url, max_connections=v)),
    ],
)
def test_a_number_is_named_with_its_value_and_its_range(name, value, call, client):
    said = refused(lambda: call(client, value))
    assert f"{name} is {value!r}" in said and "; expected a" in said
    assert "Can't" not in said and "cannot be converted" not in said
