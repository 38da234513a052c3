"""The README's table is that of the benchmarks; pictures and versions are where they are named."""

import re

import boardlot as bl
import documented
import pytest

from benches import readme

from .test_pages import DOCS, ROOT

README = (ROOT / "README.md").read_text("utf-8")
RESULTS = (ROOT / "benches" / "results.md").read_text("utf-8")


def test_the_table_of_the_readme_is_that_of_the_benchmarks():
    lines = readme.lines(RESULTS)
    table = "\n".join([readme.HEAD, "|---|---:|---|---:|---|---:|", *lines])
    assert len(lines) == 5 and table in README
    # Also where boardlot is slower.
    assert any(float(ratio) < 1 for line in lines for ratio in re.findall(r"([\d.]+) x", line))


@pytest.mark.parametrize("picture", ["terminal.svg", "notebook.png"])
def test_a_picture_is_shown_and_small(picture):
    assert f"docs/pictures/{picture}" in README
    assert f"pictures/{picture}" in (DOCS / "index.md").read_text("utf-8")
    assert 1_000 < (DOCS / "pictures" / picture).stat().st_size <= 300_000


def test_the_readme_is_short():
    assert len(README.split()) <= 900


def test_links_of_the_readme_lead_to_files():
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", README)]
    assert len(links) > 30
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_site_has_the_version_of_the_package():
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert f"site_name: boardlot {bl.__version__}\n" in site


def test_every_method_links_to_its_guide_and_back():
    methods = {name for name in vars(bl.Client) if not name.startswith("_")} - {"close"}
    assert set(documented.GUIDES) <= methods
    for method in methods:
        guide = documented.GUIDES.get(method, "service")
        assert f"[boardlot.Client.{method}]" in (DOCS / f"{guide}.md").read_text("utf-8"), method


def test_the_docs_in_the_package_are_those_of_the_site():
    pytest.importorskip("markdown")
    import package_docs

    page = package_docs.PAGE.read_text("utf-8")
    assert page == package_docs.text(), "run `make package-docs`"
    # It needs no network, and leads nowhere that is not in it.
    assert not re.search(r"<(script|img|link)\b|url\(", page)
    ids = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= ids
