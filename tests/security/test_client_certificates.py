"""`client_cert`: a server that asks for a certificate gets the client's."""

import asyncio
import itertools
import pickle
import ssl
import subprocess
import sys

import boardlot as bl
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from ..support.certificates import Authority, authority, named, signed
from ..support.proxy import Proxy

KEYS = {
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
}
FORMS = {"PKCS#8": PrivateFormat.PKCS8, "traditional": PrivateFormat.TraditionalOpenSSL}
TRUSTING = {"ca_file": Authority.ca_file}


def pem(key, form=PrivateFormat.PKCS8, password=None):
    lock = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, lock)


def certificate_of(key):
    """A certificate of the tests' authority for the owner of a key."""
    own = authority()
    certificate = signed(own._name, named("desk"), key.public_key(), own._key, ("desk",))
    return certificate.public_bytes(Encoding.PEM)


@pytest.fixture(scope="module")
def key():
    return KEYS["P-256"]()


@pytest.fixture
def files(tmp_path):
    """Writes a file of its own for each content."""
    numbers = itertools.count()

    def written(*parts):
        path = tmp_path / f"{next(numbers)}.pem"
        path.write_bytes(b"".join(parts))
        return path

    return written


@pytest.fixture
def both(key, files):
    """The file with the certificate and its key."""
    return files(certificate_of(key), pem(key))


def demanding(name):
    """A server's context that accepts only clients of the authority."""
    context = authority().context((name,))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(Authority.ca_file)
    return context


@pytest.fixture
def port(sandbox):
    return int(sandbox.base_url.rpartition(":")[2])


@pytest.fixture
def relay(port):
    """The sandbox behind TLS that accepts only clients of the authority."""
    with Proxy(port, demanding("127.0.0.1")) as relay:
        yield relay


def boardlot(*arguments):
    """The exit code of a command."""
    command = [sys.executable, "-m", "boardlot", *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode


def read(client):
    with client:
        return len(client.dividends("HK.00700"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KEYS)
def test_a_server_gets_the_certificate_of_each_kind_of_key(sandbox, relay, files, kind, form):
    key = KEYS[kind]()
    certificate, private = certificate_of(key), pem(key, FORMS[form])
    options = {"auth": sandbox.api_key(), **TRUSTING}
    one, two = files(private, certificate), (files(certificate), files(private))
    assert read(bl.Client(relay.base_url, client_cert=one, **options)) == 21
    assert read(bl.Client(relay.base_url, client_cert=str(one), **options)) == 21
    assert read(bl.Client(relay.base_url, client_cert=two, **options)) == 21


def test_without_one_the_server_ends_the_connection(sandbox, relay, both):
    options = {"auth": sandbox.api_key(), "max_retries": 0, **TRUSTING}
    with pytest.raises(bl.TransportError):
        read(bl.Client(relay.base_url, **options))
    # Connections of the one with a certificate are not those of the one without.
    assert read(bl.Client(relay.base_url, client_cert=both, **options)) == 21
    with pytest.raises(bl.TransportError):
        read(bl.Client(relay.base_url, **options))


def test_an_async_client_has_one_too(sandbox, relay, both):
    async def count():
        options = {"auth": sandbox.api_key(), "client_cert": both, **TRUSTING}
        async with bl.AsyncClient(relay.base_url, **options) as client:
            return len(await client.dividends("HK.00700"))

    assert asyncio.run(count()) == 21


def test_it_is_used_through_a_proxy_by_connect(sandbox, relay, both):
    relay.context = demanding("service.test")
    with Proxy(tunnels={"service.test:443": relay.port}) as proxy:
        options = {"auth": sandbox.api_key(), "client_cert": both, **TRUSTING}
        assert read(bl.Client("https://service.test", proxy=proxy.base_url, **options)) == 21
    assert proxy.asked == ["CONNECT service.test:443 HTTP/1.1"]


def test_a_profile_and_the_command_line_name_it(sandbox, relay, both, config):
    certificate = {"client_cert": str(both), **TRUSTING}
    lines = [f"{name} = {str(value)!r}" for name, value in certificate.items()]
    config.parent.mkdir(parents=True)
    text = [f"[profiles.desk]\nbase_url = {relay.base_url!r}", *lines]
    config.write_text("\n".join(text), "utf-8")
    with bl.Client(profile="desk") as client:
        assert client.server_time().year > 2000
    assert boardlot("--profile", "desk", "time") == 0
    options = ["--base-url", relay.base_url, "--ca-file", Authority.ca_file]
    assert boardlot(*options, "--client-cert", str(both), "time") == 0
    assert boardlot(*options, "time") != 0


def test_logins_have_it(relay, both, sandbox):
    options = {"client_cert": both, **TRUSTING}
    callback = "https://app.example.com/callback"
    registered = bl.register_client(relay.base_url, redirect_uris=[callback], **options)
    flow = bl.begin_login(relay.base_url, store=bl.MemoryStore(), **options)
    flow.cancel()
    app = bl.OAuthApp(
        relay.base_url,
        registered.client_id,
        redirect_uri=callback,
        store=bl.MemoryStore(),
        **options,
    )
    request = app.authorization_url()
    returned = sandbox.authorize_demo_user(request.url.replace(relay.base_url, sandbox.base_url))
    session = {"state": request.state, "code_verifier": request.code_verifier}
    assert app.fetch_token(returned, **session, user="alice").user == "alice"


def test_what_cannot_be_used_is_refused_in_words(key, files):
    certificate, private = certificate_of(key), pem(key)
    locked = pem(key, password=b"words")
    traditional = pem(KEYS["RSA"](), PrivateFormat.TraditionalOpenSSL, b"words")
    for client_cert, said in (
        (files(certificate, locked), "encrypted key; decrypt it"),
        (files(certificate, traditional), "encrypted key; decrypt it"),
        (files(certificate), "no private key"),
        (files(private), "no certificate"),
        (files(certificate, private, private), "more than one private key"),
        (files(certificate, pem(KEYS["P-256"]())), "cannot be used: "),
        (files(b"nothing"), "no certificate"),
    ):
        with pytest.raises(
            bl.ConfigError, match=f"client_cert .*{client_cert.name} has|cannot"
        ) as it:
            bl.Client("https://api.example.com", client_cert=client_cert)
        assert said in str(it.value)
    with pytest.raises(bl.ConfigError, match="client_cert is of type tuple"):
        bl.Client("https://api.example.com", client_cert=("a", "b", "c"))
    with pytest.raises(bl.ConfigError, match=r"client_cert .*missing\.pem"):
        bl.Client("https://api.example.com", client_cert="missing.pem")


def test_a_pickle_has_its_path_and_no_key(both):
    client = bl.Client("https://api.example.com", client_cert=both)
    stored = pickle.dumps(client)
    assert both.name.encode() in stored and b"PRIVATE" not in stored
    assert pickle.loads(stored).base_url == client.base_url
