"""Promises 7 and 8: the verifier, the registration, and the browser."""

import math
import re
import stat
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import boardlot as bl
import pytest

from ..support.authorization_server import challenge_of
from ..support.browsers import browser_of, opened_with
from ..support.callbacks import listener_address, query_of, visit
from ..support.clients import client_of
from ..support.logins import begin, in_a_thread, quotes
from ..support.processes import run_python
from ..support.service import Fault
from ..support.threads import wait_until

UNRESERVED = re.compile(r"[A-Za-z0-9._~-]{43}")
AUTHORIZATION = re.compile(r"http://127\.0\.0\.1:\d+/oauth2/authorize/confirm\?\S+")
QUERY = {
    *("client_id", "code_challenge", "code_challenge_method", "redirect_uri", "response_type"),
    "state",
}


@pytest.mark.parametrize("number", [150, pytest.param(100_000, marks=pytest.mark.slow)])
def test_security_07_each_verifier_is_new_and_of_the_grammar(server, number):
    store, verifiers = bl.MemoryStore(), []
    for _ in range(number):
        flow = begin(server, store)
        query = query_of(flow.url)
        flow.finish(server.authorize(flow.url))
        verifiers.append(server.received[-1].form["code_verifier"])
        assert query["code_challenge_method"] == "S256"
        assert query["code_challenge"] == challenge_of(verifiers[-1])
        assert verifiers[-1] not in flow.url
        server.received.clear()
    assert all(UNRESERVED.fullmatch(verifier) for verifier in verifiers)
    assert len(set(verifiers)) == number
    # 43 characters of 6 bits (the last has 4): 32 bytes, if nearly every value is seen.
    seen = [len(set(column)) for column in zip(*verifiers, strict=True)]
    assert sum(map(math.log2, seen)) >= 240


def logging_in(server, **options):
    options = {"store": bl.MemoryStore(), "timeout": 90.0, **options}
    return in_a_thread(lambda: bl.login(server.base_url, **options))


def test_security_08_other_users_do_not_see_the_url_of_which_the_browser_gets_one(server, opened):
    """They see the arguments of every program: the browser is opened with a private file."""
    login = logging_in(server)
    browser = browser_of(opened)
    (argument,) = browser.arguments
    assert browser.url.startswith(f"{server.base_url}/oauth2/authorize/confirm?")
    query = query_of(browser.url)
    assert set(query) == QUERY
    assert "://" not in argument and argument.endswith(".html")
    assert query["state"] not in argument and query["code_challenge"] not in argument
    assert [stat.S_IMODE(mode) for mode in browser.modes] == [0o600]
    assert Path(argument).exists()
    visit(browser.url)
    assert list(quotes(client_of(server, login.result(90)))) == []
    assert not Path(argument).exists(), "it is removed after the login"
    assert len(opened_with(opened)) == 1


@pytest.mark.parametrize("end", ["cancelled", "no time left"])
def test_security_08_the_file_is_removed_however_the_login_ends(server, opened, end):
    login = logging_in(server, timeout=3.0 if end == "no time left" else 90.0)
    browser = browser_of(opened)
    if end == "cancelled":
        declined = {"error": "access_denied", "state": query_of(browser.url)["state"]}
        visit(f"{query_of(browser.url)['redirect_uri']}?{urlencode(declined)}")
    with pytest.raises(bl.BoardlotError):
        login.result(90)
    assert not Path(browser.arguments[0]).exists()


def test_security_08_a_browser_of_a_snap_can_read_the_file(server, opened, tmp_path, monkeypatch):
    """It reads what is in the home folder and not hidden; without one, temporary files will do."""
    for home, expected in [(tmp_path, tmp_path), (tmp_path / "missing", tempfile.gettempdir())]:
        monkeypatch.setenv("HOME", str(home))
        login = logging_in(server)
        browser = browser_of(opened)
        assert Path(browser.arguments[0]).parent == Path(expected)
        visit(browser.url)
        login.result(90)
        for file in opened.iterdir():
            file.unlink()


def test_security_08_no_browser_is_opened_if_none_is_wanted(server, opened, capfd):
    login = logging_in(server, open_browser=False)
    printed = []

    def url():
        captured = capfd.readouterr()
        printed.extend([captured.out, captured.err])
        return AUTHORIZATION.search("".join(printed))

    visit(wait_until(url).group())
    login.result(90)
    assert opened_with(opened) == []


@pytest.mark.parametrize(
    "client_id",
    [
        "a b$(touch PWNED)`touch PWNED`;touch PWNED|touch PWNED&touch PWNED",
        "x&redirect_uri=https://evil.example/&state=known#fragment?y=1",
        "'\"><script>-oProxyCommand=touch PWNED",
    ],
)
def test_security_08_a_hostile_client_id_stays_in_the_url(
    server, client_id, opened, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    server.client_id = lambda: client_id
    login = logging_in(server)
    browser = browser_of(opened)
    assert query_of(browser.url)["client_id"] == client_id
    assert set(query_of(browser.url)) == QUERY
    assert "<script" not in browser.pages[0]
    visit(browser.url)
    login.result(90)
    assert not list(tmp_path.rglob("PWNED*"))


def test_security_08_addresses_of_the_registration_response_are_not_believed(server):
    evil = "file:///etc/passwd"
    server.faults["register"] = Fault(
        change={
            "authorization_endpoint": evil,
            "token_endpoint": "http://192.0.2.1/",
            "registration_client_uri": evil,
            "redirect_uris": ["https://evil.example/"],
        }
    )
    flow = begin(server)
    assert flow.url.startswith(server.base_url + "/")
    assert query_of(flow.url)["redirect_uri"].startswith("http://127.0.0.1:")
    assert flow.finish(server.authorize(flow.url)).scopes


def test_security_08_without_a_browser_the_url_and_the_way_through_ssh_are_printed(
    server, tmp_path
):
    code = """
        import sys
        import boardlot as bl
        try:
            bl.login(sys.argv[1], store=bl.MemoryStore(), timeout=1.0)
        except bl.RequestTimeout as error:
            print(type(error).__name__)
        """
    empty = {"PATH": str(tmp_path), "BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    out, err = run_python(code, server.base_url, env=empty)
    printed = out + err
    (found,) = set(AUTHORIZATION.findall(printed))
    port = listener_address(type("Flow", (), {"url": found}))[0]
    assert re.search(rf"ssh .*-L *(127\.0\.0\.1:)?{port}:127\.0\.0\.1:{port}", printed), printed
    assert "callback?" in printed, "what to paste if there is no way for the callback"


@pytest.mark.parametrize("secret", [7, ["a"], "line\nbreak"])
def test_a_registration_with_an_unusable_secret_is_rejected(server, secret):
    server.faults["register"] = Fault(change={"client_secret": secret})
    with pytest.raises(bl.ProtocolError, match="client_secret"):
        begin(server, confidential=True)
