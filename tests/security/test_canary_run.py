"""Promise 14: a whole run where every secret is a known word, and all its output is searched."""

import json
import subprocess

import boardlot as bl
import pytest
from cryptography.hazmat.primitives import serialization

from ..support.callbacks import query_of
from ..support.keys import secret_of
from ..support.processes import python
from ..support.secret_search import CANARY, hits
from ..support.service import Fault
from ..support.stores import PASSPHRASE

NOISY = {
    "RUST_LOG": "trace",
    "RUST_BACKTRACE": "full",
    "BOARDLOT_LOG": "trace",
    "PYTHONDEVMODE": "1",
    "PYTHONASYNCIODEBUG": "1",
    "PYTHONFAULTHANDLER": "1",
    "COLUMNS": "500",
}

# Secrets come from a file each time, so that no variable of the script itself holds one.
RUN = r"""
    import asyncio, copy, json, logging, pickle, sys, traceback
    logging.basicConfig(level=1, stream=sys.stderr)
    class Everything(logging.Formatter):
        def format(self, record):
            return super().format(record) + " " + repr(vars(record))
    logging.getLogger().handlers[0].setFormatter(Everything())
    import boardlot as bl
    base_url, place, words = sys.argv[1:]

    def word(name):
        with open(words) as file:
            return json.load(file)[name]

    def show(thing):
        print(repr(thing), str(thing), f"{thing!a}", getattr(thing, "__dict__", ""))
        for name in dir(thing):
            if not name.startswith("__") and name not in ("url", "private_pem"):
                try:
                    value = getattr(thing, name)
                except Exception:
                    crash()
                else:
                    print(name, repr(value))
        for way in (copy.copy, copy.deepcopy, *PICKLES):
            try:
                print(way(thing))
            except Exception:
                crash()

    PICKLES = [lambda thing, n=n: pickle.dumps(thing, n) for n in range(6)]

    def crash():
        # As a crash report has it, with the locals of every frame.
        kind, error, trace = sys.exc_info()
        logging.exception("caught")
        report = traceback.TracebackException(kind, error, trace, capture_locals=True)
        print(*report.format(), vars(error), error.args)

    def tell(event):
        show(event)

    def ask(what):
        print("ASK", what, flush=True)
        return sys.stdin.readline().strip()

    def step(work):
        try:
            return work()
        except Exception:
            crash()

    hooks = {"on_request": tell, "on_response": tell, "max_retries": 1, "timeout": 10.0}
    store = bl.EncryptedFileStore(place, lambda: word("passphrase"))
    flow = bl.begin_login(base_url, store=store)
    show(flow)
    oauth = flow.finish(ask(flow.url))
    show(flow), show(oauth), show(store)
    client = bl.Client(base_url, auth=oauth, headers={"X-Mine": "1"}, **hooks)
    other = bl.AsyncClient(base_url, auth=oauth, **hooks)
    show(client), show(other)
    def call():
        return client.reference_futures("HK.HSImain")
    async def awaited():
        return await asyncio.gather(
            other.reference_futures("HK.HSImain"), other.request("GET", "/api/v1.0/server-time"),
            return_exceptions=True,
        )
    while (fault := ask("fault")) != "over":
        print(fault)
        step(call)
        try:
            for one in asyncio.run(awaited()):
                show(one)
        except Exception:
            crash()
        step(lambda: show(client.explain("GET", "/api/v1.0/server-time")))
    step(lambda: bl.EncryptedFileStore(place, word("canary")).load("x"))
    step(lambda: bl.ApiKey("id", word("key"), password=word("canary")))
    key = bl.ApiKey("id", word("key"), password=word("key passphrase"))
    token = bl.BearerToken(word("canary"))
    for auth in (key, token):
        show(auth)
        one = bl.Client(base_url, auth=auth, **hooks)
        show(one)
        step(lambda: one.reference_futures("HK.HSImain"))
        step(lambda: show(one.explain("GET", "/api/v1.0/server-time")))
    step(lambda: bl.BearerToken(word("canary") + "\n"))
    step(lambda: bl.OAuth("x", store=bl.MemoryStore(), client_secret=word("canary")))
    step(lambda: bl.EncryptedFileStore("/", word("canary")).save("k", b"v"))
    step(oauth.logout)
    step(call)
    client.close()
    step(call)
    call()
    """

FAULTS = [
    {},
    {"refresh_token": Fault(echo=True, status=503)},
    {"refresh_token": Fault(error="temporarily_unavailable", status=503)},
    {"refresh_token": Fault(body=b"{")},
    {"refresh_token": Fault(drop=True)},
    *({"api": Fault(echo=True, status=status)} for status in (200, 400, 401, 403, 429, 500)),
    {"api": Fault(lost=True)},
    {"api": Fault(body=b"<html>")},
    {"refresh_token": Fault(error="invalid_grant")},
]


@pytest.fixture
def words(tmp_path):
    """A file of the secrets that do not come from the service."""
    made = bl.generate_key().private_pem
    key = serialization.load_pem_private_key(made.encode(), None)
    lock = serialization.BestAvailableEncryption(CANARY[::-1].encode())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    locked = key.private_bytes(*form, lock).decode()
    known = {"passphrase": PASSPHRASE, "canary": CANARY, "key": locked}
    known["key passphrase"] = CANARY[::-1]
    seed, text = secret_of(made)
    return known, {PASSPHRASE, CANARY, CANARY[::-1], seed.hex(), text, str(list(seed))}


def test_security_14_a_whole_run_shows_no_secret(server, place, tmp_path, words):
    known, secrets = words
    file = tmp_path / "words.json"
    file.write_text(json.dumps(known))
    faults, lines, urls = iter(FAULTS), [], []
    with python(RUN, server.base_url, place, file, env=NOISY, stderr=subprocess.STDOUT) as child:
        while line := child.stdout.readline():
            what = line.partition("ASK ")[2].strip()
            if not what:
                lines.append(line)
                continue
            if what == "fault":
                server.expire()
                fault = next(faults, None)
                server.faults = fault or {}
                reply = "over" if fault is None else "go"
            else:
                reply = server.authorize(what)
                urls.append(reply)
            child.stdin.write(reply + "\n")
            child.stdin.flush()
        child.wait(60)
    text = "".join(lines)
    secrets |= {word for word in server.secrets if word} | {query_of(url)["code"] for url in urls}
    # It did what it should: calls, refreshes, each class of error, log lines, a crash at the end.
    assert server.counts["refresh_token"] >= 5 and child.returncode == 1
    for name in (
        "LoginRequired",
        "StoreError",
        "ConfigError",
        "AuthenticationError",
        "RateLimited",
    ):
        assert name in text, name
    for name in ("boardlot.http", "boardlot.auth", "RequestEvent", "ResponseEvent"):
        assert name in text, name
    assert len(secrets) > 10
    assert not hits(secrets, text)
