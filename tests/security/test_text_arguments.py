"""Promise 14: a text that is not Unicode is refused by its argument's name, and is never shown."""

import asyncio
import enum
import inspect
import pickle
import traceback

import boardlot as bl
import pytest
from boardlot import doctor

from ..support.secret_search import CANARY

# As an environment variable or a file name with bytes that are not text gets into a program.
TEXT = f"{CANARY}\udcff"
URL = "http://127.0.0.1:1"


def things():
    """Objects whose methods are called, by name."""
    key = bl.generate_key()
    client, store = bl.Client(URL), bl.MemoryStore()
    app = bl.OAuthApp(URL, "id", redirect_uri="https://a.example/cb", store=store)
    with bl.Sandbox(seed=7) as sandbox, sandbox.client() as records:
        return {
            "client": client,
            "async client": bl.AsyncClient(URL),
            "app": app,
            "async app": bl.AsyncOAuthApp(
                URL, "id", redirect_uri="https://a.example/cb", store=store
            ),
            "store": store,
            "file": bl.EncryptedFileStore("/nowhere/tokens", "passphrase"),
            "keyring": bl.KeyringStore(),
            "oauth": bl.OAuth("id", store=store, base_url=URL),
            "sandbox": sandbox,
            "records": records.dividends("HK.00700"),
            "pager": client.plate_stocks("HK.BK1001"),
            "key": bl.ApiKey("id", key.private_pem),
        }


# What the other arguments are, so that the one in question is looked at.
GIVEN = {
    "base_url": URL,
    "client_id": "id",
    "key_id": "id",
    "redirect_uri": "https://a.example/cb",
    "private_key": bl.generate_key().private_pem,
    "method": "GET",
    "path": "/x",
    "store": bl.MemoryStore(),
    "user": "user",
    "name": "name",
    "key": "key",
    "data": b"data",
    "passphrase": "passphrase",
    "callback_url": "https://a.example/cb?code=1&state=2",
    "state": "2",
    "code_verifier": "v" * 43,
    "timestamp_ms": 1,
    "paging": "next_key",
    "rows": "data.list",
}
# Waits for a person, needs a keychain, or takes no text.
SKIPPED = {"login", "wait", "aclose", "close", "logout", "reload"}
# What an error quotes if it is not valid: paths, numbers, words of a list.
PUBLIC = (
    *("path", "ca_file", "private_key", "store", "value", "cls", "markets", "paging", "wait"),
    *(
        "timeout",
        "connect_timeout",
        "max_retries",
        "max_connections",
        "max_body_bytes",
        "rate_limit",
        "rate",
        "burst",
    ),
)
FUNCTIONS = [
    doctor.examine,
    *(
        one
        for name in bl.__all__
        if callable(one := getattr(bl, name))
        and name not in SKIPPED
        and not (isinstance(one, type) and issubclass(one, (BaseException, enum.Enum, dict)))
    ),
]


MAPPINGS = ({TEXT: "x"}, {"x": TEXT}, [TEXT], [("x", TEXT)], [(TEXT, "x")])
TAKES_MAPPINGS = ("headers", "query", "body", "keys", "arguments", "fields", "scopes", "types")


def callables():
    for function in FUNCTIONS:
        yield function.__name__, function
    for name, thing in things().items():
        for method in dir(thing):
            if not method.startswith("_") and method not in SKIPPED:
                value = getattr(type(thing), method, None)
                if callable(value):
                    yield f"{name}.{method}", getattr(thing, method)


def parameters_of(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def result_of(function, arguments):
    """The result of what is awaited or iterated."""
    result = function(**arguments)

    async def awaited(thing):
        return await thing

    if inspect.isawaitable(result):
        return asyncio.run(awaited(result))
    if isinstance(result, (bl.Pager,)) or inspect.isgenerator(result):
        return list(result)
    return result


def calls(function):
    """Arguments with the text in one: as it is, and as a value and a key of a mapping."""
    parameters = parameters_of(function)
    names = {one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL,)}
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL or one.name == "self":
            continue
        for value in (TEXT, *(MAPPINGS if one.name in TAKES_MAPPINGS else ())):
            # Arguments that the signature does not require may change what is done.
            needed = {
                other.name: GIVEN.get(other.name, "x")
                for other in parameters
                if other.default is other.empty
                and other.kind in (other.POSITIONAL_OR_KEYWORD, other.KEYWORD_ONLY)
            }
            if one.kind is one.VAR_KEYWORD:
                options = ("proxy", "profile", "headers", "ws_quote_url", "auth", "ca_file")
                for option in options if "base_url" in names else ("x",):
                    yield f"**{option}", {**needed, option: value}
            else:
                yield one.name, {**needed, one.name: value}


def appearances_of(error):
    while error is not None:
        yield f"{error!r} {vars(error)}"
        yield repr(error.args)
        yield "".join(traceback.format_exception(error))
        yield repr(pickle.dumps(error.args))
        yield repr([getattr(error, name, None) for name in ("object", "reason", "filename")])
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("name", "function"), [pytest.param(*one, id=one[0]) for one in callables()]
)
def test_security_14_a_text_that_is_not_unicode_is_not_shown(name, function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for argument, arguments in calls(function):
        try:
            result_of(function, arguments)
        except UnicodeEncodeError as error:
            raise AssertionError(f"{name}({argument}=...) shows it: {error}") from None
        except Exception as error:
            shown = [text for text in appearances_of(error) if CANARY in text]
            assert not shown or argument in PUBLIC, (name, argument, shown)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("token", lambda: bl.BearerToken(TEXT)),
        ("key_id", lambda: bl.ApiKey(TEXT, GIVEN["private_key"])),
        ("private_key", lambda: bl.ApiKey("id", f"-----BEGIN{TEXT}")),
        ("password", lambda: bl.ApiKey("id", GIVEN["private_key"], password=TEXT)),
        ("passphrase", lambda: bl.EncryptedFileStore("x", TEXT)),
        ("client_secret", lambda: bl.OAuth("id", store=GIVEN["store"], client_secret=TEXT)),
        ("client_id", lambda: bl.OAuth(TEXT, store=GIVEN["store"])),
        ("proxy", lambda: bl.Client(URL, proxy=TEXT)),
        ("base_url", lambda: bl.Client(TEXT)),
        ("a value of headers", lambda: bl.Client(URL, headers={"X": TEXT})),
        ("a key of headers", lambda: bl.Client(URL, headers={TEXT: "x"})),
        ("'x'", lambda: bl.Client(URL).request("GET", "/", query={"x": TEXT})),
        ("a name in query", lambda: bl.Client(URL).request("GET", "/", query=[(TEXT, "x")])),
        ("path", lambda: bl.Client(URL).request("GET", TEXT)),
        ("body", lambda: bl.Client(URL).request("POST", "/", body={"x": TEXT})),
        ("symbol", lambda: bl.Client(URL).dividends(TEXT)),
        ("key", lambda: bl.MemoryStore().load(TEXT)),
        ("base_url", lambda: bl.begin_login(TEXT)),
        ("query", lambda: bl.signature_payload(1, "GET", "/", TEXT)),
    ],
)
def test_security_14_a_text_that_is_not_unicode_is_rejected_by_its_argument(argument, call):
    with pytest.raises(bl.ConfigError, match=r"[Uu]nicode|surrogate") as caught:
        call()
    assert argument in str(caught.value)
    assert caught.value.__context__ is None
    assert not any(CANARY in text for text in appearances_of(caught.value))


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
    assert caught.value.__context__ is None
    assert not any(CANARY in text for text in appearances_of(caught.value))
