"""Promise 14: no secret is ever shown, wherever one looks."""

import copy
import logging
import pickle
import subprocess

import boardlot as bl
import pytest

from ..support.callbacks import call, query_of, visit
from ..support.clients import client_of
from ..support.keys import secret_of
from ..support.logins import begin, quotes, sign_in, waiting
from ..support.processes import python
from ..support.secret_search import CANARY, LogCapture, appearances, crash_report, hits
from ..support.service import Fault, StandInService, response
from ..support.stores import PASSPHRASE, DictStore


def assert_silent(secrets, things):
    assert secrets
    for thing in things:
        for how, text in appearances(thing):
            assert not hits(secrets, text), (type(thing).__name__, how)


def test_security_14_credentials_show_no_secret(server, place):
    for store in (bl.MemoryStore(), bl.EncryptedFileStore(place, PASSPHRASE)):
        flow = begin(server, store)
        oauth = flow.finish(server.authorize(flow.url))
        client = client_of(server, oauth)
        quotes(client)
        server.expire()
        quotes(client)
        (client_id, *_) = server.clients
        again = bl.OAuth(client_id, store=store, client_secret=CANARY)
        things = [store, flow, oauth, client, again, bl.AsyncClient(server.base_url, auth=oauth)]
        assert_silent({*server.secrets, PASSPHRASE, CANARY}, things)


def test_security_14_a_flow_shows_no_secret_before_and_after(server):
    flow = begin(server)
    url = server.authorize(flow.url)
    assert_silent({query_of(url)["code"], query_of(url)["state"]}, [flow])
    flow.finish(url)
    assert_silent({*server.secrets, query_of(url)["state"]}, [flow])


