"""Promise 14: no secret is ever shown, wherever one looks; also where no exchange redacts it: in
records, after a refresh, cut short, and in what the exception of a token store quotes."""

import copy
import pickle

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.keys import KEYS, secret_of
from ..support.logins import begin, quotes, sign_in
from ..support.secret_search import CANARY, appearances, crash_report, hits
from ..support.service import Fault, StandInService, response
from ..support.stores import PASSPHRASE


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
    locked = KEYS["ed25519_encrypted"]
    password = locked["password"]
    assert_silent({password}, [bl.ApiKey("id", locked["private_pem"], password=password)])
    for work in (
        lambda: bl.ApiKey("id", CANARY.encode()),
        lambda: bl.ApiKey("id", f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n"),
        lambda: bl.ApiKey("id", locked["private_pem"], password=CANARY),
        lambda: bl.BearerToken(f"{CANARY}\r\nX: y"),
        lambda: bl.OAuth("id", store=bl.MemoryStore(), client_secret=f"{CANARY}\n"),
    ):
        with pytest.raises(bl.ConfigError) as caught:
            work()
        assert not hits({CANARY}, crash_report(caught.value))


def test_security_14_a_login_and_its_store_show_no_secret(server, place):
    store = bl.EncryptedFileStore(place, PASSPHRASE)
    flow = begin(server, store, confidential=True)
    things = [store, flow, flow.finish(server.authorize(flow.url))]
    client = client_of(server, things[-1])
    assert list(quotes(client)) == []
    things += [client, client.explain("GET", "/api/v1.0/server-time")]
    errors = []
    for work in (
        lambda: bl.EncryptedFileStore(place, CANARY).load("x"),
        lambda: bl.EncryptedFileStore("/", CANARY).save("k", b"v"),
        lambda: things[2].logout() or quotes(client),
        lambda: client.close() or quotes(client),
    ):
        with pytest.raises(bl.BoardlotError) as caught:
            work()
        errors.append(caught.value)
    secrets = {*filter(None, server.secrets), PASSPHRASE, CANARY}
    assert_silent(secrets, things + errors)
    assert not hits(secrets, "".join(map(crash_report, errors)))


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


TOKEN = "0LdAccessTokenQQQWWWEEERRRTTTYYY"
OLD, REFRESH = "aCcess1TokenQQQWWWEEERRRTTTYYY", "rEfresh1TokenAAASSSDDDFFFGGG"
# So little of a secret does not help anyone.
TELLING = 12


def shows_none(error, *secrets):
    text = "\n".join([crash_report(error), *(text for _, text in appearances(error))])
    for secret in secrets:
        assert secret[:TELLING] not in text, text


def dividends(record):
    return response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": [record]}})


class Row:
    ex_date: int
    dividend_per_share: float = 0.0

    def __init__(self, **values): ...


CONVERSIONS = {
    "to_pandas": lambda records: records.to_pandas(),
    "to_polars": lambda records: records.to_polars(),
    "to_arrow": lambda records: records.to_arrow(),
    "typed dicts": lambda records: records.to_dicts(typed=True),
    "a class": lambda records: records.as_type(Row),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
@pytest.mark.parametrize("kind", ["value", "text within"])
def test_security_47_a_value_that_cannot_be_converted_shows_no_secret(convert, kind):
    value = TOKEN if kind == "value" else f"see {TOKEN}"
    with StandInService(lambda _: dividends({"ex_date": value})) as server:
        with bl.Client(server.base_url, auth=bl.BearerToken(TOKEN)) as client:
            records = client.dividends("HK.00700")
            with pytest.raises(bl.ProtocolError) as open_client:
                convert(records)
        del client
        with pytest.raises(bl.ProtocolError) as closed_client:
            convert(records)
    for caught in (open_client, closed_client):
        shows_none(caught.value, TOKEN)
        assert "ex_date" in str(caught.value)


@pytest.mark.parametrize("shown", ["N/A", "2026-13-45", "1,234.50"])
def test_a_value_that_is_wrong_is_still_shown(shown):
    with StandInService(lambda _: dividends({"ex_date": shown})) as server:
        records = bl.Client(server.base_url).dividends("HK.00700")
        with pytest.raises(bl.ProtocolError, match=shown):
            records.to_arrow()


def test_the_errors_of_one_client_know_nothing_of_the_secrets_of_others():
    body = {"ret_code": 0, "data": {"words": "a secret"}}
    with StandInService(lambda _: response(body)) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken(TOKEN))
        other = bl.Client(server.base_url, auth=bl.BearerToken("secret"))
        with pytest.raises(bl.ProtocolError, match="a secret"):
            client.dividends("HK.00700")
        with pytest.raises(bl.ProtocolError, match=r"a \*\*\*"):
            other.dividends("HK.00700")


@pytest.mark.parametrize("end", ["lifetime", "found out"])
@pytest.mark.parametrize("rotates", [False, True])
def test_security_47_tokens_that_a_refresh_replaced_are_not_shown(server, end, rotates):
    server.token_lifetime = 0 if end == "lifetime" else 7200
    client = client_of(server, sign_in(server))
    server.token_lifetime = 7200
    old = [*server.access, *server.refresh]
    server.faults["refresh_token"] = Fault(
        change={"refresh_token": "another" * 4} if rotates else {}
    )
    superseded = Fault(error="superseded", description=" ".join(old), status=403)
    rejected = [Fault(status=401)] if end == "found out" else []
    server.faults["api"] = [*rejected, superseded, superseded]
    for _ in range(2):
        with pytest.raises(bl.ApiError, match="superseded") as caught:
            quotes(client)
        shows_none(caught.value, *old)
    assert server.counts["refresh_token"] == 1


@pytest.mark.parametrize("ask", [lambda auth: auth.scopes, lambda auth: auth.logout()])
def test_security_14_what_the_exception_of_a_store_quotes_is_not_shown(ask):
    class Store(dict):
        def load(self, key):
            raise ValueError(f"cannot decode {self}")

        save, delete = dict.__setitem__, dict.__delitem__

    store = Store(access_token=OLD, refresh_token=REFRESH)
    auth = bl.OAuth("client", store=store, base_url="http://127.0.0.1:1")
    with pytest.raises(bl.StoreError, match="cannot decode") as caught:
        ask(auth)
    shows_none(caught.value, OLD, REFRESH)


def test_a_key_of_a_megabyte_is_rejected_at_once():
    lines = "\n".join(["A" * 64] * 20_000)
    for label in ("PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"):
        pem = f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
        with pytest.raises(bl.ConfigError, match="at most 65,536 bytes"):
            bl.ApiKey("key", pem)
