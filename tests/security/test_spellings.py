"""Promise 14: a secret that a service repeats is masked, or the text that has it is withheld."""

import base64
import contextlib
import json

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.secret_search import SPELLINGS, WITHHELD, LogCapture, appearances, crash_report
from ..support.service import Fault, StandInService, response

TOKEN = "canary+7f/1e~0c=55&d2.aa-bb_cc"
LOW = "/api/v1.0/server-time"
spellings = pytest.mark.parametrize("spelling", SPELLINGS)


def found(secret, spelling, text):
    """The part of a spelled secret in a text: all of it exactly, or more than a quarter of it."""
    spelled = SPELLINGS[spelling](secret)
    size = max(12, len(spelled) // 4)
    traces = {secret, *(spelled[at : at + size] for at in range(len(spelled) - size))}
    # A repr doubles what is a backslash in the text.
    return [one for one in traces if one in text or one in text.replace("\\\\", "\\")]


def is_redacted(error, spelling):
    """True if a text of the error says that it had a secret."""
    mark = "***" if spelling == "exactly" else WITHHELD
    return any(mark in str(value) for value in (error, *vars(error).values()))


def echoes(text):
    """Responses that repeat a text, by where they have it."""
    plain = text.encode()
    return {
        "message": (400, {}, {"ret_code": 1, "ret_msg": f"no: {text}"}),
        "raw message": (200, {}, b'{"ret_code":1,"ret_msg":"no: ' + plain + b'"}'),
        "error": (401, {}, {"error": text, "error_description": text}),
        "error.code": (400, {}, {"error": {"code": text, "message": text}}),
        "header": (403, {"X-Echo": text, "WWW-Authenticate": f'Bearer x="{text}"'}, b"{}"),
        "page": (502, {}, b"<html>no: " + plain + b"</html>"),
        "no JSON": (200, {}, b"no: " + plain),
        "no mark": (200, {}, b'{"a":"' + plain + b'"}'),
        "at the cut": (400, {}, b'{"ret_code":1,"x":"' + b"y" * 2020 + plain + b'"}'),
        "many at the cut": (500, {}, (plain + b" ") * 400),
    }


@spellings
def test_security_14_a_bearer_token_is_redacted_in_each_spelling(spelling):
    with LogCapture() as log:
        for place, (status, headers, body) in echoes(SPELLINGS[spelling](TOKEN)).items():
            echo = response(body, status, headers)
            with StandInService(lambda _, echo=echo: echo) as service:
                client = bl.Client(service.base_url, auth=bl.BearerToken(TOKEN), max_retries=1)
                with pytest.raises(bl.BoardlotError) as caught:
                    quotes(client)
            error = caught.value
            for how, text in (*appearances(error), ("report", crash_report(error))):
                assert not found(TOKEN, spelling, text), (place, how)
            assert is_redacted(error, spelling), place
    assert log.lines and not any(found(TOKEN, spelling, line) for line in log.lines)


@spellings
def test_security_14_a_cassette_has_a_token_in_no_spelling(spelling, tmp_path):
    spelled = SPELLINGS[spelling](TOKEN)
    cases = [*echoes(spelled).values(), (200, {}, b"\xff\xfe" + spelled.encode())]
    for n, (status, headers, body) in enumerate(cases):
        path = tmp_path / f"{n}.jsonl"
        with (
            StandInService(lambda _, s=status, h=headers, b=body: response(b, s, h)) as service,
            bl.Recorder(path) as recorder,
        ):
            auth = bl.BearerToken(TOKEN)
            client = bl.Client(service.base_url, auth=auth, cassette=recorder, max_retries=0)
            with contextlib.suppress(bl.ApiError):
                client.request("GET", LOW, query={"echo": TOKEN}, headers={"X-Echo": TOKEN})
        text = path.read_text("utf-8")
        assert not found(TOKEN, spelling, text), body
        for line in map(json.loads, text.splitlines()):
            sent = line.get("exchange", {}).get("response", {}).get("received", {}).get("body", {})
            if "base64" in sent:
                raw = base64.b64decode(sent["base64"]).decode("latin-1")
                assert not found(TOKEN, spelling, raw)


HOSTILE = "no\x1b]0;title\x07\x1b[2J\r\nforged line\x7f\x9b1m\u202egnp.exe\u2028x\u2066"


def assert_harmless(text):
    assert not [c for c in text if c not in "\n" and not c.isprintable()], text


@pytest.mark.parametrize("key", ["ret_msg", "error"])
def test_security_14_a_service_cannot_write_to_the_terminal_by_an_error(key):
    body = {"ret_code": 1, key: HOSTILE, "error_description": HOSTILE}
    with StandInService(lambda _: response(body, 400)) as service:
        client = bl.Client(service.base_url, max_retries=0)
        with pytest.raises(bl.ApiError) as caught:
            quotes(client)
    assert_harmless(str(caught.value))
    assert "\n" not in str(caught.value) and "\\x1b[2J" in str(caught.value)
    # As sent: for programs.
    assert caught.value.message == HOSTILE


def test_security_14_an_authorization_server_cannot_write_to_the_terminal(server):
    oauth = sign_in(server)
    server.expire()
    for fault in (
        Fault(error="server_error", description=HOSTILE),
        Fault(error="invalid_grant", description=HOSTILE),
    ):
        server.faults["refresh_token"] = fault
        with pytest.raises(bl.OAuthError) as caught:
            quotes(client_of(server, oauth))
        for text in (str(caught.value), caught.value.error, caught.value.description):
            assert_harmless(text)
            assert "\n" not in text
        assert "\\x1b[2J" in str(caught.value)
    with StandInService(lambda _: response(HOSTILE.encode(), 200)) as service:
        with pytest.raises(bl.ProtocolError) as caught:
            quotes(bl.Client(service.base_url))
        assert_harmless(str(caught.value))


@pytest.mark.parametrize("client_id", ["client\u202e", "client\x9b1m"])
def test_security_14_a_client_id_that_writes_to_the_terminal_is_rejected(server, client_id):
    server.faults["register"] = Fault(change={"client_id": client_id})
    with pytest.raises(bl.ProtocolError, match="valid") as caught:
        sign_in(server)
    assert_harmless(str(caught.value))