def test_security_14_tokens_and_keys_show_no_secret():
    key = bl.generate_key()
    seed, text = secret_of(key.private_pem)
    secrets = {text, seed.hex(), str(list(seed)), CANARY}
    things = [key, bl.ApiKey("id", key.private_pem), bl.BearerToken(CANARY)]
    things += [bl.Client("http://127.0.0.1:1", auth=auth) for auth in things[1:]]
    assert_silent(secrets, things)
    for wrong in (CANARY, f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"):
        with pytest.raises(bl.ConfigError) as caught:
            bl.ApiKey("id", wrong.encode())
        assert not hits({CANARY}, crash_report(caught.value))
    with pytest.raises(bl.ConfigError) as caught:
        bl.ApiKey("id", key.private_pem.replace("PRIVATE", "ENCRYPTED PRIVATE"), password=CANARY)
    assert not hits(secrets, crash_report(caught.value))
    with pytest.raises(bl.ConfigError) as caught:
        bl.BearerToken(f"{CANARY}\r\nX: y")
    assert not hits({CANARY}, crash_report(caught.value))


def errors_of_a_login(server):
    """Errors of every step of a login, where the service tells back all that it got."""
    server.faults["register"] = Fault(echo=True)
    yield failure(lambda: begin(server))
    server.faults = {"authorization_code": Fault(echo=True)}
    yield failure(lambda: sign_in(server))
    server.faults = {"authorization_code": Fault(lost=True)}
    yield failure(lambda: sign_in(server))
    server.faults = {"authorization_code": Fault(change={"token_type": "MAC"})}
    yield failure(lambda: sign_in(server))
    server.faults = {"authorization_code": Fault(change={"expires_in": "soon"})}
    yield failure(lambda: sign_in(server))
    server.faults = {}
    flow = begin(server)
    url = server.authorize(flow.url)
    yield failure(lambda: flow.finish(url + "x"))
    yield failure(lambda: flow.finish(url.replace("code=", "code=x&code=")))
    flow = begin(server)
    login = waiting(flow)
    call(flow, query=f"error=x&state={query_of(flow.url)['state']}")
    yield failure(login.get)


def errors_of_a_call(server):
    for fault in (
        Fault(echo=True),
        Fault(error="invalid_grant"),
        Fault(body=b"{"),
        Fault(lost=True),
    ):
        server.faults = {}
        client = client_of(server, sign_in(server))
        server.expire()
        server.faults["refresh_token"] = fault
        yield failure(lambda client=client: quotes(client))
    for status in (401, 403, 400, 500, 200):
        server.faults = {}
        client = client_of(server, sign_in(server))
        server.faults["api"] = Fault(echo=True, status=status)
        yield failure(lambda client=client: quotes(client))


def failure(work):
    try:
        work()
    except bl.BoardlotError as error:
        return error
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("step", [errors_of_a_login, errors_of_a_call])
def test_security_14_errors_show_no_secret_even_where_the_service_tells_it(server, step):
    for n, error in enumerate(step(server)):
        assert server.secrets or n == 0
        for how, text in (*appearances(error), ("report", crash_report(error))):
            assert not hits(server.secrets, text), (n, type(error).__name__, how)


def test_security_14_store_errors_show_no_passphrase(place):
    bl.EncryptedFileStore(place, PASSPHRASE).save("k", CANARY.encode())
    with pytest.raises(bl.StoreError) as caught:
        bl.EncryptedFileStore(place, CANARY).load("k")
    assert_silent({PASSPHRASE, CANARY}, [caught.value])
    assert not hits({PASSPHRASE, CANARY}, crash_report(caught.value))


def test_security_14_nothing_is_logged_at_the_lowest_level(server, caplog, capfd):
    log, root = LogCapture(), logging.getLogger()
    names = [name for name in logging.root.manager.loggerDict if "boardlot" in name]
    loggers = [root, *map(logging.getLogger, ["boardlot", "boardlot._core", *names])]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(log)
        logger.setLevel(1)
    try:
        logging.getLogger("boardlot").debug("log")
        # By a thread: its URL goes through the browser, the callback through the listener.
        flow = begin(server)
        login = waiting(flow)
        visit(server.authorize(flow.url))
        client = client_of(server, login.get())
        quotes(client)
        server.expire()
        quotes(client)
        list(errors_of_a_call(server))
        list(errors_of_a_login(server))
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(log)
            logger.setLevel(level)
    assert log.lines
    printed = capfd.readouterr()
    for text in (*log.lines, printed.out, printed.err, caplog.text):
        assert not hits(server.secrets, text)


LOUD_CHILD = """
    import logging, sys
    logging.basicConfig(level=1, stream=sys.stderr)
    import boardlot as bl
    base_url, client_id, path, passphrase, secret = sys.argv[1:]
    store = bl.EncryptedFileStore(path, passphrase)
    oauth = bl.OAuth(client_id, store=store, client_secret=None if secret == "-" else secret)
    with bl.Client(base_url, auth=oauth, max_retries=1) as client:
        print("ready", flush=True)
        while sys.stdin.readline():
            try:
                client.reference_futures("HK.HSImain")
            except bl.BoardlotError as error:
                logging.exception("refused")
            print("done", flush=True)
        oauth.logout()
        client.reference_futures("HK.HSImain")
    """


def test_security_14_a_child_with_every_switch_for_noise_shows_nothing(server, place, tmp_path):
    sign_in(server, bl.EncryptedFileStore(place, PASSPHRASE))
    (client_id,) = server.clients
    noisy = {"RUST_LOG": "trace", "RUST_BACKTRACE": "full", "PYTHONDEVMODE": "1"}
    noisy |= {"BOARDLOT_LOG": "trace", "RUST_LOG_STYLE": "never", "PYTHONFAULTHANDLER": "1"}
    arguments = (server.base_url, client_id, place, PASSPHRASE, CANARY)
    faults = [None, Fault(echo=True), Fault(error="invalid_grant"), Fault(drop=True), None]
    with python(LOUD_CHILD, *arguments, env=noisy, stderr=subprocess.STDOUT) as child:
        lines = []
        for fault in faults:
            server.expire()
            server.faults = {"refresh_token": fault} if fault else {}
            child.stdin.write("go\n")
            child.stdin.flush()
            while (line := child.stdout.readline()) not in ("done\n", ""):
                lines.append(line)
        out, _ = child.communicate(timeout=30)
    text = "".join(lines) + out
    assert "LoginRequired" in text
    assert not hits({*server.secrets, PASSPHRASE, CANARY}, text)


def test_security_14_a_pickled_client_has_no_secret_and_works_or_says_why(server, place):
    for store in (DictStore(), bl.MemoryStore(), bl.EncryptedFileStore(place, lambda: PASSPHRASE)):
        client = client_of(server, sign_in(server, store))
        try:
            data = pickle.dumps(client)
        except (TypeError, pickle.PicklingError, AttributeError, bl.BoardlotError) as error:
            assert len(str(error)) > 20
            continue
        if not isinstance(store, DictStore):
            assert not hits({*server.secrets, PASSPHRASE}, data)
            assert list(quotes(pickle.loads(data))) == []


def test_security_14_headers_that_may_be_secrets_are_in_no_pickle_and_no_repr():
    for name in ("X-Proxy-Auth", "Cookie", "x-forwarded-access-token"):
        headers = {name: CANARY, "Accept-Language": "en"}
        for kind in (bl.Client, bl.AsyncClient):
            client = kind("http://127.0.0.1:1", headers=headers)
            assert_silent({CANARY}, [client])
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(bl.ConfigError, match=name.lower()):
                    way(client)
        explained = bl.Client("http://127.0.0.1:1", headers=headers).explain("GET", "/x")
        assert CANARY not in repr(explained) and "accept-language: en" in repr(explained)
        assert explained.headers[name.lower()] == CANARY


def test_security_14_headers_that_are_no_secrets_travel():
    headers = {"X-Service-Client-Nnid": "123", "Accept-Language": "en", "User-Agent": "mine"}
    with StandInService(lambda _: response({"server_time_ms": "1790000000123"})) as service:
        client = bl.Client(service.base_url, headers=headers)
        pickle.loads(pickle.dumps(client)).server_time()
    for name, value in headers.items():
        assert service.received[0].header(name) == value
