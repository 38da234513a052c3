"""A small client of W3C WebDriver, and Chromium started by it. Standard library only."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import threading
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# As it was before any test put stand-ins for browsers into it.
ENVIRONMENT = dict(os.environ)
FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-default-browser-check", "--disable-dev-shm-usage", "--window-size=1000,1300"),
]


def programs():
    """Paths of Chromium and its driver; None for what is not there."""
    *browsers, driver = (
        shutil.which(name, path=ENVIRONMENT.get("PATH"))
        for name in ("chromium", "chromium-browser", "google-chrome", "chromedriver")
    )
    return next(filter(None, browsers), None), driver


class WebDriverError(Exception):
    """What the driver said."""

    def __init__(self, told):
        super().__init__(f"{told.get('error')}: {told.get('message')}")
        self.error = told.get("error")


class Browser:
    """One window of a fresh Chromium."""

    def __init__(self, folder, browser, driver, script=True):
        self._folder = folder
        self._programs = browser, driver
        self._script = script

    def __enter__(self):
        browser, driver = self._programs
        self._log = (self._folder / "chromedriver.log").open("w")
        self._driver = subprocess.Popen(
            [driver, "--port=0"],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=ENVIRONMENT,
        )
        try:
            self._port = self._port_of_driver()
            flags = [*FLAGS, f"--user-data-dir={self._folder / 'profile'}"]
            options = {"binary": browser, "args": flags}
            if not self._script:
                content = {"profile.managed_default_content_settings.javascript": 2}
                options["prefs"] = content
            wanted = {"browserName": "chrome", "goog:chromeOptions": options}
            self._session = None
            told = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{told['sessionId']}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if getattr(self, "_session", None):
            with contextlib.suppress(OSError, WebDriverError, http.client.HTTPException):
                self._ask("DELETE", self._session)
        self._driver.terminate()
        try:
            self._driver.wait(10)
        except subprocess.TimeoutExpired:
            self._driver.kill()
            self._driver.wait()
        self._driver.stdout.close()
        self._log.close()

    def _port_of_driver(self):
        for line in self._driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                threading.Thread(target=self._driver.stdout.read, daemon=True).start()
                return int(found.group(1))
        raise RuntimeError("chromedriver did not start")

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            data = json.dumps(body or {}) if method == "POST" else None
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, data, headers)
            reply = connection.getresponse()
            told = json.loads(reply.read())["value"]
        finally:
            connection.close()
        if reply.status != 200:
            raise WebDriverError(told)
        return told

    def _do(self, method, path, body=None):
        return self._ask(method, self._session + path, body)

    def open(self, url):
        self._do("POST", "/url", {"url": url})

    @property
    def url(self):
        return self._do("GET", "/url")

    @property
    def source(self):
        return self._do("GET", "/source")

    @property
    def title(self):
        return self._do("GET", "/title")

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._do("GET", "/screenshot")))

    def run(self, script, *arguments):
        """What the body of a JavaScript function returns."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def emulate(self, width, height, scheme):
        """Draws pages as on a screen of this size, whose user prefers light or dark."""
        for command, parameters in {
            "Emulation.setDeviceMetricsOverride": {
                **{"width": width, "height": height, "deviceScaleFactor": 1},
                "mobile": width < 600,
            },
            "Emulation.setEmulatedMedia": {
                "features": [{"name": "prefers-color-scheme", "value": scheme}]
            },
        }.items():
            self._do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def all(self, selector):
        found = self._do("POST", "/elements", {"using": "css selector", "value": selector})
        return [Element(self, each[ELEMENT]) for each in found]

    def text(self):
        (body,) = self.all("body")
        return body.text

    def press(self, keys):
        """Keys for whatever has the focus."""
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def focused(self):
        return Element(self, self._do("GET", "/element/active")[ELEMENT])

    def named(self, selector, *words):
        """The elements whose accessible name has one of the words, or `name` or `value` has."""
        pattern = re.compile("|".join(words), re.IGNORECASE)
        known = ("name", "value", "id")
        return [
            each
            for each in self.all(selector)
            if pattern.search(each.label) or any(pattern.search(each[name]) for name in known)
        ]

    def wait(self, ready, seconds=15.0):
        """Waits until `ready()` is true; gives what it was."""
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(WebDriverError):
                if told := ready():
                    return told
            if time.monotonic() > end:
                raise AssertionError(f"in vain at {self.url}\n{self.text()}")
            time.sleep(0.05)


class Element:
    def __init__(self, browser, reference):
        self._do = lambda method, path, body=None: browser._do(
            method, f"/element/{reference}{path}", body
        )
        self.reference = reference

    def __getitem__(self, name):
        return self._do("GET", f"/attribute/{name}") or ""

    def __eq__(self, other):
        return isinstance(other, Element) and self.reference == other.reference

    def __hash__(self):
        return hash(self.reference)

    @property
    def label(self):
        return self._do("GET", "/computedlabel")

    @property
    def role(self):
        return self._do("GET", "/computedrole")

    @property
    def text(self):
        return self._do("GET", "/text")

    @property
    def selected(self):
        return self._do("GET", "/selected")

    @property
    def shown(self):
        return self._do("GET", "/displayed")

    def gone(self):
        """Whether the page that it stood on has been left."""
        try:
            self.role  # noqa: B018
        except WebDriverError:
            return True
        return False

    def click(self):
        self._do("POST", "/click")

    def type(self, text):
        self._do("POST", "/clear")
        self._do("POST", "/value", {"text": text})
