"""Promise 14: no secret is ever shown, wherever one looks."""

import copy
import pickle

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.keys import secret_of
from ..support.logins import quotes, sign_in
from ..support.secret_search import CANARY, appearances, crash_report, hits
from ..support.service import StandInService, response
from ..support.stores import PASSPHRASE, DictStore


def assert_silent(secrets, things):
    assert secrets
    for thing in things:
        for how, text in appearances(thing):
            assert not hits(secrets, text), (type(thing).__name__, how)


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


def test_security_14_headers_that_are_not_secrets_are_pickled():
    headers = {"X-Service-Client-Nnid": "123", "Accept-Language": "en", "User-Agent": "mine"}
    with StandInService(lambda _: response({"server_time_ms": "1790000000123"})) as service:
        client = bl.Client(service.base_url, headers=headers)
        pickle.loads(pickle.dumps(client)).server_time()
    for name, value in headers.items():
        assert service.received[0].header(name) == value
