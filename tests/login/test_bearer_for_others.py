"""Section 5.1: a login's bearer token for the HTTP clients of other authors, and its refresh."""

import boardlot as bl
import boardlot.auth
import pytest
import requests

from ..support.service import StandInService, response
from .libraries import LIBRARIES

libraries = pytest.mark.parametrize("library", LIBRARIES)
PATH = "/api/v1.0/sim-trade/5001/positions"


def logged_in(sandbox):
    flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
    return flow.finish(sandbox.authorize_demo_user(flow.url))


def statuses(sandbox):
    return [(one.path, one.status) for one in sandbox.requests if "sim-trade" in one.path]


@libraries
def test_a_login_authorizes_requests(library):
    with bl.Sandbox(seed=7) as sandbox:
        reply = LIBRARIES[library](logged_in(sandbox), "GET", sandbox.base_url + PATH)
        assert reply.status == 200


@libraries
def test_a_rejected_token_is_refreshed_once(library):
    with bl.Sandbox(seed=7) as sandbox:
        login = logged_in(sandbox)
        sandbox.revoke_tokens()
        before = len(sandbox.requests)
        reply = LIBRARIES[library](login, "GET", sandbox.base_url + PATH)
        assert reply.status == 200
        assert statuses(sandbox) == [(PATH, 401), (PATH, 200)]
        refreshes = [one for one in sandbox.requests[before:] if one.path == "/oauth2/token"]
        assert len(refreshes) == 1


@libraries
def test_a_login_that_is_over_says_so(library):
    with bl.Sandbox(seed=7) as sandbox:
        login = logged_in(sandbox)
        sandbox.revoke_grants()
        with pytest.raises(bl.LoginRequired):
            LIBRARIES[library](login, "GET", sandbox.base_url + PATH)


@libraries
def test_a_token_goes_to_its_own_service_only(library):
    with bl.Sandbox(seed=7) as sandbox, StandInService([response({})]) as other:
        with pytest.raises(bl.ConfigError):
            LIBRARIES[library](logged_in(sandbox), "GET", f"{other.base_url}/x")
        assert not other.received


@libraries
def test_a_redirect_takes_no_token_elsewhere(library):
    with StandInService([response({})]) as other:
        to = response(b"", 307, {"Location": f"{other.base_url}/steal"})
        with StandInService([to]) as server:
            token = bl.BearerToken("a-secret-token")
            LIBRARIES[library](token, "GET", f"{server.base_url}/x")
        assert server.received[0].header("Authorization") == "Bearer a-secret-token"
        assert len(other.received) == 1
        assert b"a-secret-token" not in other.received[0].everything


@libraries
def test_an_adapter_shows_no_token(library):
    with StandInService([response({})]) as server:
        reply = LIBRARIES[library](bl.BearerToken("a-secret-token"), "GET", f"{server.base_url}/x")
    assert server.received[0].header("Authorization") == "Bearer a-secret-token"
    assert "BearerToken" in reply.auth
    assert "a-secret-token" not in reply.auth


@pytest.mark.parametrize("path", ["", "/gateway"])
def test_the_client_that_has_the_token_may_have_a_base_url_with_a_path(path):
    with StandInService([response({})]) as server:
        url = server.base_url + path
        with bl.Client(url, auth=bl.BearerToken("a-secret-token")) as client:
            auth = boardlot.auth.requests(bl.BearerToken("another"), client=client)
            assert requests.get(f"{url}/x", auth=auth, timeout=60).status_code == 200
    assert server.received[0].target == f"{path}/x"
    assert server.received[0].header("Authorization") == "Bearer a-secret-token"
