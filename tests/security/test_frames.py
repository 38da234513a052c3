"""Promise 14 for crash reporters: after each failure, no variable of a frame of boardlot's has the
secret that was passed, in whatever way it was passed."""

import asyncio
import contextlib
import io
import json
import sys

import boardlot as bl
import pytest
from boardlot import _core, doctor
from boardlot._support.credentials.profiles import Passphrase, profile_auth
from boardlot.cli import main
from boardlot.cli.settings import Settings, store_for_login

from ..login.libraries import LIBRARIES
from ..support.keys import KEYS
from ..support.secret_search import CANARY, variables_with

URL = "http://127.0.0.1:1"
CALLBACK = "https://app.example.com/callback"
# What may be wrong with a passphrase, wherever it comes from.
CONTENTS = {
    "wrong": CANARY.encode(),
    "two lines": f"{CANARY}\nuser: me\n".encode(),
    "not UTF-8": f"{CANARY}\xff".encode("latin-1"),
    "too long": (CANARY * 1_000).encode(),
    "a mark and two lines": f"\ufeff{CANARY}\r\n\r\n".encode(),
    "with a zero": f"{CANARY}\0\n\n".encode(),
}


def leaks(call, error=(bl.BoardlotError, TypeError, OSError, UnicodeError)):
    with pytest.raises(error) as raised:
        call()
    return variables_with(CANARY, raised.value)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    """The path of a store that another passphrase opens; no test writes into it."""
    path = tmp_path_factory.mktemp("encrypted") / "tokens"
    bl.EncryptedFileStore(path, "another").save("key", b"tokens")
    return path


class Secrets:
    """Files with a secret, and the encrypted files that another one opens."""

    def __init__(self, folder, store):
        self.folder, self.store = folder, store
        self.key = self.file("key.pem", KEYS["ed25519_encrypted"]["private_pem"].encode())

    def file(self, name, content):
        file = self.folder / name
        file.write_bytes(content)
        file.chmod(0o600)
        return file

    def entry(self, kind, **passphrase):
        store = {"kind": "oauth", "client_id": "c", "store": self.store}
        key = {"kind": "api_key", "key_id": "k", "private_key": self.key}
        return {"base_url": URL, **(store if kind == "store" else key), **passphrase}


@pytest.fixture
def secrets(tmp_path, encrypted):
    return Secrets(tmp_path, encrypted)


def opened(entry):
    auth = profile_auth(entry)
    # A login opens its store once it belongs to a service.
    with bl.Client(URL, auth=auth):
        return auth.scopes


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("source", ["file", "command", "failing command", "stdin"])
@pytest.mark.parametrize("kind", ["store", "key"])
def test_security_14_the_passphrase_of_a_profile(kind, source, content, secrets, monkeypatch):
    file = secrets.file("secret", CONTENTS[content])
    script = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read()); sys.exit({})"
    status = 3 if source == "failing command" else 0
    command = [sys.executable, "-ISc", script.format(status), str(file)]
    passphrase = {
        "file": {"passphrase_file": file},
        "stdin": {},
    }.get(source, {"passphrase_command": command})
    if source == "stdin":
        text = CONTENTS[content].decode("utf-8", "replace")
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        monkeypatch.setattr("getpass.getpass", lambda prompt: text.splitlines()[0])
    assert leaks(lambda: opened(secrets.entry(kind, **passphrase))) == []


def test_security_14_arguments_of_a_command(secrets, monkeypatch):
    monkeypatch.setattr("boardlot._support.credentials.profiles.COMMAND_TIMEOUT", 0.01)
    sleeping = [sys.executable, "-c", "input()", CANARY]
    for command in (["no/such/program", CANARY], [CANARY], sleeping, [f"{CANARY}\0"]):
        assert leaks(Passphrase("tokens", None, tuple(command))) == [], command


@pytest.mark.parametrize("typed", [[CANARY, f"{CANARY}2"], [CANARY, ""]])
def test_security_14_a_new_passphrase_that_is_typed_twice(typed, tmp_path, monkeypatch):
    import click

    left = iter(typed)
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(left))
    entry = {"store": tmp_path / "new"}
    assert leaks(lambda: store_for_login(entry), click.UsageError) == []


def asynchronously(call):
    return lambda: asyncio.run(call())


async def fetched(**wrong):
    app = bl.AsyncOAuthApp(URL, "id", redirect_uri=CALLBACK, store=bl.MemoryStore())
    given = {"state": CANARY, "code_verifier": f"{CANARY:a<43}", "user": "alice", **wrong}
    return await app.fetch_token(f"{CALLBACK}?code={CANARY}&state={CANARY}", **given)


def refused(**options):
    return lambda: bl.Client(URL, **options)


