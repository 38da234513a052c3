"""Promise 26: credentials belong to one origin, and a client for another refuses them."""

import pickle

import boardlot as bl
import pytest

from ..support.addresses import Untouched
from ..support.clients import client_of
from ..support.logins import quotes, sign_in

FOREIGN = [
    *("https://127.0.0.1:{port}", "http://127.0.0.1:{other}", "http://[::1]:{port}"),
    *("http://127.0.0.2:{port}", "https://api.example.com", "http://127.0.0.1"),
]
KINDS = [bl.Client, bl.AsyncClient]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("address", FOREIGN)
def test_security_26_a_login_is_rejected_by_a_client_for_another_origin(server, kind, address):
    oauth = sign_in(server)
    with Untouched() as second:
        other = second.base_url.rsplit(":", 1)[1]
        with pytest.raises(bl.ConfigError) as caught:
            kind(address.format(port=server.port, other=other), auth=oauth)
        assert caught.value.hint
    assert list(quotes(client_of(server, oauth))) == []


@pytest.mark.parametrize("spelled", ["http://127.0.0.1:{0}/", "HTTP://127.0.0.1:{0}"])
def test_security_26_the_same_origin_in_other_letters_is_the_same(server, spelled):
    oauth = sign_in(server)
    with bl.Client(spelled.format(server.port), auth=oauth) as client:
        assert list(quotes(client)) == []


def test_security_26_a_pickled_login_stays_with_its_origin(server, place):
    store = bl.EncryptedFileStore(place, ask)
    oauth = pickle.loads(pickle.dumps(sign_in(server, store)))
    assert list(quotes(client_of(server, oauth))) == []
    with Untouched() as second, pytest.raises(bl.ConfigError):
        bl.Client(second.base_url, auth=oauth)
    for unpicklable in (bl.MemoryStore(), bl.EncryptedFileStore(place, "text")):
        with pytest.raises(bl.ConfigError):
            pickle.dumps(bl.OAuth("client-1", store=unpicklable))


def ask():
    return "correct-horse-battery-staple"


CREDENTIALS = {
    "a key": lambda: bl.ApiKey("key-1", bl.generate_key().private_pem),
    "a token": lambda: bl.BearerToken("token"),
}


@pytest.mark.parametrize("name", CREDENTIALS)
def test_security_26_a_credential_used_with_one_origin_is_rejected_by_another(server, name):
    """The signature covers no host: what was signed for one service would pass at another."""
    auth = CREDENTIALS[name]()
    with bl.Client(server.base_url, auth=auth) as first:
        assert first.server_time().tzinfo is not None
    with Untouched() as second, pytest.raises(bl.ConfigError):
        bl.Client(second.base_url, auth=auth)


ELSEWHERE = ["http://127.0.0.1:{0}/x", "//127.0.0.1:{0}/x", "@127.0.0.1:{0}/x", ":{0}/x"]
ELSEWHERE += ["\\\\127.0.0.1:{0}/x", "/\\127.0.0.1:{0}/x", "/\t/127.0.0.1:{0}/x", ".:{0}/x"]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_security_26_no_path_leads_to_another_origin(server, path):
    client = client_of(server, sign_in(server))
    seen = len(server.received)
    with Untouched() as second:
        there = path.format(second.base_url.rsplit(":", 1)[1])
        with pytest.raises(bl.ConfigError):
            client.request("GET", there)
        with pytest.raises(bl.ConfigError):
            list(client.paginate("GET", there, paging="next_key", rows="data.list"))
        with pytest.raises(bl.ConfigError):
            client.explain("GET", there)
    assert len(server.received) == seen
