"""The WebDriver client itself, against a page of its own."""

import http.server
import threading

import pytest

from .system import chromium
from .webdriver import Browser

PAGE = b"""<!doctype html><html lang="en"><title>Page</title>
<form action="/next"><label>User name <input name="u"></label>
<label>Password <input type="password" name="p"></label>
<label><input type="checkbox" name="s" value="trade:read" checked> Read your orders</label>
<button name="decision" value="allow">Allow</button></form>
<script>document.title = "scripted"</script>"""


@pytest.fixture
def site():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_):
            pass

    seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", seen
        server.shutdown()


@pytest.mark.parametrize("script", [True, False])
def test_a_form_is_found_by_its_names_filled_in_and_sent(site, tmp_path, script):
    url, seen = site
    with Browser(tmp_path, *chromium(), script) as page:
        page.open(url)
        assert page.title == ("scripted" if script else "Page")
        (user,) = page.named("input", "user")
        assert user.role == "textbox" and user.label == "User name"
        user.type("demo")
        page.all("input[type=password]")[0].type("secret")
        (box,) = page.all("input[type=checkbox]")
        assert box.selected and box.role == "checkbox" and "orders" in box.label
        box.click()
        assert not box.selected
        page.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
        (button,) = page.named("button", "allow")
        button.click()
        page.wait(lambda: "/next" in page.url)
        assert page.url.endswith("/next?u=demo&p=secret&decision=allow")
    assert "/next?u=demo&p=secret&decision=allow" in seen
