"""Combines a site with those of earlier releases: `site_versions.py VERSION SITE EARLIER PAGES`.

PAGES gets the newest site at its root, each release in a folder of its name, and `versions.json`,
from which the header of the pages in these folders reads the versions to offer. EARLIER is a folder
with the archive of each release's site, `site-VERSION.tar.gz`, as this program writes it; the
archive of VERSION is added.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tarfile
from pathlib import Path

# Parts of a page's settings. The menu looks for `versions.json` one folder above the site, where
# the root has none.
WITHOUT_MENU, WITH_MENU = '"version":null', '"version":{"provider":"mike"}'
ARCHIVE = re.compile(r"site-(\d+\.\d+\.\d+)\.tar\.gz")


def combine(version: str, site: Path, earlier: Path, pages: Path) -> list[str]:
    """Write PAGES, and return the versions, the newest first.

    Raises:
        ValueError: The version is not that of a release.
    """
    if not ARCHIVE.fullmatch(name := f"site-{version}.tar.gz"):
        raise ValueError(f"the version is {version!r}; expected that of a release, such as '1.2.0'")
    earlier.mkdir(exist_ok=True)
    with tarfile.open(earlier / name, "w:gz") as archive:
        archive.add(site, arcname=".")
    found = [match[1] for one in earlier.iterdir() if (match := ARCHIVE.fullmatch(one.name))]
    versions = sorted(found, key=lambda one: [int(part) for part in one.split(".")], reverse=True)
    shutil.rmtree(pages, ignore_errors=True)
    for one in versions:
        for target in (pages / one, *([pages] if one == versions[0] else [])):
            with tarfile.open(earlier / f"site-{one}.tar.gz") as archive:
                archive.extractall(target, filter="data")
        for page in (pages / one).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace(WITHOUT_MENU, WITH_MENU), encoding="utf-8")
    listed = [{"version": one, "title": one, "aliases": []} for one in versions]
    listed[0]["aliases"] = ["latest"]
    (pages / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    return versions


if __name__ == "__main__":
    version, *folders = sys.argv[1:]
    print(*combine(version, *map(Path, folders)))
