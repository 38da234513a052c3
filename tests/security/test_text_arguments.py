"""Promise 14: a text that is not Unicode is refused by its argument's name, and is never shown."""

import boardlot as bl
import pytest

from ..support.applications import session_of
from ..support.calls import called
from ..support.secret_search import CANARY, appearances

# As an environment variable or a file name with bytes that are not text gets into a program.
TEXT = f"{CANARY}\udcff"
URL = "http://127.0.0.1:1"
REDIRECT = "https://app.example.com/callback"


def is_not_shown(error):
    assert error.__context__ is None
    assert not any(CANARY in text for _, text in appearances(error))


@pytest.fixture(scope="module")
def client():
    with bl.Client(URL) as opened:
        yield opened


@pytest.fixture(scope="module")
def key():
    return bl.generate_key().private_pem


@pytest.fixture
def store():
    return bl.MemoryStore()


@pytest.fixture
def app(store):
    return bl.OAuthApp(URL, "id", redirect_uri=REDIRECT, store=store)


@pytest.fixture
def begun(app):
    return app.authorization_url()


@pytest.fixture
def session(begun):
    """What the application stored when a login began, and whose it is."""
    return {**session_of(begun), "user": "alice"}


@pytest.fixture
def callback(begun):
    return f"{REDIRECT}?code=1&state={begun.state}"


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("token", lambda: bl.BearerToken(TEXT)),
        ("key_id", lambda key: bl.ApiKey(TEXT, key)),
        ("private_key", lambda: bl.ApiKey("id", "-----BEGIN" + TEXT)),
        ("password", lambda key: bl.ApiKey("id", key, password=TEXT)),
        ("passphrase", lambda: bl.EncryptedFileStore("x", TEXT)),
        ("client_secret", lambda store: bl.OAuth("id", store=store, client_secret=TEXT)),
        ("client_id", lambda store: bl.OAuth(TEXT, store=store)),
        ("client_id", lambda store: bl.OAuthApp(URL, TEXT, redirect_uri=REDIRECT, store=store)),
        (
            "client_secret",
            lambda store: bl.OAuthApp(
                URL, "id", redirect_uri=REDIRECT, store=store, client_secret=TEXT
            ),
        ),
        ("redirect_uri", lambda store: bl.OAuthApp(URL, "id", redirect_uri=TEXT, store=store)),
        ("user", lambda app: app.auth(user=TEXT)),
        ("callback_url", lambda app, session: app.fetch_token(TEXT, **session)),
        (
            "state",
            lambda app, session, callback: app.fetch_token(callback, **{**session, "state": TEXT}),
        ),
        (
            "code_verifier",
            lambda app, session, callback: app.fetch_token(
                callback, **{**session, "code_verifier": TEXT}
            ),
        ),
        (
            "client_name",
            lambda: bl.register_client(URL, redirect_uris=[REDIRECT], client_name=TEXT),
        ),
        ("proxy", lambda: bl.Client(URL, proxy=TEXT)),
        ("base_url", lambda: bl.Client(TEXT)),
        ("base_url", lambda: bl.begin_login(TEXT)),
        ("profile", lambda: bl.Client(profile=TEXT)),
        ("a value of headers", lambda: bl.Client(URL, headers={"X": TEXT})),
        ("a key of headers", lambda: bl.Client(URL, headers={TEXT: "x"})),
        ("'x'", lambda client: client.request("GET", "/", query={"x": TEXT})),
        ("a name in query", lambda client: client.request("GET", "/", query=[(TEXT, "x")])),
        ("path", lambda client: client.request("GET", TEXT)),
        ("body", lambda client: client.request("GET", "/", body={"x": TEXT})),
        ("symbol", lambda client: client.dividends(TEXT)),
        ("key", lambda store: store.load(TEXT)),
        ("query", lambda: bl.signature_payload(1, "GET", "/", TEXT)),
        ("name", lambda: bl.Endpoint(TEXT, "GET", "/x")),
    ],
)
def test_security_14_a_text_that_is_not_unicode_is_rejected_by_its_argument(
    argument, call, request
):
    with pytest.raises(bl.ConfigError, match=r"[Uu]nicode|surrogate") as caught:
        called(call, request)
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
