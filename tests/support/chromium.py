"""A fresh Chromium of the system, driven by Selenium. Imported by fixtures: Selenium is large."""

import os
import re
from unittest.mock import patch

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from .addresses import held_port
from .system import ENVIRONMENT, chromium

FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-default-browser-check", "--disable-dev-shm-usage", "--window-size=1000,1300"),
]


class Browser(webdriver.Chrome):
    """One window with a profile of its own in `folder`; without `script` it runs no JavaScript."""

    def __init__(self, folder, script=True):
        browser, driver = chromium()
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for flag in [*FLAGS, f"--user-data-dir={folder / 'profile'}"]:
            options.add_argument(flag)
        if not script:
            content = {"profile.managed_default_content_settings.javascript": 2}
            options.add_experimental_option("prefs", content)
        # If Selenium is given the path of a driver, it does not look for one, and downloads none.
        log = str(folder / "chromedriver.log")
        # A proxy of the environment cannot reach the driver.
        proxies = patch.dict(os.environ, {"no_proxy": "localhost,127.0.0.1"})
        with held_port() as port, proxies:
            service = webdriver.ChromeService(driver, port, log_output=log, env=ENVIRONMENT)
            super().__init__(options, service)

    def emulate(self, width, height, scheme):
        """Draws pages as on a screen of this size, whose user prefers light or dark."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def all(self, selector):
        return self.find_elements(By.CSS_SELECTOR, selector)

    def named(self, selector, *words):
        """The elements that have one of the words in their accessible name, `name`, `value` or
        `id`."""
        pattern = re.compile("|".join(words), re.IGNORECASE)

        def names(element):
            yield element.accessible_name
            for name in ("name", "value", "id"):
                yield element.get_dom_attribute(name) or ""

        return [each for each in self.all(selector) if any(map(pattern.search, names(each)))]

    def text(self):
        (body,) = self.all("body")
        return body.text

    def press(self, keys):
        """Sends keys to the element that has the focus."""
        ActionChains(self).send_keys(keys).perform()

    def wait(self, ready):
        """Waits until `ready()` is true; returns what it was."""
        waiting = WebDriverWait(self, 90, 0.05, ignored_exceptions=[WebDriverException])
        return waiting.until(lambda _: ready(), "in vain")

    @staticmethod
    def fill(field, text):
        field.clear()
        field.send_keys(text)

    @staticmethod
    def gone(element):
        """True if the browser has left the page that the element was on."""
        try:
            element.is_enabled()
        except StaleElementReferenceException:
            return True
        return False
