"""A login in a real Chromium: the sandbox's consent page, and the callback page."""

from pathlib import Path

import boardlot as bl
import pytest

from ..support.browsers import browser_of
from ..support.callbacks import query_of
from ..support.logins import in_a_thread, scopes_of

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


def check(page):
    """What a person with a screen reader needs, on the consent page and the callback page."""
    assert page.all("html[lang]") and page.title.strip() and page.all("h1")
    assert not page.all("script"), "the page needs no script"
    for field in page.all("input:not([type=hidden]):not([type=submit]), select"):
        assert field.accessible_name.strip()
    for button in page.all(BUTTONS):
        assert button.aria_role == "button" and button.accessible_name.strip()


def press(page, label):
    """By the keyboard alone."""
    (button,) = page.named(BUTTONS, f"^{label}$")
    for _ in range(60):
        page.press(TAB)
        if page.switch_to.active_element == button:
            break
    page.press(ENTER)


@pytest.mark.parametrize("label", ["Allow", "Deny"])
def test_the_file_that_opens_the_browser_leads_to_the_page_and_back(page, sandbox, opened, label):
    options = {"store": bl.MemoryStore(), "timeout": 90.0}
    login = in_a_thread(lambda: bl.login(sandbox.base_url, **options))
    browser = browser_of(opened)
    file = Path(browser.arguments[0])
    page.get(file.as_uri())
    page.wait(lambda: page.named(BUTTONS, "^Allow$"))
    assert page.current_url == browser.url
    check(page)
    scopes = {box.get_dom_attribute("value") for box in page.all("input[type=checkbox]")}
    assert {"quote:read", "quote:write", "trade:read", "trade:write"} <= scopes
    press(page, label)
    callback = query_of(browser.url)["redirect_uri"]
    page.wait(lambda: page.current_url.startswith(callback) and page.text().strip())
    check(page)
    assert query_of(browser.url)["state"] not in page.page_source
    assert "close" in page.text().lower()
    if label == "Allow":
        assert scopes_of(login.result(90)) >= {"quote:read", "trade:read"}
    else:
        with pytest.raises(bl.OAuthError) as caught:
            login.result(90)
        assert caught.value.error == "access_denied"
    assert not file.exists()
