"""The package's metadata: one version everywhere, every extra explained, placeholders named."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from placeholders import PLACEHOLDER, placeholders

ROOT = Path(__file__).parents[2]
GENERATED = "Generated from the table of endpoints by `make generate`"
LINES_MAX = 450


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["CITATION.cff", "tools/conda/recipe.yaml"])
def test_the_version_is_that_of_the_crate(name):
    crate = re.search(r'^version = "(.+)"$', read("Cargo.toml"), re.M)
    written = re.search(r'^ *version: "?([\d.]+)"?$', read(name), re.M)
    assert crate and written and crate[1] == written[1]


def test_every_extra_is_explained_on_the_start_page():
    section = read("pyproject.toml").partition("[project.optional-dependencies]")[2]
    extras = re.findall(r"^([a-z]+) = \[", section.partition("\n[")[0], re.M)
    table = re.findall(r"^\| (`.+`) \|", read("docs/index.md"), re.M)
    explained = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
    assert len(extras) > 10 and set(extras) <= explained


def test_the_release_checklist_names_every_file_with_a_placeholder():
    found = placeholders()
    page = read("CONTRIBUTING.md").partition("## A release")[2].partition("### Each time")[0]
    named = {name for name in re.findall(r"`([^`]+)`", page) if (ROOT / name).is_file()}
    # Once the publisher has filled them in, none is left but the hash in the recipe.
    assert set(found) in (
        named - {"SECURITY.md", "tools/placeholders.py"},
        {"tools/conda/recipe.yaml"},
        set(),
    )


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_every_path_that_a_page_for_contributors_names_exists(page):
    folders = "src|crates|python|tests|docs|tools|benches|fuzz|notebooks|examples|requirements"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", read(page))
    assert len(named) > 10 and [path for path in named if not (ROOT / path).exists()] == []


def test_every_address_of_the_project_is_a_placeholder_or_none_is():
    urls = read("pyproject.toml").partition("[project.urls]")[2].partition("\n[")[0]
    addresses = re.findall(r'= "(https://\S+)"', urls)
    assert len(addresses) == 5
    filled_in = {PLACEHOLDER.search(address) is None for address in addresses}
    assert len(filled_in) == 1
    in_site = PLACEHOLDER.search(read("mkdocs.yml")) is None
    assert filled_in == {in_site}


def test_no_file_has_more_lines_than_the_style_allows():
    assert f"at most {LINES_MAX} lines" in " ".join(read("STYLE.md").split())
    folders = ["src", "python", "tests", "docs"]
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("the files are not in a repository")
    texts = {
        name: read(name)
        for name in listed.stdout.split("\0")
        if name.endswith((".py", ".rs", ".md")) and (ROOT / name).is_file()
    }
    assert len(texts) > 500
    long = {name for name, text in texts.items() if text.count("\n") > LINES_MAX}
    generated = {name for name, text in texts.items() if GENERATED in text[:500]}
    assert long - generated == set()


def test_the_development_container_is_json_with_comments():
    text = re.sub(r"^\s*//.*$", "", read(".devcontainer/devcontainer.json"), flags=re.M)
    assert json.loads(text)["postCreateCommand"] == "make help"
