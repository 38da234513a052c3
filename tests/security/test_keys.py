"""Promises 15 and 16: secrets are wiped from memory, and weak or open keys are refused."""

import pickle
import sys
import warnings
from pathlib import Path

import boardlot as bl
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from ..support.keys import secret_of
from ..support.logins import sign_in
from ..support.memory import places_of
from ..support.processes import python
from ..support.stores import PASSPHRASE, files_of


def rsa_pem(bits, form=PrivateFormat.PKCS8, encryption=None):
    key = rsa.generate_private_key(65537, bits)
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption())


@pytest.mark.parametrize("bits", [1024, 1536, 2040])
@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_security_16_a_short_rsa_key_is_rejected(bits, form, tmp_path):
    pem = rsa_pem(bits, form)
    path = tmp_path / "key.pem"
    path.write_bytes(pem)
    path.chmod(0o600)
    for given in (pem, pem.decode(), path):
        with pytest.raises(bl.ConfigError) as caught:
            bl.ApiKey("id", given)
        assert "2048" in f"{caught.value} {caught.value.hint}"
    locked = rsa_pem(bits, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw"))
    with pytest.raises(bl.ConfigError):
        bl.ApiKey("id", locked, password="pw")


def test_security_16_2048_bits_are_enough():
    assert bl.ApiKey("id", rsa_pem(2048)).algorithm == "RSA-SHA256"


@pytest.mark.parametrize("bits", [0, 512, 1024, 2047, -1])
def test_security_16_a_short_rsa_key_is_not_made(bits):
    with pytest.raises(bl.ConfigError):
        bl.generate_key("RSA-SHA256", bits=bits)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o666, 0o444, 0o440])
def test_security_16_a_key_file_that_others_can_read_is_warned_about(mode, tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(bl.generate_key().private_pem)
    path.chmod(mode)
    for given in (path, str(path)):
        with pytest.warns(UserWarning, match="read") as caught:
            assert bl.ApiKey("id", given).algorithm == "Ed25519"
        assert len(caught) == 1 and str(path) in str(caught[0].message)


def test_security_16_the_warning_points_to_the_callers_line(tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(bl.generate_key().private_pem)
    path.chmod(0o644)
    with pytest.warns(UserWarning) as caught:
        bl.ApiKey("id", path)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_security_16_a_private_key_file_causes_no_warning(mode, tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(bl.generate_key().private_pem)
    path.chmod(mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bl.ApiKey("id", path).algorithm == "Ed25519"
        assert bl.ApiKey("id", path.read_text()).algorithm == "Ed25519"


HOLDING_A_KEY = """
    import gc, sys
    import boardlot as bl
    control = b"".join(bytes([byte ^ 0x5a]) for byte in bytes.fromhex(sys.argv[2]))
    key = bl.ApiKey("id", sys.argv[1])
    client = bl.Client("http://127.0.0.1:1", auth=key)
    for _ in range(20):
        key.sign(b"payload")
        client.explain("GET", "/api/v1.0/server-time")
    client.close()
    del key, client
    gc.collect()
    print("ready", flush=True)
    sys.stdin.readline()
    """
HOLDING_A_TOKEN = """
    import gc, sys
    import boardlot as bl
    control = b"".join(bytes([byte ^ 0x5a]) for byte in bytes.fromhex(sys.argv[2]))
    base_url, client_id = sys.argv[3:]
    store = bl.EncryptedFileStore(sys.argv[1], sys.stdin.readline().strip())
    oauth = bl.OAuth(client_id, store=store)
    with bl.Client(base_url, auth=oauth) as client:
        client.reference_futures("HK.HSImain")
    oauth.scopes
    del oauth, client, store
    gc.collect()
    print("ready", flush=True)
    sys.stdin.readline()
    """
reads_memory = pytest.mark.skipif(
    not Path("/proc/self/mem").exists() or sys.platform != "linux",
    reason="the memory of a child is read by way of Linux's /proc",
)


def control_of():
    """A value for the child to hold, and the arguments that do not show it."""
    control = "the scan does find what is there"
    return control, bytes(byte ^ 0x5A for byte in control.encode()).hex()


@reads_memory
def test_security_15_a_dropped_key_is_wiped(tmp_path):
    path = tmp_path / "key.pem"
    pem = bl.generate_key().private_pem
    path.write_text(pem)
    path.chmod(0o600)
    seed, text = secret_of(pem)
    control, disguised = control_of()
    with python(HOLDING_A_KEY, path, disguised) as child:
        assert child.stdout.readline() == "ready\n"
        found = places_of([control, seed.decode("latin-1"), text], child.pid)
        child.kill()
    assert [secret for secret, places in found.items() if places] == [control]


@reads_memory
def test_security_15_a_dropped_refresh_token_is_wiped(server, place):
    sign_in(server, bl.EncryptedFileStore(place, PASSPHRASE))
    (client_id,) = server.clients
    (refresh_token,) = server.refresh
    control, disguised = control_of()
    with python(HOLDING_A_TOKEN, place, disguised, server.base_url, client_id) as child:
        child.stdin.write(PASSPHRASE + "\n")
        child.stdin.flush()
        assert child.stdout.readline() == "ready\n"
        # It was read from the store, and never sent: only the core has had it.
        found = places_of([control, refresh_token], child.pid)
        child.kill()
    assert server.counts["refresh_token"] == 0
    assert [secret for secret, places in found.items() if places] == [control]
    assert files_of(place.parent)


@pytest.mark.parametrize("cut", [slice(1, -1), slice(1, 2)])
def test_a_key_without_its_pem_lines_is_rejected_and_not_shown(cut):
    body = bl.generate_key().private_pem.splitlines()[cut]
    whole = "".join(body)
    for text in (whole, "\n".join(body) + "\n", f" {whole}", f"{whole}\t", " ".join(body)):
        with pytest.raises(bl.ConfigError, match="looks like a key") as caught:
            bl.ApiKey("id", text)
        assert body[0][-12:] not in f"{caught.value!r} {caught.value.hint}"


def test_a_path_that_is_not_there_is_shown():
    with pytest.raises(bl.ConfigError, match="no/such/key"):
        bl.ApiKey("id", "no/such/key")


def test_a_key_is_found_among_certificates_and_in_an_indented_text():
    pem = bl.generate_key().private_pem
    bundle = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n" + pem
    indented = "\n".join(f"    {line}" for line in bundle.splitlines())
    for text in (pem + bundle, bundle, indented):
        assert bl.ApiKey("id", text).sign(b"x") == bl.ApiKey("id", pem).sign(b"x")


def test_a_pickled_key_is_found_from_another_folder(tmp_path, monkeypatch):
    path = tmp_path / "key.pem"
    path.write_text(bl.generate_key().private_pem)
    path.chmod(0o600)
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(bl.ApiKey("id", "key.pem"))
    monkeypatch.chdir("/")
    assert pickle.loads(pickled).key_id == "id"


def test_security_16_a_profile_warns_about_a_key_that_others_can_read(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "boardlot"
    folder.mkdir()
    (folder / "key.pem").write_text(bl.generate_key().private_pem)
    (folder / "key.pem").chmod(0o644)
    auth = '{ kind = "api_key", key_id = "id", private_key = "key.pem" }'
    text = f'[profiles.paper]\nbase_url = "https://api.example.com"\nauth = {auth}\n'
    (folder / "config.toml").write_text(text)
    with pytest.warns(UserWarning, match="chmod 600"):
        bl.Client(profile="paper")
