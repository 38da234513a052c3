"""Promise 16: weak and open keys are refused, and what is not a key is not shown."""

import pickle
import warnings

import boardlot as bl
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)


def rsa_pem(bits, form=PrivateFormat.PKCS8, encryption=None):
    key = rsa.generate_private_key(65537, bits)
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption())


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_security_16_a_short_rsa_key_is_rejected(form, tmp_path):
    pem = rsa_pem(2040, form)
    path = tmp_path / "key.pem"
    path.write_bytes(pem)
    path.chmod(0o600)
    locked = rsa_pem(2040, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw"))
    for given, password in [(pem, None), (pem.decode(), None), (path, None), (locked, "pw")]:
        with pytest.raises(bl.ConfigError) as caught:
            bl.ApiKey("id", given, password=password)
        assert "2048" in f"{caught.value} {caught.value.hint}"
    assert bl.ApiKey("id", rsa_pem(2048, form)).algorithm == "RSA-SHA256"


@pytest.mark.parametrize("bits", [0, 2047, -1])
def test_security_16_a_short_rsa_key_is_not_made(bits):
    with pytest.raises(bl.ConfigError):
        bl.generate_key("RSA-SHA256", bits=bits)


@pytest.fixture
def key_file(tmp_path):
    """The file of a new key, with a mode."""
    path = tmp_path / "key.pem"

    def make(mode):
        path.write_text(bl.generate_key().private_pem)
        path.chmod(mode)
        return path

    return make


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o444])
def test_security_16_a_key_file_that_others_can_read_is_warned_about(mode, key_file):
    path = key_file(mode)
    for given in (path, str(path)):
        with pytest.warns(UserWarning, match="read") as caught:
            assert bl.ApiKey("id", given).algorithm == "Ed25519"
        assert len(caught) == 1 and str(path) in str(caught[0].message)
        assert caught[0].filename == __file__, "it points to the caller's line"


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_security_16_a_private_key_file_causes_no_warning(mode, key_file):
    path = key_file(mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bl.ApiKey("id", path).algorithm == "Ed25519"
        assert bl.ApiKey("id", path.read_text()).algorithm == "Ed25519"


@pytest.mark.parametrize("cut", [slice(1, -1), slice(1, 2)])
def test_a_key_without_its_pem_lines_is_rejected_and_not_shown(cut):
    body = bl.generate_key().private_pem.splitlines()[cut]
    whole = "".join(body)
    for text in (whole, "\n".join(body) + "\n", f" {whole}", f"{whole}\t", " ".join(body)):
        with pytest.raises(bl.ConfigError, match="looks like a key") as caught:
            bl.ApiKey("id", text)
        assert body[0][-12:] not in f"{caught.value!r} {caught.value.hint}"


def test_a_pickled_key_is_found_from_another_folder(key_file, monkeypatch):
    monkeypatch.chdir(key_file(0o600).parent)
    pickled = pickle.dumps(bl.ApiKey("id", "key.pem"))
    monkeypatch.chdir("/")
    assert pickle.loads(pickled).key_id == "id"


PUBLIC = bl.generate_key().public_pem


LOCKED = rsa_pem(2048, PrivateFormat.PKCS8, BestAvailableEncryption(b"right")).decode()
UNUSABLE = {
    "is a public key": PUBLIC,
    "is not a key in PEM or DER": "hello",
    "is an RSA key under 2048 bits": rsa_pem(1024).decode(),
    "is encrypted; pass its password": LOCKED,
    "is not valid PEM": "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n",
    "is 70000 bytes long": "x" * 70_000,
}


@pytest.mark.parametrize("said", UNUSABLE)
def test_an_error_about_what_is_in_a_key_file_names_the_file(said, tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(UNUSABLE[said])
    path.chmod(0o600)
    with pytest.raises(bl.ConfigError) as caught:
        bl.ApiKey("id", path)
    assert str(caught.value).startswith(f"private_key {path} {said}")
    # Not one of a key that came from no file.
    with pytest.raises(bl.ConfigError) as caught:
        bl.ApiKey("id", UNUSABLE[said].encode())
    assert str(caught.value).startswith(f"private_key {said}")


@pytest.mark.parametrize("empty", ["", " ", "\n", b""])
def test_an_empty_key_is_called_empty(empty):
    expected = "the path of a private key file, PEM text or key bytes"
    with pytest.raises(bl.ConfigError) as caught:
        bl.ApiKey("id", empty)
    assert str(caught.value) == f"private_key is empty; expected {expected}"


def test_a_wrong_password_is_about_that_file(tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(LOCKED)
    path.chmod(0o600)
    with pytest.raises(bl.ConfigError) as caught:
        bl.ApiKey("id", path, password="wrong")
    assert str(caught.value) == f"private_key {path} cannot be decrypted: the password is wrong"