PEM = KEYS["ed25519"]["private_pem"] if "ed25519" in KEYS else bl.generate_key().private_pem
# Each way to pass a secret, with each way in which that fails.
WAYS = {
    "store, wrong passphrase": lambda s: bl.EncryptedFileStore(s.store, CANARY).load("key"),
    "store, callable": lambda s: bl.EncryptedFileStore(s.store, lambda: CANARY).load("key"),
    "store, keyword": lambda s: bl.EncryptedFileStore(s.store, CANARY, passphrase=CANARY),
    "key, wrong password": lambda s: bl.ApiKey("k", s.key, password=CANARY),
    "key, password as bytes": lambda s: bl.ApiKey("k", s.key, password=CANARY.encode()),
    "key, password of a key that is missing": lambda s: bl.ApiKey("k", "no.pem", password=CANARY),
    "key, a secret": lambda s: bl.ApiKey("k", CANARY),
    "key, a damaged text": lambda s: bl.ApiKey("k", PEM.replace("\n", f"\n{CANARY}\n", 1)),
    "key, keyword": lambda s: bl.ApiKey("k", key=CANARY),
    "token, line break": lambda s: bl.BearerToken(f"{CANARY}\n"),
    "token, keyword": lambda s: bl.BearerToken(secret=CANARY),
    "login, client secret": lambda s: bl.OAuth("id", store=5, client_secret=CANARY),
    "app, client secret": lambda s: bl.AsyncOAuthApp(URL, "id", redirect_uri="x",
                                                     client_secret=CANARY, store=bl.MemoryStore()),
    "app, callback": asynchronously(fetched),
    "app, another state": asynchronously(lambda: fetched(state="s" * 43)),
    "app, keyword": asynchronously(lambda: fetched(secret=CANARY)),
    "app, positional": asynchronously(lambda: fetched(user=None)),
    "client, header": refused(headers={"X-Secret": f"{CANARY}\n"}),
    "client, headers": refused(headers=[CANARY]),
    "app, secret of a client": lambda s: bl.OAuthApp(URL, "id", redirect_uri="x",
                                                     client_secret=CANARY, store=bl.MemoryStore()),
    "app, proxy": lambda s: bl.OAuthApp("https://api.invalid", "id", redirect_uri=CALLBACK,
                                        store=bl.MemoryStore(), proxy=f"http://u:{CANARY}@p:x"),
    "login, proxy": lambda s: bl.login("https://api.invalid", proxy=f"http://u:{CANARY}@proxy:x"),
    "login, address": lambda s: bl.login(f"https://user:{CANARY}@api.example.com"),
    "login begun, secret": lambda s: bl.begin_login(URL, store=5, client_secret=CANARY),
    "login begun, proxy": lambda s: bl.begin_login("https://api.invalid", store=bl.MemoryStore(),
                                                   proxy=f"http://u:{CANARY}@127.0.0.1:1"),
    "registration, proxy": lambda s: bl.register_client(
        "https://api.invalid", redirect_uris=[CALLBACK], proxy=f"http://u:{CANARY}@127.0.0.1:1"
    ),
    "client, proxy": lambda s: bl.Client(
        "https://api.invalid", proxy=f"http://user:{CANARY}@proxy:x"
    ),
    "client, proxy and keyword": refused(proxy=f"http://user:{CANARY}@proxy:1", time_out=1),
    "client, proxy and option": refused(proxy=f"http://user:{CANARY}@proxy:1", timeout=-1),
    "client, address": lambda s: bl.Client(f"https://user:{CANARY}@api.example.com"),
    "client, proxy, call": lambda s: bl.Client(
        "https://api.invalid", proxy=f"http://u:{CANARY}@127.0.0.1:1", max_retries=0
    ).server_time(),
    "client, header, call": lambda s: bl.Client(
        URL, headers={"X-Secret": CANARY}, max_retries=0
    ).server_time(),
    "doctor, no address": lambda s: doctor.examine(proxy=f"http://u:{CANARY}@proxy:1"),
    "doctor, no profile": lambda s: doctor.examine(profile="x", headers={"X-Secret": CANARY}),
    "archive": lambda s: bl.Archive(f"postgresql://u:{CANARY}@127.0.0.1:1/db"),
    "limit": lambda s: bl.RateLimit(1, name="x", database=f"postgresql://u:{CANARY}%zz@h/db"),
    "profile, proxy": lambda s: _core._save_profile(
        "x", {"base_url": URL, "kind": "none", "proxy": f"http://u:{CANARY}@proxy:1"}
    ),
}  # fmt: skip


class Subclass(bl.Client):
    def __init__(self, base_url):
        super().__init__(base_url, proxy=f"http://user:{CANARY}@proxy:x")


class AsyncSubclass(bl.AsyncClient):
    def __init__(self, base_url):
        super().__init__(base_url, headers={"X-Secret": f"{CANARY}\n"})


