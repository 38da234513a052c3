"""Promise 26: credentials belong to one origin, and a client for another refuses them."""

import pickle

import boardlot as bl
import pytest

from ..support.addresses import Untouched, port_of
from ..support.clients import client_of
from ..support.keys import api_key
from ..support.logins import quotes, sign_in
from ..support.secret_search import hits
from ..support.vectors import table

ADDRESSES = table("addresses")


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
def test_security_26_a_login_is_rejected_by_a_client_for_another_origin(server, kind):
    oauth = sign_in(server)
    with Untouched() as second:
        for address in ADDRESSES["foreign"]:
            foreign = address.format(port=server.port, other=port_of(second.base_url))
            with pytest.raises(bl.ConfigError, match="create separate credentials"):
                kind(foreign, auth=oauth)
    assert list(quotes(client_of(server, oauth))) == []


@pytest.mark.parametrize("spelled", ["http://127.0.0.1:{0}/", "HTTP://127.0.0.1:{0}"])
def test_security_26_the_same_origin_in_other_letters_is_the_same(server, spelled):
    oauth = sign_in(server)
    with bl.Client(spelled.format(server.port), auth=oauth) as client:
        assert list(quotes(client)) == []


def test_security_26_a_pickled_login_stays_with_its_origin(server, place):
    store = bl.EncryptedFileStore(place, ask)
    data = pickle.dumps(client_of(server, sign_in(server, store)))
    assert not hits({*server.secrets, ask()}, data)
    assert list(quotes(pickle.loads(data))) == []
    oauth = pickle.loads(pickle.dumps(sign_in(server, store)))
    with Untouched() as second, pytest.raises(bl.ConfigError):
        bl.Client(second.base_url, auth=oauth)
    for unpicklable in (bl.MemoryStore(), bl.EncryptedFileStore(place, "text")):
        with pytest.raises(bl.ConfigError):
            pickle.dumps(bl.OAuth("client-1", store=unpicklable))


def ask():
    return "correct-horse-battery-staple"


@pytest.mark.parametrize("make", [api_key, lambda: bl.BearerToken("token")], ids=["key", "token"])
def test_security_26_a_credential_used_with_one_origin_is_rejected_by_another(server, make):
    """The signature covers no host: what was signed for one service would pass at another."""
    auth = make()
    with bl.Client(server.base_url, auth=auth) as first:
        assert first.server_time().tzinfo is not None
    with Untouched() as second, pytest.raises(bl.ConfigError):
        bl.Client(second.base_url, auth=auth)


@pytest.mark.parametrize("path", ADDRESSES["elsewhere"])
def test_security_26_no_path_leads_to_another_origin(server, path):
    client = client_of(server)
    with Untouched() as second:
        there = path.format(port_of(second.base_url))
        for call in (
            lambda: client.request("GET", there),
            lambda: list(client.paginate("GET", there, paging="next_key", rows="data.list")),
            lambda: client.explain("GET", there),
        ):
            with pytest.raises(bl.ConfigError):
                call()
    assert server.received == []
