"""The site as `make docs` builds it: its files, and its pages in a browser."""

import base64
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import boardlot as bl
import pytest
from run_notebooks import NOTEBOOKS

from .test_pages import DOCS, PAGES, ROOT

SITE = ROOT / "site"
ADDRESS = "https://boardlot.example.com/"
# Elements that reach beyond the window, except within what scrolls or is cut by itself.
TOO_WIDE = """
const width = document.documentElement.clientWidth;
const cut = element => ["auto", "scroll", "hidden", "clip"].includes(
  getComputedStyle(element).overflowX) || getComputedStyle(element).position === "fixed";
const wide = [...document.querySelectorAll("body *")].filter(element => {
  if (element.getBoundingClientRect().right <= width + 1) return false;
  for (let one = element; one && one !== document.body; one = one.parentElement)
    if (cut(one)) return false;
  return true;
});
const scrolls = document.documentElement.scrollWidth > width;
return [scrolls, wide.map(element => element.outerHTML.slice(0, 80))];
"""
# Cells that are unreadable strips: four times as high as wide.
STRIPS = """
return [...document.querySelectorAll(".md-typeset td")].filter(
  cell => cell.clientHeight > 4 * cell.clientWidth).map(cell => cell.innerText.slice(0, 60));
"""


# Blocks of code that scroll, and tables of which a part is cut.
SCROLLING = """
const all = "pre > code, .md-typeset__scrollwrap, .md-typeset table";
return [...document.querySelectorAll(all)].filter(
  one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText.slice(0, 60));
"""
# The groups of the menu, and whether each shows its pages.
GROUPS = """
return [...document.querySelectorAll(".md-nav--primary > .md-nav__list > .md-nav__item")].map(
  one => [one.querySelector("label, a").innerText.trim(),
          one.querySelector("input").checked]);
"""


