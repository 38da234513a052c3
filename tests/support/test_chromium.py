"""The browser that tests drive is the system's."""

from .system import chromium


def test_a_browser_starts_without_looking_for_a_driver(tmp_path, monkeypatch):
    chromium()
    from selenium.webdriver.common.selenium_manager import SeleniumManager

    from .chromium import Browser

    def download(*_):
        raise AssertionError("Selenium looks for a driver")

    monkeypatch.setattr(SeleniumManager, "binary_paths", download)
    with Browser(tmp_path) as page:
        page.get("data:text/html,<title>Page</title><input aria-label='User name' id=u>")
        (field,) = page.named("input", "user")
        page.fill(field, "demo")
        assert (page.title, field.get_property("value")) == ("Page", "demo")
