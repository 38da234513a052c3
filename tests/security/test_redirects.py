"""Promise 19: a redirect is never followed, and the place it names hears nothing."""

import asyncio

import boardlot as bl
import pytest

from ..support.addresses import Untouched
from ..support.clients import client_of
from ..support.logins import quotes, sign_in
from ..support.operations import operations
from ..support.service import Fault, StandInService, response

STATUSES = [301, 302, 303, 307, 308]
ACCOUNTS = {"crypto": ["1"], "sim": ["2"], "trade": ["3"]}
TARGETS = ["{0}/next", "{0}", "//{1}/next", "http:{1}", "{0}/oauth2/token?a=b#c"]
statuses = pytest.mark.parametrize("status", STATUSES)


def hops(second, status):
    """A redirect to the second origin in each way that a server may write it."""
    address = second.base_url.removeprefix("http://")
    for target in TARGETS:
        yield response(b"", status, {"Location": target.format(second.base_url, address)})


@statuses
@pytest.mark.parametrize("operation", operations(ACCOUNTS), ids=str)
def test_security_19_no_operation_follows_a_redirect(operation, status):
    with Untouched() as second:
        for hop in hops(second, status):
            with StandInService(lambda _, hop=hop: hop) as server, pytest.raises(bl.ProtocolError):
                client = bl.Client(server.base_url, auth=bl.BearerToken("secret"))
                result = operation.start(client)
                list(result)
        second.assert_untouched()


@statuses
def test_security_19_no_awaited_operation_follows_a_redirect(status):
    async def use(server, operation):
        async with bl.AsyncClient(server.base_url, auth=bl.BearerToken("secret")) as client:
            result = operation.start(client)
            with pytest.raises(bl.ProtocolError):
                await (result.all() if operation.pages else result)

    with Untouched() as second:
        for hop in hops(second, status):
            with StandInService(lambda _, hop=hop: hop) as server:
                for operation in operations(ACCOUNTS):
                    asyncio.run(use(server, operation))


def redirecting(second, status, path="/oauth2/token"):
    return Fault(status=status, headers={"Location": second.base_url + path})


@statuses
@pytest.mark.parametrize("step", ["register", "authorization_code"])
def test_security_19_no_step_of_a_login_follows_a_redirect(server, status, step):
    with Untouched() as second:
        server.faults[step] = redirecting(second, status)
        with pytest.raises((bl.ProtocolError, bl.OAuthError)):
            sign_in(server)
        assert server.counts[step] == 1


@statuses
def test_security_19_a_refresh_does_not_follow_a_redirect(server, status):
    client = client_of(server, sign_in(server))
    server.expire()
    with Untouched() as second:
        server.faults["refresh_token"] = redirecting(second, status)
        with pytest.raises((bl.ProtocolError, bl.OAuthError)) as caught:
            quotes(client)
        assert not isinstance(caught.value, bl.LoginRequired)
    assert server.counts["refresh_token"] == 1
    server.faults.clear()
    assert list(quotes(client)) == []


@statuses
def test_security_19_the_clock_is_not_read_from_elsewhere(status):
    with Untouched() as second:
        skewed = response({"ret_code": -12006, "ret_msg": "clock"})
        hop = response(b"", status, {"Location": second.base_url + "/api/v1.0/server-time"})
        with StandInService(lambda got: hop if "server-time" in got.path else skewed) as server:
            auth = bl.ApiKey("key-1", bl.generate_key().private_pem)
            with pytest.raises((bl.ProtocolError, bl.ClockSkewError)):
                bl.Client(server.base_url, auth=auth).dividends("HK.00700")
            assert len(server.received) <= 3
