"""A login in a real Chromium: the sandbox's consent page, and the callback page."""

from pathlib import Path
from urllib.parse import urlsplit

import boardlot as bl
import pytest

from ..support.browsers import browser_of
from ..support.callbacks import listener_address, query_of
from ..support.logins import Waiting, scopes_of, waiting

BUTTONS = "button, input[type=submit]"
TAB, ENTER = "\ue004", "\ue007"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from ..support.chromium import Browser

    with Browser(tmp_path_factory.mktemp("browser"), script=False) as running:
        yield running


@pytest.fixture
def sandbox():
    with bl.Sandbox(seed=3) as running:
        yield running


@pytest.fixture
def flow(sandbox):
    flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore(), timeout=90.0)
    yield flow
    flow.cancel()


def visit(page, flow):
    """The consent page, with what a person with a screen reader needs."""
    page.get(flow.url)
    assert page.all("html[lang]") and page.title.strip() and page.all("h1")
    assert not page.all("script"), "the page needs no script"
    for field in page.all("input:not([type=hidden]):not([type=submit]), select"):
        assert field.accessible_name.strip()
    for button in page.all(BUTTONS):
        assert button.aria_role == "button" and button.accessible_name.strip()


def boxes(page):
    """The scopes that can be allowed, each beside its value."""
    found = {box.get_dom_attribute("value"): box for box in page.all("input[type=checkbox]")}
    assert {"quote:read", "quote:write", "trade:read", "trade:write"} <= set(found)
    for value, box in found.items():
        assert box.aria_role == "checkbox" and value in box.accessible_name
    return found


def press(page, label):
    (button,) = page.named(BUTTONS, f"^{label}$")
    button.click()


def landed(page, flow):
    """The text of the callback page, which says what happened."""
    port, _ = listener_address(flow)
    page.wait(lambda: urlsplit(page.current_url).port == port and page.text().strip())
    assert page.title.strip() and page.all("h1") and not page.all("script")
    assert query_of(flow.url)["state"] not in page.page_source
    assert "close" in page.text().lower()
    return page.text().lower()


def test_a_login_without_trade_read_reads_quotes_and_may_not_trade(page, sandbox, flow):
    login = waiting(flow)
    visit(page, flow)
    for scope, box in boxes(page).items():
        if box.is_selected() == (scope == "trade:read"):
            box.click()
    press(page, "Allow")
    text = landed(page, flow)
    assert "error" not in text and "denied" not in text
    oauth = login.get()
    assert "quote:read" in scopes_of(oauth) and "trade:read" not in scopes_of(oauth)
    with bl.Client(sandbox.base_url, auth=oauth) as client:
        assert len(client.reference_futures("HK.HSImain")) > 0
        with pytest.raises(bl.PermissionDenied):
            client.sim_orders(sandbox.accounts["sim"][0])


def test_the_file_that_opens_the_browser_leads_to_the_page(page, sandbox, opened):
    login = Waiting(lambda: bl.login(sandbox.base_url, store=bl.MemoryStore(), timeout=90.0))
    browser = browser_of(opened)
    file = Path(browser.arguments[0])
    page.get(file.as_uri())
    page.wait(lambda: page.named(BUTTONS, "^Allow$"))
    assert page.current_url == browser.url
    press(page, "Deny")
    with pytest.raises(bl.OAuthError):
        login.get()
    assert not file.exists()


def test_a_login_that_is_denied_says_so(page, sandbox, flow):
    login = waiting(flow)
    visit(page, flow)
    press(page, "Deny")
    landed(page, flow)
    with pytest.raises(bl.OAuthError) as caught:
        login.get()
    assert caught.value.error == "access_denied"
    assert not [seen for seen in sandbox.requests if "token" in str(seen)]


def test_a_login_works_by_keyboard_alone(page, flow):
    login = waiting(flow)
    visit(page, flow)
    (allow,) = page.named(BUTTONS, "^Allow$")
    for _ in range(60):
        page.press(TAB)
        if page.switch_to.active_element == allow:
            break
    page.press(ENTER)
    landed(page, flow)
    assert "quote:read" in scopes_of(login.get())
