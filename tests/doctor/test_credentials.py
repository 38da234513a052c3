"""The doctor on keys, logins and tokens: whether the service accepts them, and what to do."""

import sys

import boardlot as bl
import pytest
from boardlot import doctor

from ..support.keys import uploaded_key
from ..support.logins import demo_login
from .findings import SECRET, WAY, closed_port, failed, found, states

# A key


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [("Ed25519", "Ed25519;"), ("RSA-SHA256", "RSA-SHA256 with 3,072 bits;")],
)
def test_a_key_is_described_and_accepted(algorithm, kind, sandbox, tmp_path):
    key_id, file = uploaded_key(sandbox, tmp_path, algorithm)
    key = bl.ApiKey(key_id, file)
    findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == []
    assert {step: finding.detail for step, finding in findings.items() if step not in WAY} == {
        "credentials": f"the key {key.key_id}",
        "key": f"{kind} its file is {file}",
        "signature": "the service accepts the key",
    }


def test_a_key_that_does_not_fit_is_found(sandbox):
    for key_id, said, hint in (
        ("my-app-key", "X-Api-Key is not known", "Compare the key id with the developer page"),
        (sandbox.api_key().key_id, "", "Sign with the private key whose public key"),
    ):
        findings = found(sandbox.base_url, auth=bl.ApiKey(key_id, bl.generate_key().private_pem))
        assert failed(findings) == ["signature"]
        assert said in findings["signature"].detail
        assert findings["signature"].hint.startswith(hint)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.filterwarnings("ignore:the key file")
def test_a_key_that_others_can_read_is_found(sandbox, tmp_path):
    file = tmp_path / "key.pem"
    file.write_text(bl.generate_key().private_pem)
    file.chmod(0o644)
    findings = found(sandbox.base_url, auth=lambda: bl.ApiKey("k", file))
    assert "key" in failed(findings)
    assert "can be read by other users" in findings["key"].detail
    assert findings["key"].hint == f"Run: chmod 600 {file}"


def test_a_key_that_cannot_be_read_does_not_stop_the_way(sandbox):
    findings = found(sandbox.base_url, auth=lambda: bl.ApiKey("k", "/nowhere/key.pem"))
    assert failed(findings) == ["credentials"] and list(findings) == [*WAY, "credentials"]
    assert "/nowhere/key.pem" in findings["credentials"].detail


def test_a_key_is_checked_if_the_service_is_away():
    key = bl.ApiKey("k", bl.generate_key().private_pem)
    findings = found(f"https://127.0.0.1:{closed_port()}", auth=key)
    assert states(findings)["key"] == "ok"
    assert findings["signature"].detail == "not tried: connection failed"


# A login


def test_a_login_is_described_and_accepted(sandbox, tmp_path):
    store = bl.EncryptedFileStore(tmp_path / "tokens", SECRET)
    login = demo_login(sandbox, store=store)
    findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == []
    assert list(findings)[len(WAY) :] == ["credentials", "login", "token", "scopes"]
    for said in (str(tmp_path / "tokens"), login.expires_at.isoformat(timespec="seconds")):
        assert said in findings["login"].detail
    assert findings["token"].detail == "the service accepts the token"
    assert "quote:read" in findings["scopes"].detail

    wrong = bl.EncryptedFileStore(tmp_path / "tokens", "another passphrase")
    assert failed(found(sandbox.base_url, auth=bl.OAuth(login.client_id, store=wrong))) == ["login"]


def test_what_the_scopes_do_not_open_is_reported(sandbox):
    account = sandbox.accounts["trade"][0]
    trade = found(
        sandbox.base_url, auth=demo_login(sandbox, scopes=["trade:read", f"accid:{account}"])
    )
    assert failed(trade) == []
    assert "the service accepts the token, but not for this request" in trade["token"].detail

    nothing = found(sandbox.base_url, auth=demo_login(sandbox, scopes=["trade:write"]))
    assert failed(nothing) == ["scopes"]
    assert "Log in again" in nothing["scopes"].hint


def test_a_token_that_is_no_longer_valid_is_refreshed_and_a_revoked_login_found():
    with bl.Sandbox() as sandbox:
        login = demo_login(sandbox)
        sandbox.revoke_tokens()
        refreshed = found(sandbox.base_url, auth=login)
        sandbox.revoke_grants()
        revoked = found(sandbox.base_url, auth=login)
    assert failed(refreshed) == []
    assert "it was refreshed and expires" in refreshed["token"].detail
    assert failed(revoked) == ["token"]
    assert "boardlot login" in revoked["token"].hint
    assert revoked["scopes"].detail == "not tried: token failed"


def test_a_login_that_was_forgotten_is_found(sandbox):
    login = demo_login(sandbox)
    login.logout()
    findings = found(sandbox.base_url, auth=login)
    assert failed(findings) == ["login"]
    assert "boardlot login" in findings["login"].hint


def test_credentials_of_another_service_are_found(sandbox):
    key = sandbox.api_key()
    with bl.Sandbox() as other:
        other.client(key)
        findings = found(sandbox.base_url, auth=key)
    assert failed(findings) == ["credentials"]


def test_a_bearer_token_is_tried(sandbox):
    findings = found(sandbox.base_url, auth=bl.BearerToken(SECRET))
    assert failed(findings) == ["token"] and list(findings) == [*WAY, "credentials", "token"]
    assert "get a new one for this base URL" in findings["token"].hint


def test_a_service_has_to_be_named():
    with pytest.raises(bl.ConfigError, match="base_url is missing"):
        doctor.examine()
