"""A login in a real Chromium: the sandbox's consent page, and the callback page."""

from pathlib import Path
from urllib.parse import urlsplit

import boardlot as bl
import pytest

from ..support.browsers import opened_with
from ..support.callbacks import listener_address, query_of
from ..support.logins import Waiting, scopes_of, waiting

BUTTONS = "button, input[type=submit]"
TAB, SPACE, ENTER = "\ue004", " ", "\ue007"


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def page(tmp_path, request):
    from ..support.chromium import Browser

    with Browser(tmp_path, request.param) as running:
        yield running


@pytest.fixture
def sandbox():
    with bl.Sandbox(seed=3) as running:
        yield running


def begun(sandbox):
    flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore(), timeout=90.0)
    return flow, waiting(flow)


def allowing(page):
    return page.named(BUTTONS, "allow", "authori[sz]e", "agree")


def denying(page):
    return page.named(BUTTONS, "deny", "refuse", "cancel")


def check_form(page):
    """What a person with a screen reader needs on any page with a form."""
    assert page.all("html[lang]"), "the page does not say its language"
    assert page.title.strip()
    assert page.all("h1"), "the page has no heading"
    assert not page.all("script"), "the page needs no script"
    for field in page.all("input:not([type=hidden]):not([type=submit]), select"):
        assert field.accessible_name.strip(), f"a field without a name: {field['name']}"
    for button in page.all(BUTTONS):
        assert button.aria_role == "button" and button.accessible_name.strip()


def opened_page(page, flow, tmp_path):
    """Opens the flow's URL: the page on which the user decides."""
    page.get(flow.url)
    check_form(page)
    page.save_screenshot(str(tmp_path / "consent.png"))


def boxes(page):
    found = {box.get_dom_attribute("value"): box for box in page.all("input[type=checkbox]")}
    assert {"quote:read", "quote:write", "trade:read", "trade:write"} <= set(found)
    for value, box in found.items():
        assert box.aria_role == "checkbox"
        # The meaning, not only the bare value.
        assert len(box.accessible_name) > len(value) or box.accessible_name.strip() != value
    return found


def landed(page, flow, tmp_path, name):
    """The browser is on the callback page, which says what happened."""
    port, _ = listener_address(flow)
    page.wait(lambda: urlsplit(page.current_url).port == port)
    page.wait(lambda: page.text().strip())
    page.save_screenshot(str(tmp_path / f"{name}.png"))
    assert page.title.strip() and page.all("h1")
    assert "close" in page.text().lower()
    assert not page.all("script")
    assert query_of(flow.url)["state"] not in page.page_source
    return page.text().lower()


def test_a_login_without_trade_read_reads_quotes_and_may_not_trade(page, sandbox, tmp_path):
    flow, login = begun(sandbox)
    opened_page(page, flow, tmp_path)
    for scope, box in boxes(page).items():
        if box.is_selected() == (scope == "trade:read"):
            box.click()
    (button,) = allowing(page)
    button.click()
    text = landed(page, flow, tmp_path, "allowed")
    assert "error" not in text and "denied" not in text
    oauth = login.get()
    assert "quote:read" in scopes_of(oauth) and "trade:read" not in scopes_of(oauth)
    with bl.Client(sandbox.base_url, auth=oauth) as client:
        assert len(client.reference_futures("HK.HSImain")) > 0
        assert len(client.dividends("HK.00700")) > 0
        for refused in (
            lambda: client.sim_orders(sandbox.accounts["sim"][0]),
            lambda: list(client.fills_history(sandbox.accounts["trade"][0], "HK")),
        ):
            with pytest.raises(bl.PermissionDenied):
                refused()


def test_the_file_that_opens_the_browser_leads_to_the_page(page, sandbox, opened, tmp_path):
    login = Waiting(lambda: bl.login(sandbox.base_url, store=bl.MemoryStore(), timeout=90.0))
    (browser,) = opened_with(opened)
    (file,) = browser.arguments
    page.get(Path(file).as_uri())
    page.wait(lambda: allowing(page))
    assert page.current_url == browser.url
    (button,) = allowing(page)
    button.click()
    assert login.get().scopes
    assert not Path(file).exists()


def test_a_login_that_is_denied_says_so(page, sandbox, tmp_path):
    flow, login = begun(sandbox)
    opened_page(page, flow, tmp_path)
    boxes(page)
    (button,) = denying(page)
    button.click()
    landed(page, flow, tmp_path, "denied")
    with pytest.raises(bl.OAuthError) as caught:
        login.get()
    assert caught.value.error == "access_denied"
    assert not isinstance(caught.value, bl.LoginRequired) or caught.value.hint
    assert not [seen for seen in sandbox.requests if "token" in str(seen)]


def test_a_login_works_by_keyboard_alone(page, sandbox, tmp_path):
    flow, login = begun(sandbox)
    page.get(flow.url)
    port, _ = listener_address(flow)
    for _ in range(60):
        if urlsplit(page.current_url).port == port:
            break
        page.press(TAB)
        here = page.switch_to.active_element
        kind, role = here.get_dom_attribute("type"), here.aria_role
        if kind == "checkbox" and not here.is_selected():
            page.press(SPACE)
        elif role == "button" and here not in denying(page):
            page.press(ENTER)
            # The next page comes when it comes: until then the elements of this one go stale.
            page.wait(lambda here=here: page.gone(here))
    landed(page, flow, tmp_path, "allowed")
    assert "trade:read" in scopes_of(login.get())


def test_an_unknown_client_gets_a_page_and_no_redirect(page, sandbox, tmp_path):
    flow, login = begun(sandbox)
    port, _ = listener_address(flow)
    known = query_of(flow.url)["client_id"]
    page.get(flow.url.replace(known, "unknown"))
    page.save_screenshot(str(tmp_path / "unknown.png"))
    assert urlsplit(page.current_url).port != port and page.text().strip()
    assert not page.all(BUTTONS)
    # The login continues: the page that was requested first still works.
    assert not login.over(0.3)
    page.get(flow.url)
    assert allowing(page)
