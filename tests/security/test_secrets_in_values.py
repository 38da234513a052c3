"""Secrets that are repeated where no exchange redacts them: in records, after a refresh, cut short,
and in what the exception of a token store quotes."""

import boardlot as bl
import pytest

from ..support.secret_search import appearances, crash_report
from ..support.service import StandInService, response

TOKEN = "0LdAccessTokenQQQWWWEEERRRTTTYYY"
OLD, REFRESH = "aCcess1TokenQQQWWWEEERRRTTTYYY", "rEfresh1TokenAAASSSDDDFFFGGG"
NEW = "aCcess2TokenZZZXXXCCCVVVBBB"
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


@pytest.mark.parametrize("lifetime", [0, 7200])
@pytest.mark.parametrize("rotates", [False, True])
def test_security_47_tokens_that_a_refresh_replaced_are_not_shown(lifetime, rotates):
    def respond(received):
        if received.path.endswith("token"):
            if received.form["grant_type"] == "authorization_code":
                tokens = {"access_token": OLD, "refresh_token": REFRESH, "expires_in": lifetime}
            else:
                tokens = {"access_token": NEW, "expires_in": 7200}
                tokens |= {"refresh_token": "another" * 4} if rotates else {}
            return response({"token_type": "Bearer", **tokens})
        if lifetime and OLD in received.header("Authorization"):
            return response({"code": -1}, 401)
        return response({"ret_code": -9, "ret_msg": f"superseded: {OLD} {REFRESH}"}, 403)

    with StandInService(respond) as server:
        store, callback = bl.MemoryStore(), "https://app.example.com/callback"
        app = bl.OAuthApp(server.base_url, "id", redirect_uri=callback, store=store)
        asked = app.authorization_url()
        query = f"{callback}?code=code&state={asked.state}"
        verifier = asked.code_verifier
        auth = app.fetch_token(query, state=asked.state, code_verifier=verifier, user="u")
        client = bl.Client(server.base_url, auth=auth, max_retries=0)
        for _ in range(2):
            with pytest.raises(bl.ApiError, match="superseded") as caught:
                client.dividends("HK.00700")
            shows_none(caught.value, OLD, REFRESH, NEW)


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