CUSTOM = bl.Endpoint("custom", "POST", "/custom", arguments={"secret": "text"})
# Calls that get no response, or are refused.
CALLS = {
    "header": lambda c: c.request("GET", "/x", headers={"X-Secret": CANARY}),
    "header, refused": lambda c: c.request("GET", "/x", headers={"X-Secret": f"{CANARY}\n"}),
    "body": lambda c: c.request("POST", "/x", body={"password": CANARY}),
    "body, bytes": lambda c: c.request("POST", "/x", body=CANARY.encode()),
    "body, refused": lambda c: c.request("POST", "/x", body={"password": {CANARY}}),
    "query": lambda c: c.request("GET", "/x", query={"password": CANARY}),
    "query, refused": lambda c: c.request("GET", "/x", query=[CANARY]),
    "keyword": lambda c: c.request("GET", "/x", cookies=CANARY),
    "endpoint": lambda c: c.call(CUSTOM, secret=CANARY),
    "endpoint, refused": lambda c: c.call(CUSTOM, secret=[CANARY]),
    "many keys": lambda c: c.fetch_many("fills_history", ["1"], trd_market="HK", secret=[CANARY]),
}


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
@pytest.mark.parametrize("call", CALLS)
def test_security_14_a_secret_in_a_request(call, kind):
    client = kind(URL, max_retries=0)

    async def awaited():
        await CALLS[call](client)

    run = (lambda: CALLS[call](client)) if kind is bl.Client else asynchronously(awaited)
    assert leaks(run) == []


@pytest.mark.parametrize("kind", [Subclass, AsyncSubclass])
def test_security_14_a_secret_that_a_subclass_passes_on(kind):
    assert leaks(lambda: kind("https://api.invalid")) == []


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
def test_security_14_a_secret_below_the_instrumentor(kind):
    from boardlot.otel import Instrumentor

    Instrumentor().instrument()
    try:
        for wrong in ({"headers": {"X-Secret": f"{CANARY}\n"}}, {"secret": CANARY}):
            assert leaks(lambda wrong=wrong: kind(URL, **wrong)) == []
        own = Subclass if kind is bl.Client else AsyncSubclass
        assert leaks(lambda: own("https://api.invalid")) == []
    finally:
        Instrumentor().uninstrument()


def test_security_14_the_frames_of_the_caller_are_theirs():
    def keys():
        kept = CANARY
        raise OSError(kept)

    class Keys:
        def __iter__(self):
            return keys()

    with pytest.raises(OSError, match=CANARY) as raised:
        bl.Client(URL).fetch_many("dividends", Keys())
    assert raised.traceback[-1].frame.f_locals == {"kept": CANARY}


SUSPENDED = """
def generator(error):
    try:
        raise error
    except OSError:
        pass
    yield 1
    yield 2
"""


def test_security_14_a_generator_whose_error_is_raised_again_goes_on():
    own = {"__name__": "boardlot.invented"}
    exec(SUSPENDED, own)
    error = OSError()
    generator = own["generator"](error)
    assert next(generator) == 1

    class Keys:
        def __iter__(self):
            raise error

    with pytest.raises(OSError) as raised:
        bl.Client(URL).fetch_many("dividends", Keys())
    assert raised.value is error
    assert next(generator) == 2


@pytest.mark.parametrize("way", WAYS)
def test_security_14_a_secret_that_is_passed(way, secrets, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(secrets.folder))
    call = WAYS[way]
    takes_files = getattr(call, "__code__", None) and call.__code__.co_argcount
    assert leaks((lambda: call(secrets)) if takes_files else call) == []


class Kept(dict):
    """A store whose contents the test sees."""

    load, save, delete = dict.get, dict.__setitem__, dict.__delitem__

    @property
    def token(self):
        found = [json.loads(value) for value in self.values()]
        return next(one["access_token"] for one in found if "access_token" in one)


@pytest.mark.parametrize("library", LIBRARIES)
def test_security_14_a_token_of_another_client_that_is_rejected(library):
    with bl.Sandbox(seed=7) as sandbox:
        store = Kept()
        flow = bl.begin_login(sandbox.base_url, store=store)
        login = flow.finish(sandbox.authorize_demo_user(flow.url))
        token = store.token
        sandbox.revoke_grants()
        url = f"{sandbox.base_url}/api/v1.0/sim-trade/5001/positions"
        with pytest.raises(bl.LoginRequired) as rejected:
            LIBRARIES[library](login, "GET", url)
    own = [one for one in variables_with(token, rejected.value) if "/boardlot/auth/" in one]
    assert own == []


@pytest.mark.parametrize(
    "option",
    [["--header", f"X-Secret: {CANARY}"], ["--proxy", f"http://u:{CANARY}@proxy:1"],
     ["--passphrase-command", f"echo {CANARY}"]],
)  # fmt: skip
def test_security_14_options_of_a_command_that_fails_in_an_unforeseen_way(option, monkeypatch):
    class Unforeseen(Exception):
        pass

    def fail(*_, **__):
        raise Unforeseen

    monkeypatch.setattr(Settings, "client", fail)
    with contextlib.suppress(SystemExit), pytest.raises(Unforeseen) as raised:
        main(["--base-url", URL, *option, "dividends", "HK.00700"])
    found = [one for one in variables_with(CANARY, raised.value) if "/boardlot/cli/" in one]
    # The arguments are those of this test, which the command itself takes from `sys.argv`.
    assert [one for one in found if not one.endswith((": arguments", ": args"))] == []
