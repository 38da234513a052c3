"""The index shows the README of a version, rendered as the index does, with links to its tag."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
from html.parser import HTMLParser
from pathlib import Path

import index_page
import pytest
from placeholders import BEFORE_A_RELEASE, released

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REPOSITORY = "https://github.com/owner/boardlot"
PAGE = index_page.page(README, "1.2.3", REPOSITORY)


class Addresses(HTMLParser):
    """The targets of links and pictures in HTML."""

    def __init__(self, html):
        super().__init__()
        self.links, self.pictures = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.links += [attributes["href"]] if tag == "a" and "href" in attributes else []
        self.pictures += [attributes["src"]] if tag == "img" else []


@pytest.fixture(scope="module")
def html():
    markdown = pytest.importorskip("readme_renderer.markdown")
    rendered = markdown.render(PAGE)
    assert rendered is not None
    return rendered


def test_every_link_leads_to_a_file_of_the_tag(html):
    links = [link for link in Addresses(html).links if not link.startswith("#")]
    assert len(links) > 40
    of_the_tag = re.compile(rf"{REPOSITORY}/(blob|tree)/v1\.2\.3/([^#]+)(#.+)?")
    for link in links:
        kind, path, _ = of_the_tag.fullmatch(link).groups()
        assert (ROOT / path).is_dir() if kind == "tree" else (ROOT / path).is_file(), link


def test_the_pictures_have_addresses(html):
    assert Addresses(html).pictures == [
        f"{REPOSITORY}/raw/v1.2.3/docs/pictures/notebook.png",
        f"{REPOSITORY}/raw/v1.2.3/docs/pictures/terminal.svg",
    ]


def test_headings_tables_and_code_are_rendered(html):
    assert re.search(r"<h1[^>]*>boardlot<", html)
    assert html.count("<table>") == 2 and html.count("<pre") >= 6
    # Nothing of Markdown is left as text, as from a link that was not one.
    assert not re.search(
        r"\]\(|\*\*|^#|^\|", re.sub(r"<pre.*?</pre>", "", html, flags=re.DOTALL), re.M
    )


def test_the_page_says_how_to_install_a_release(html):
    assert 'pip install "boardlot[cli,pandas]"' in PAGE
    assert "make " not in PAGE and "checkout" not in PAGE and "no release" not in PAGE
    assert [text for text in BEFORE_A_RELEASE["README.md"] if text in PAGE] == []


@pytest.mark.parametrize("name", BEFORE_A_RELEASE)
def test_a_sentence_that_is_true_only_before_a_release_is_there_or_that_of_a_release(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for before, after in BEFORE_A_RELEASE[name].items():
        assert (before in text) != (after.strip() in text and before not in text), before
        assert before not in released(name, text) and after in released(name, text)


def test_links_that_are_complete_stay_as_they_are():
    text = "[a](https://example.com/a) [b](#b) ![c](https://example.com/c.png) [d](mailto:d@e.com)"
    assert index_page.page(text, "1.2.3", REPOSITORY) == text


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what git knows: the README of this checkout may be read by other tests."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("the files are not in a repository")
    folder = tmp_path_factory.mktemp("checkout")
    for name in listed.stdout.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    (folder / "THIRD-PARTY-NOTICES").touch()
    return folder


def run(checkout, *command):
    command = [sys.executable, "tools/index_page.py", *command]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True)


def test_a_source_distribution_has_the_page_and_the_readme_is_as_it_was(checkout, tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    done = run(checkout, maturin, "sdist", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        (name,) = [name for name in files.getnames() if name.endswith("/PKG-INFO")]
        metadata = email.message_from_bytes(files.extractfile(name).read())
    page = index_page.page(README, metadata["Version"], index_page.repository())
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert metadata.get_payload(decode=True).decode().strip() == page.strip()
    assert (checkout / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()


@pytest.mark.parametrize("code", [0, 3])
def test_the_readme_is_as_it_was_whether_the_command_succeeds_or_fails(checkout, code):
    program = f"import sys; print('tree/v' in open('README.md').read()); sys.exit({code})"
    done = run(checkout, sys.executable, "-c", program)
    assert (done.stdout, done.returncode) == ("True\n", code)
    assert (checkout / "README.md").read_text(encoding="utf-8") == README


@pytest.mark.skipif(os.name == "nt", reason="a process of Windows cannot be asked to end")
def test_the_readme_is_as_it_was_when_the_builder_is_asked_to_end(checkout):
    program = "import os, signal; os.kill(os.getppid(), signal.SIGTERM); input()"
    command = [sys.executable, "tools/index_page.py", sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=checkout, stdin=subprocess.PIPE) as builder:
        assert builder.wait() == 128 + 15
    assert (checkout / "README.md").read_text(encoding="utf-8") == README
