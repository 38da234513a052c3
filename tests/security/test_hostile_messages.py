"""Promise 14: what a service writes into an error is shown as text, and never obeyed."""

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.service import Fault, StandInService, response

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
