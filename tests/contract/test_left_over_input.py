"""Input that other libraries would send as it is, or call by another name."""

import json
import weakref

import boardlot as bl
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from ..support.certificates import authority
from ..support.clients import client_of
from ..support.paged_service import page
from ..support.proxy import Proxy
from ..support.service import StandInService, response

DONE = response({"code": 0, "data": []})


def test_a_body_may_have_scalars_of_numpy():
    np = pytest.importorskip("numpy")
    values = {"a": np.True_, "b": np.int64(3), "c": np.float32(1.5), "d": [np.False_]}
    with StandInService([DONE]) as server:
        client_of(server).request("POST", "/api/v1.0/own", body=values)
        sent = server.received[0].body
    assert json.loads(sent) == {"a": True, "b": 3, "c": 1.5, "d": [False]}
    assert b'"a":true' in sent


@pytest.mark.parametrize("path", ["/api/a|b", "/api/a[1]", "/api/a^b", "/api/%zz", "/api/%4"])
def test_a_path_that_is_no_url_is_refused(path):
    with StandInService([]) as server:
        with pytest.raises(bl.ConfigError, match="percent-encoded"):
            client_of(server).request("GET", path)
        assert server.received == []


def test_a_percent_encoded_path_is_sent_unchanged():
    with StandInService([DONE]) as server:
        client_of(server).request("GET", "/api/a%7Cb%5B1%5D")
        assert server.received[0].target == "/api/a%7Cb%5B1%5D"


def test_a_certificate_is_called_one():
    der = authority().certificate().public_bytes(Encoding.DER)
    with pytest.raises(bl.ConfigError, match="private_key is a certificate"):
        bl.ApiKey("key", der)


def test_the_scheme_of_a_proxy_is_of_any_case(monkeypatch):
    with Proxy(tunnels={}) as proxy:
        address = proxy.base_url.replace("http", "HTTP")
        monkeypatch.setenv("HTTPS_PROXY", address)
        for option in (address, "environment"):
            client = bl.Client("https://api.example.com", proxy=option, max_retries=0)
            with client, pytest.raises(bl.TransportError):
                client.server_time()
        assert proxy.asked == ["CONNECT api.example.com:443 HTTP/1.1"] * 2


def test_a_cursor_that_no_url_can_take_ends_a_list_with_its_error():
    rows = [{"code": "HK.00700"}]
    cursor = "c" * 70_000
    with StandInService([page("crypto_orders", rows, cursor)]) as server:
        pager = client_of(server).crypto_orders(7)
        received = []
        with pytest.raises(bl.PaginationError, match="page_flag has 70000 bytes"):
            for row in pager:
                received.append(row)
        assert len(received) == 1 and len(server.received) == 1


def test_clients_credentials_and_stores_can_be_referred_to_weakly(tmp_path):
    store = bl.MemoryStore()
    for one in (
        bl.Client("https://api.example.com"),
        bl.AsyncClient("https://api.example.com"),
        store,
        bl.EncryptedFileStore(tmp_path / "tokens", "a passphrase"),
        bl.KeyringStore(),
        bl.OAuth("client", store=store),
        bl.BearerToken("token"),
        bl.RateLimit(5),
    ):
        assert weakref.ref(one)() is one


def test_a_path_of_a_profile_with_a_null_character_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "boardlot").mkdir()
    file = tmp_path / "boardlot" / "config.toml"
    for lines in (
        'ca_file = "a\\u0000b"',
        'auth = { kind = "api_key", key_id = "k", private_key = "a\\u0000b" }',
    ):
        file.write_text(f'[profiles.live]\nbase_url = "https://api.example.com"\n{lines}\n')
        with pytest.raises(bl.ConfigError, match=r"a path has the character U\+0000"):
            bl.Client(profile="live")
