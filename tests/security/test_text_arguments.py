"""Promise 14: a text that is not Unicode is refused by its argument's name, and is never shown."""

import boardlot as bl
import pytest

from ..support.applications import session_of
from ..support.secret_search import CANARY, appearances
from ..support.vectors import table

# As an environment variable or a file name with bytes that are not text gets into a program.
TEXT = f"{CANARY}\udcff"
URL = "http://127.0.0.1:1"
REDIRECT = "https://app.example.com/callback"


def is_not_shown(error):
    assert error.__context__ is None
    assert not any(CANARY in text for _, text in appearances(error))


@pytest.fixture(scope="module")
def names():
    store = bl.MemoryStore()
    app = bl.OAuthApp(URL, "id", redirect_uri=REDIRECT, store=store)
    begun = app.authorization_url()
    with bl.Client(URL) as client:
        yield {
            **{"bl": bl, "client": client, "app": app, "store": store, "text": TEXT, "url": URL},
            "key": bl.generate_key().private_pem,
            "session": {**session_of(begun), "user": "alice"},
            "callback": f"{REDIRECT}?code=1&state={begun.state}",
            "redirect": REDIRECT,
        }


@pytest.mark.parametrize(("argument", "call"), table("texts"))
def test_security_14_a_text_that_is_not_unicode_is_rejected_by_its_argument(argument, call, names):
    with pytest.raises(bl.ConfigError, match=r"[Uu]nicode|surrogate") as caught:
        eval(call, names)
    assert argument in str(caught.value)
    is_not_shown(caught.value)


@pytest.mark.parametrize(
    "address", [f"postgresql://u:{CANARY}%zz@h/d", f"postgresql://u:{TEXT}@h/d"]
)
@pytest.mark.parametrize(
    "call", [bl.Archive, lambda address: bl.RateLimit(1, name="x", database=address)]
)
def test_security_14_an_address_of_a_database_that_is_not_valid_is_not_shown(address, call):
    pytest.importorskip("psycopg")
    with pytest.raises(bl.ConfigError) as caught:
        call(address)
    is_not_shown(caught.value)
