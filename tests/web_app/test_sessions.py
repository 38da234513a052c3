"""The sessions of the example: what is left when one ends by itself."""

import json
import sqlite3

import boardlot as bl
import pytest

from ..support.applications import REDIRECT
from ..support.processes import ROOT


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """The example with one user, who has logged in."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    from web_app.app import Pages
    from web_app.sessions import Sessions

    with bl.Sandbox(seed=1) as sandbox:
        registered = bl.register_client(
            sandbox.base_url, redirect_uris=[REDIRECT], confidential=True
        )
        settings = {
            "base_url": sandbox.base_url,
            "redirect_uri": REDIRECT,
            "client_id": registered.client_id,
            "client_secret": registered.client_secret,
        }
        pages = Pages(settings, bl.MemoryStore(), Sessions(tmp_path / "sessions.db"))
        begun = pages._app.authorization_url()
        pages._app.fetch_token(
            sandbox.authorize_demo_user(begun.url),
            state=begun.state,
            code_verifier=begun.code_verifier,
            user="alice",
        )
        pages._sessions.create({"user": "alice"})
        yield pages


def expire(path):
    with sqlite3.connect(path) as database:
        database.execute("update sessions set until = 0")


def kept(path):
    with sqlite3.connect(path) as database:
        return [json.loads(data) for (data,) in database.execute("select data from sessions")]


def test_a_session_that_expires_leaves_no_tokens(pages, tmp_path):
    pages._log_out_expired()
    assert pages._app.auth(user="alice").scopes
    expire(tmp_path / "sessions.db")
    pages._sessions.create({"state": "s"})
    pages._log_out_expired()
    with pytest.raises(bl.LoginRequired):
        pages._app.auth(user="alice")
    assert kept(tmp_path / "sessions.db") == [{"state": "s"}]


def test_a_session_is_kept_until_its_tokens_are_deleted(pages, tmp_path, monkeypatch):
    expire(tmp_path / "sessions.db")

    def fails(self):
        raise bl.StoreError("busy")

    with monkeypatch.context() as patched:
        patched.setattr("web_app.app.bl.OAuth", lambda **_: type("Busy", (), {"logout": fails})())
        pages._log_out_expired()
    assert kept(tmp_path / "sessions.db") == [{"user": "alice"}]
    pages._log_out_expired()
    assert kept(tmp_path / "sessions.db") == []
