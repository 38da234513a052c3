"""Writes THIRD-PARTY-NOTICES, the licenses of all crates of a release; `make wheel` runs it.

The texts are those in the crates' own sources. `make audit` checks that the licenses are allowed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wheel_crates as crates
from wheel_crates import ROOT

FILE = ROOT / "THIRD-PARTY-NOTICES"
# The systems of tools/release_files.py, as Rust calls them.
TARGETS = (
    *("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"),
    *("x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"),
    *("x86_64-apple-darwin", "aarch64-apple-darwin"),
    *("x86_64-pc-windows-msvc", "aarch64-pc-windows-msvc"),
)
TITLE = """Third-party notices

boardlot contains the crates below, each under the licenses that are named with it. Of a crate that
offers MIT among others, the text of MIT is included. Written by `make wheel`.
"""
STANDARD_LIBRARY = {
    "name": "the standard library of Rust",
    "version": "",
    "license": "MIT OR Apache-2.0",
    "authors": ["The Rust Project contributors"],
}
LICENSE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# Sources of other projects within crates, which have license files of their own.
BUNDLED = ("aws-lc/", "c_src/", "vendor/dbus/")
RULE = "\n" + "-" * 100 + "\n"


def linked(*, offline: bool = False) -> list[dict[str, Any]]:
    """The packages that the extension module of any system contains, without boardlot's own."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    # One by one: Cargo 1.95 panics if asked for several at once.
    for target in TARGETS:
        for package in linked_for(target, offline):
            found[package["name"], package["version"]] = package
    return [found[key] for key in sorted(found)]


def linked_for(target: str, offline: bool) -> Iterator[dict[str, Any]]:
    """The packages for one system."""
    how = ["--format-version=1", "--locked", f"--filter-platform={target}"]
    command = ["cargo", "metadata", *how, *(["--offline"] if offline else [])]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    linked = crates.linked(target, offline=offline)
    for package in json.loads(said.stdout)["packages"]:
        # boardlot's own packages have no source.
        if package["source"] and crates.Crate(package["name"], package["version"]) in linked:
            yield package


def texts_of(package: dict[str, Any]) -> list[str]:
    """The texts of a package's licenses."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in folder.iterdir() if path.is_file() and is_license(path)]
    license = package["license"] or ""
    if "MIT" in license and "AND" not in license:
        # Any one of the licenses would do, and MIT is the shortest.
        files = [path for path in files if "MIT" in path.name.upper()] or files
    for inside in BUNDLED:
        below = (folder / inside).rglob("*")
        files += [path for path in below if path.is_file() and is_license(path)]
    if package["license_file"]:
        files.append(folder / package["license_file"])
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(set(files))]
    return [_tidy(text) for text in texts] or [_standard(package)]


def is_license(path: Path) -> bool:
    return bool(LICENSE_FILE.match(path.name)) and path.suffix in ("", ".md", ".txt", ".MIT")


def _standard(package: dict[str, Any]) -> str:
    """The text for a package that has no file with one."""
    license = package["license"] or ""
    if "MIT" in license:
        owners = ", ".join(package["authors"]) or f"the authors of {package['name']}"
        # The text below the owners is the same for all.
        permission = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").partition("Permission")
        return f"MIT License\n\nCopyright (c) {owners}\n\n{''.join(permission[1:])}".strip()
    if "Apache-2.0" in license:
        return (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8").strip()
    name = f"{package['name']} {package['version']}"
    raise SystemExit(f"{name} has no text of its license, {license}")


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def notices(packages: list[dict[str, Any]]) -> str:
    """Every text once, below the packages that it belongs to."""
    name = f"{STANDARD_LIBRARY['name']} ({STANDARD_LIBRARY['license']})"
    users: dict[str, list[str]] = {_standard(STANDARD_LIBRARY): [name]}
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        for text in texts_of(package):
            users.setdefault(text, []).append(name)
    sections = ["\n".join(dict.fromkeys(names)) + f"\n\n{text}\n" for text, names in users.items()]
    return RULE.join([TITLE, *sections])


if __name__ == "__main__":
    FILE.write_text(notices(linked()), encoding="utf-8", newline="\n")
    print(f"{FILE.name}: {FILE.stat().st_size} bytes", file=sys.stderr)
