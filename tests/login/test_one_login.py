"""One login, by hand: it is stored, refreshed, used by the next program, and ended."""

import boardlot as bl
import pytest


@pytest.fixture
def sandbox():
    with bl.Sandbox() as running:
        yield running


@pytest.fixture
def store(tmp_path):
    return bl.EncryptedFileStore(tmp_path / "tokens", "a passphrase")


@pytest.fixture
def oauth(sandbox, store):
    """A login of the sandbox's user, who agrees in place of a browser."""
    flow = bl.begin_login(sandbox.base_url, store=store)
    return flow.finish(sandbox.authorize_demo_user(flow.url))


def test_a_login_opens_the_service(sandbox, oauth):
    with bl.Client(sandbox.base_url, auth=oauth) as client:
        assert len(client.dividends("HK.00700")) > 0


def test_tokens_that_expired_are_refreshed(sandbox, oauth):
    sandbox.revoke_tokens()
    with bl.Client(sandbox.base_url, auth=oauth) as client:
        assert len(client.dividends("HK.00700")) > 0


def test_the_next_program_needs_no_login(sandbox, store, oauth):
    again = bl.OAuth(oauth.client_id, store=store, base_url=sandbox.base_url)
    with bl.Client(sandbox.base_url, auth=again) as client:
        assert len(client.dividends("HK.00700")) > 0


def test_after_a_logout_a_login_is_required(sandbox, oauth):
    oauth.logout()
    with bl.Client(sandbox.base_url, auth=oauth) as client, pytest.raises(bl.LoginRequired):
        client.dividends("HK.00700")


def test_no_file_has_a_token_in_plain_text(tmp_path, oauth):
    content = (tmp_path / "tokens").read_bytes()
    assert b"access_token" not in content and oauth.client_id.encode() not in content
