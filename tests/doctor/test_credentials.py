"""The doctor on keys, logins and tokens: whether the service accepts them, and what to do."""

import subprocess
import sys

import boardlot as bl
import pytest
from boardlot import doctor
from boardlot.doctor import identity

from .findings import SECRET, WAY, closed_port, failed, found, logged_in, states

# A key


def test_a_key_is_described_and_accepted(sandbox, tmp_path):
    for algorithm, kind in (("Ed25519", "Ed25519;"), ("RSA-SHA256", "RSA-SHA256 with 3,072 bits;")):
        made = bl.generate_key(algorithm)
        file = tmp_path / f"{algorithm}.pem"
        file.touch(0o600)
        file.write_text(made.private_pem)
        key = bl.ApiKey(sandbox.upload_key(made.public_pem), file)
        findings = found(sandbox.base_url, auth=key)
        assert list(findings) == [*WAY, "credentials", "key", "signature"]
        assert failed(findings) == []
        assert findings["credentials"].detail == f"the key {key.key_id}"
        assert findings["key"].detail == f"{kind} its file is {file}"
        assert findings["signature"].detail == "the service accepts the key"


def test_a_key_that_was_not_uploaded_is_found(sandbox):
    made = bl.generate_key()
    findings = found(sandbox.base_url, auth=bl.ApiKey("my-app-key", made.private_pem))
    assert failed(findings) == ["signature"]
    assert "X-Api-Key is not known" in findings["signature"].detail
    assert findings["signature"].hint.startswith("Compare the key id with the developer page")
    assert "Sign with" not in findings["signature"].hint


def test_another_private_key_than_the_one_uploaded_is_found(sandbox):
    key_id = sandbox.api_key().key_id
    key = bl.ApiKey(key_id, bl.generate_key().private_pem)
    findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == ["signature"]
    assert findings["signature"].hint.startswith("Sign with the private key whose public key")
    assert "Compare the key id" not in findings["signature"].hint


def test_an_ambiguous_response_gets_the_hint_for_both_causes():
    made = bl.ApiKey("k", bl.generate_key().private_pem)
    hint = identity._hint_for(made, "unauthenticated")
    assert "Compare the key id" in hint and "Sign with the private key" in hint


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.filterwarnings("ignore:the key file")
def test_a_key_that_others_can_read_is_found(opened, sandbox, tmp_path):
    file = tmp_path / "key.pem"
    made = bl.generate_key()
    file.write_text(made.private_pem)
    file.chmod(0o644)
    key_id = sandbox.upload_key(made.public_pem)
    auth = bl.ApiKey(key_id, file) if opened else (lambda: bl.ApiKey(key_id, file))
    findings = found(sandbox.base_url, auth=auth)
    assert failed(findings) == ["key"]
    assert "can be read by other users" in findings["key"].detail
    assert findings["key"].hint == f"Run: chmod 600 {file}"
    assert findings["signature"].state == "ok"


def test_a_key_that_cannot_be_read_does_not_stop_the_way(sandbox):
    findings = found(sandbox.base_url, auth=lambda: bl.ApiKey("k", "/nowhere/key.pem"))
    assert failed(findings) == ["credentials"]
    assert "/nowhere/key.pem" in findings["credentials"].detail
    assert list(findings) == [*WAY, "credentials"]


def test_a_key_is_checked_if_the_service_is_away():
    key = bl.ApiKey("k", bl.generate_key().private_pem)
    findings = found(f"https://127.0.0.1:{closed_port()}", auth=key)
    assert states(findings)["key"] == "ok"
    assert findings["signature"].detail == "not tried: connection failed"


# A login


def test_a_login_is_described_and_accepted(sandbox, tmp_path):
    store = bl.EncryptedFileStore(tmp_path / "tokens", SECRET)
    login = logged_in(sandbox, store=store)
    findings = found(sandbox.base_url, auth=login)
    assert list(findings)[len(WAY) :] == [
        *("credentials", "login", "token", "scopes", "quotes", "accounts")
    ]
    assert failed(findings) == []
    assert str(tmp_path / "tokens") in findings["login"].detail
    assert login.expires_at.isoformat(timespec="seconds") in findings["login"].detail
    assert findings["token"].detail == "the service accepts the token"
    assert "quote:read" in findings["scopes"].detail
    assert "does not document" in findings["scopes"].detail
    assert findings["accounts"].detail.endswith("of all accounts")


def test_what_the_scopes_do_not_open_is_reported(sandbox):
    quotes = found(sandbox.base_url, auth=logged_in(sandbox, ["quote:read"]))
    assert failed(quotes) == []
    assert states(quotes)["quotes"] == "ok"
    assert quotes["accounts"].state == "skipped"
    assert "trade:read was not granted" in quotes["accounts"].detail

    account = sandbox.accounts["trade"][0]
    trade = found(sandbox.base_url, auth=logged_in(sandbox, ["trade:read", f"accid:{account}"]))
    assert failed(trade) == []
    assert "the service accepts the token, but not for this request" in trade["token"].detail
    assert trade["quotes"].state == "skipped"
    assert trade["accounts"].detail.endswith(f"of account {account}")

    nothing = found(sandbox.base_url, auth=logged_in(sandbox, ["trade:write"]))
    assert failed(nothing) == ["scopes"]
    assert "Log in again" in nothing["scopes"].hint


def test_a_token_that_is_no_longer_valid_is_refreshed():
    with bl.Sandbox() as sandbox:
        login = logged_in(sandbox)
        sandbox.revoke_tokens()
        findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == []
    assert "it was refreshed and expires" in findings["token"].detail


def test_a_revoked_login_is_found():
    with bl.Sandbox() as sandbox:
        login = logged_in(sandbox)
        sandbox.revoke_grants()
        findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == ["token"]
    assert "boardlot login" in findings["token"].hint
    assert findings["scopes"].detail == "not tried: token failed"


def test_a_login_that_was_forgotten_is_found(sandbox):
    login = logged_in(sandbox)
    login.logout()
    findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == ["login"]
    assert "boardlot login" in findings["login"].hint


def test_a_store_that_cannot_be_opened_is_found(sandbox, tmp_path):
    login = logged_in(sandbox, store=bl.EncryptedFileStore(tmp_path / "tokens", SECRET))
    wrong = bl.EncryptedFileStore(tmp_path / "tokens", "another passphrase")
    findings = found(sandbox.base_url, auth=bl.OAuth(login.client_id, store=wrong))
    assert failed(findings) == ["login"]


def test_credentials_of_another_service_are_found(sandbox):
    key = sandbox.api_key()
    with bl.Sandbox() as other:
        other.client(key)
        findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == ["credentials"]


def test_a_bearer_token_is_tried(sandbox):
    findings = found(sandbox.base_url, auth=bl.BearerToken(SECRET))
    assert list(findings) == [*WAY, "credentials", "token"]
    assert failed(findings) == ["token"]
    assert "get a new one for this base URL" in findings["token"].hint
    assert "key" not in findings["token"].hint


def test_a_service_has_to_be_named():
    with pytest.raises(bl.ConfigError, match="base_url is missing"):
        doctor.examine()


def test_importing_boardlot_loads_no_doctor():
    code = "import boardlot, sys; sys.exit('boardlot.doctor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
