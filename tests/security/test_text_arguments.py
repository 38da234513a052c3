"""Promise 14: a text that is not Unicode is refused by its argument's name, and is never shown."""

import boardlot as bl
import pytest

from ..support.secret_search import CANARY, appearances

# As an environment variable or a file name with bytes that are not text gets into a program.
TEXT = f"{CANARY}\udcff"
URL = "http://127.0.0.1:1"
KEY = bl.generate_key().private_pem
REDIRECT = "https://app.example.com/callback"


def request(**arguments):
    with bl.Client(URL) as client:
        client.request(**{"method": "GET", "path": "/", **arguments})


def application(**options):
    options = {"redirect_uri": REDIRECT, "store": bl.MemoryStore(), **options}
    return bl.OAuthApp(URL, options.pop("client_id", "id"), **options)


def fetched(**session):
    begun = application().authorization_url()
    arguments = {"state": begun.state, "code_verifier": begun.code_verifier, "user": "alice"}
    callback = session.pop("callback_url", f"{REDIRECT}?code=1&state={begun.state}")
    application().fetch_token(callback, **{**arguments, **session})


def is_not_shown(error):
    assert error.__context__ is None
    assert not any(CANARY in text for _, text in appearances(error))


CALLS = [
    ("token", lambda: bl.BearerToken(TEXT)),
    ("key_id", lambda: bl.ApiKey(TEXT, KEY)),
    ("private_key", lambda: bl.ApiKey("id", f"-----BEGIN{TEXT}")),
    ("password", lambda: bl.ApiKey("id", KEY, password=TEXT)),
    ("passphrase", lambda: bl.EncryptedFileStore("x", TEXT)),
    ("client_secret", lambda: bl.OAuth("id", store=bl.MemoryStore(), client_secret=TEXT)),
    ("client_id", lambda: bl.OAuth(TEXT, store=bl.MemoryStore())),
    ("client_id", lambda: application(client_id=TEXT)),
    ("client_secret", lambda: application(client_secret=TEXT)),
    ("redirect_uri", lambda: application(redirect_uri=TEXT)),
    ("user", lambda: application().auth(user=TEXT)),
    ("callback_url", lambda: fetched(callback_url=TEXT)),
    ("state", lambda: fetched(state=TEXT)),
    ("code_verifier", lambda: fetched(code_verifier=TEXT)),
    ("client_name", lambda: bl.register_client(URL, redirect_uris=[REDIRECT], client_name=TEXT)),
    ("proxy", lambda: bl.Client(URL, proxy=TEXT)),
    ("base_url", lambda: bl.Client(TEXT)),
    ("base_url", lambda: bl.begin_login(TEXT)),
    ("profile", lambda: bl.Client(profile=TEXT)),
    ("a value of headers", lambda: bl.Client(URL, headers={"X": TEXT})),
    ("a key of headers", lambda: bl.Client(URL, headers={TEXT: "x"})),
    ("'x'", lambda: request(query={"x": TEXT})),
    ("a name in query", lambda: request(query=[(TEXT, "x")])),
    ("path", lambda: request(path=TEXT)),
    ("body", lambda: request(body={"x": TEXT})),
    ("symbol", lambda: bl.Client(URL).dividends(TEXT)),
    ("key", lambda: bl.MemoryStore().load(TEXT)),
    ("query", lambda: bl.signature_payload(1, "GET", "/", TEXT)),
    ("name", lambda: bl.Endpoint(TEXT, "GET", "/x")),
]


@pytest.mark.parametrize(("argument", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_security_14_a_text_that_is_not_unicode_is_rejected_by_its_argument(argument, call):
    with pytest.raises(bl.ConfigError, match=r"[Uu]nicode|surrogate") as caught:
        call()
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
