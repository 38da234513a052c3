"""The sites of all releases, combined: the newest at the root, each in a folder of its own."""

import json

import pytest
from site_versions import combine


def site(folder, text):
    (folder / "frames").mkdir(parents=True)
    for page in ("index.html", "frames/index.html"):
        (folder / page).write_text(text)
    return folder


def test_each_release_stays_where_it_was_published_and_the_newest_is_at_the_root(tmp_path):
    earlier, pages = tmp_path / "earlier", tmp_path / "pages"
    for version in ("0.2.0", "0.10.0", "0.9.1"):
        published = combine(version, site(tmp_path / version, version), earlier, pages)
    assert published == ["0.10.0", "0.9.1", "0.2.0"]
    for folder, version in ((".", "0.10.0"), ("0.9.1", "0.9.1"), ("0.2.0", "0.2.0")):
        assert (pages / folder / "frames" / "index.html").read_text() == version
    # What the header of each page offers, one folder above it.
    offered = json.loads((pages / "versions.json").read_text())
    assert [one["version"] for one in offered] == published
    assert [one["aliases"] for one in offered] == [["latest"], [], []]


def test_the_menu_of_versions_is_on_the_pages_that_have_versions_json_one_folder_above(tmp_path):
    pages = tmp_path / "pages"
    settings = '{"tags":null,"version":null}'
    combine("0.1.0", site(tmp_path / "site", settings), tmp_path / "earlier", pages)
    assert (pages / "index.html").read_text() == settings
    with_menu = '{"tags":null,"version":{"provider":"mike"}}'
    assert (pages / "0.1.0" / "frames" / "index.html").read_text() == with_menu


def test_what_is_no_release_is_not_published(tmp_path):
    with pytest.raises(ValueError, match=r"the version is '0.1.0rc1'; expected that of a release"):
        combine("0.1.0rc1", site(tmp_path / "site", "x"), tmp_path / "earlier", tmp_path / "pages")
    assert not (tmp_path / "earlier").exists()
