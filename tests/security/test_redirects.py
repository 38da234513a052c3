"""Promise 19: a redirect is never followed, and the place it names hears nothing."""

import itertools

import boardlot as bl
import pytest

from ..support.addresses import Untouched
from ..support.clients import client_of
from ..support.logins import expired_client, quotes, sign_in
from ..support.operations import operations
from ..support.service import Fault, StandInService, response

STATUSES = [301, 302, 303, 307, 308]
ACCOUNTS = {"crypto": ["1"], "sim": ["2"], "trade": ["3"]}
TARGETS = ["{0}/next", "{0}", "//{1}/next", "http:{1}", "{0}/oauth2/token?a=b#c"]
statuses = pytest.mark.parametrize("status", STATUSES)


@pytest.fixture
def hop():
    """Redirects to a second origin, in each way that a server may write it."""
    with Untouched() as second:
        address = second.base_url.removeprefix("http://")
        targets = itertools.cycle(TARGETS)
        yield lambda status: response(
            b"", status, {"Location": next(targets).format(second.base_url, address)}
        )


@statuses
def test_security_19_no_operation_follows_a_redirect(hop, status):
    with StandInService(lambda _: hop(status)) as server:
        client = client_of(server)
        for operation in operations(ACCOUNTS):
            with pytest.raises(bl.ProtocolError):
                list(operation.start(client))


@statuses
@pytest.mark.parametrize("step", ["register", "authorization_code"])
def test_security_19_no_step_of_a_login_follows_a_redirect(server, hop, status, step):
    server.faults[step] = Fault(status=status, headers=hop(status).headers)
    with pytest.raises((bl.ProtocolError, bl.OAuthError)):
        sign_in(server)
    assert server.counts[step] == 1


@statuses
def test_security_19_a_refresh_does_not_follow_a_redirect(server, hop, status):
    redirecting = Fault(status=status, headers=hop(status).headers)
    client = expired_client(server, refresh=redirecting)
    with pytest.raises((bl.ProtocolError, bl.OAuthError)) as caught:
        quotes(client)
    assert not isinstance(caught.value, bl.LoginRequired)
    assert server.counts["refresh_token"] == 1
    server.faults.clear()
    assert list(quotes(client)) == []