@pytest.fixture(scope="module")
def site():
    zensical = shutil.which("zensical", path=Path(sys.executable).parent)
    if zensical is None:
        pytest.skip("zensical is not installed: make docs installs it")
    notebook_pages = pytest.importorskip("notebook_pages")
    notebook_pages.write()
    command = [zensical, "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return SITE


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    from ..support.chromium import Browser

    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def browser(chromium, address):
    """A browser at no page, as it is when it is new."""
    chromium.get("about:blank")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chromium.execute_cdp_cmd("Network.clearBrowserCache", {})
    # Such as the scheme that the pages had in an earlier test.
    kept = {"origin": address.rstrip("/"), "storageTypes": "all"}
    chromium.execute_cdp_cmd("Storage.clearDataForOrigin", kept)
    chromium.get_log("browser")
    return chromium


def pages():
    """The addresses of all pages, below that of the site."""
    for page in [*PAGES[1:], *(DOCS / "notebooks" / path.name for path in NOTEBOOKS)]:
        path = page.relative_to(DOCS).with_suffix("")
        yield "" if path.name == "index" else f"{path.as_posix()}/"


def test_the_sitemap_and_llms_txt_name_every_page(site):
    sitemap = (site / "sitemap.xml").read_text("utf-8")
    llms = (site / "llms.txt").read_text("utf-8")
    for page in pages():
        assert f"<loc>{ADDRESS}{page}</loc>" in sitemap
        assert f"<{ADDRESS}{page}index.md>" in llms
        assert (site / page / "index.md").is_file()


def test_llms_full_txt_has_the_pages_and_the_signatures(site):
    text = (site / "llms-full.txt").read_text("utf-8")
    for word in ("fills_history", "margin_lever_ratio", "-12006", "fetch_many", "PaginationError"):
        assert word in text


def test_search_finds_fields_errors_and_codes(site):
    found = json.loads((site / "search.json").read_text("utf-8"))["items"]
    errors = set(bl.errors.__all__)
    for word in {"margin_lever_ratio", "counter_broker_id", "-12006", *errors}:
        assert any(word in item["title"] + item["text"] for item in found), word
    titles = {item["title"] for item in found}
    assert {"fills_history", "HkIpo", "RateLimited"} <= {re.sub("<.*?>", "", one) for one in titles}


def test_pages_show_the_version_and_load_nothing_from_other_hosts(site):
    for page in pages():
        text = (site / page / "index.html").read_text("utf-8")
        header = text[text.index("<header") : text.index("</header>")]
        assert f"boardlot {bl.__version__}" in header
        loaded = re.findall(
            r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(https?:[^\" >]+)", text
        )
        assert [one for one in loaded if not one.startswith(ADDRESS)] == []


def test_a_method_leads_to_its_guide(site):
    text = (site / "api" / "clients" / "index.html").read_text("utf-8")
    assert re.search(r"See also:</strong> <a[^>]* href=\"?../../paging/", text)


def test_every_picture_has_a_text_for_who_cannot_see_it(site):
    pictures = 0
    for page in pages():
        text = (site / page / "index.html").read_text("utf-8")
        for picture in re.findall(r"<img\b[^>]*>", text):
            described = re.search(r'\balt=(?:"([^"]*)"|(\S+))', picture)
            assert described, (page, picture)
            words = described[1] or described[2]
            assert len(words) > 5, (page, picture)
            pictures += 1
    assert pictures > 10


def test_every_page_links_to_the_repository(site):
    (repository,) = re.findall(
        r'^Repository = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M
    )
    for page in pages():
        text = (site / page / "index.html").read_text("utf-8")
        footer = text[text.index("<footer") : text.index("</footer>")]
        assert repository in footer, page


@pytest.mark.parametrize("width", [1400, 390])
def test_on_the_first_pages_no_code_scrolls_and_no_table_is_cut(address, browser, width):
    browser.emulate(width, 900, "light")
    for page in ("", "install/"):
        browser.get(address + page)
        assert browser.execute_script(SCROLLING) == [], page


def test_the_menu_has_few_groups_and_only_that_of_the_page_is_open(address, browser):
    browser.emulate(1400, 900, "light")
    browser.get(address)
    groups = browser.execute_script(GROUPS)
    assert len(groups) <= 7
    assert [name for name, is_open in groups if is_open] == ["Start"]


def test_a_page_asks_for_nothing_that_is_not_there(address, browser):
    for page in ("", "notebooks/4-fills/", "api/clients/"):
        browser.get(address + page)
        browser.wait(lambda: browser.execute_script("return document.readyState") == "complete")
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


def test_charts_are_dark_in_the_dark(address, browser):
    browser.emulate(1400, 900, "dark")
    browser.get(f"{address}notebooks/4-fills/")
    look = "return getComputedStyle(document.querySelector('img[src$=\".png\"]')).filter"
    assert "invert" in browser.execute_script(look)


@pytest.mark.slow  # Every page four times.
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_scrolls_sideways_and_tables_are_readable(address, browser, width, scheme):
    browser.emulate(width, 900, scheme)
    seen = 0
    for page in pages():
        browser.get(address + page)
        assert browser.execute_script("return document.body.dataset.mdColorScheme") == (
            "slate" if scheme == "dark" else "default"
        )
        assert browser.execute_script(TOO_WIDE) == [False, []], page
        assert browser.execute_script(STRIPS) == [], page
        seen += 1
    assert seen == len(list(pages()))


def test_the_cheat_sheet_prints_on_one_page(address, browser):
    """A4 and Letter, with the page's own margins."""
    browser.get(f"{address}cheat-sheet/")
    for width, height in ((8.27, 11.69), (8.5, 11.0)):
        paper = {"paperWidth": width, "paperHeight": height, "preferCSSPageSize": True}
        printed = browser.execute_cdp_cmd("Page.printToPDF", paper)
        pages = re.findall(rb"/Type\s*/Page\b(?!s)", base64.b64decode(printed["data"]))
        assert len(pages) == 1
