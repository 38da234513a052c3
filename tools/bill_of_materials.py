"""Writes the bill of materials of a wheel: `bill_of_materials.py [TARGET]`, by default this system.

CycloneDX, into target/boardlot.cyclonedx.json; maturin puts it into the wheel (`--sbom-include`).
`required` are the parts that the extension module contains, `excluded` are programs that run only
while the module is compiled. maturin's own bill has the crates of all systems and of all optional
features, and no library in C.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import wheel_crates as crates
from release_files import version
from wheel_crates import ROOT, Crate

FILE = ROOT / "target" / "boardlot.cyclonedx.json"


class Library(NamedTuple):
    """A library in C whose sources are in a crate."""

    name: str
    # None for the license of the crate.
    license: str | None
    purl: str
    # The file of the crate that has its version, and an expression that finds it.
    file: str
    pattern: str
    # The name by which databases of vulnerabilities know it.
    cpe: str | None = None


LIBRARIES = {
    "aws-lc-sys": Library(
        "AWS-LC",
        None,
        "pkg:github/aws/aws-lc@v{}",
        "aws-lc/include/openssl/base.h",
        r'AWSLC_VERSION_NUMBER_STRING "([\d.]+)"',
    ),
    "libdbus-sys": Library(
        "libdbus",
        "AFL-2.1 OR GPL-2.0-or-later",
        "pkg:generic/dbus@{}",
        "build_vendored.rs",
        r'DBUS_VERSION: &str = "\\"([\d.]+)\\""',
        "cpe:2.3:a:freedesktop:dbus:{}:*:*:*:*:*:*:*",
    ),
    "libmimalloc-sys": Library(
        "mimalloc",
        "MIT",
        "pkg:github/microsoft/mimalloc@v{}",
        "c_src/mimalloc/v2/include/mimalloc.h",
        r"define MI_MALLOC_VERSION (\d+)",
    ),
}


def bill(target: str, *, offline: bool = False) -> dict[str, Any]:
    """The bill of materials of a wheel for one system."""
    linked = crates.linked(target, offline=offline)
    compiled = crates.compiled(target, offline=offline)
    packages = _packages(target, offline)
    hashes = _hashes()
    components = []
    graph = {_purl(crate): {_purl(one) for one in compiled[crate]} for crate in compiled}
    for crate in sorted(compiled):
        if crate.name == "boardlot":
            continue
        package = packages[crate]
        component = {
            "type": "library",
            "bom-ref": _purl(crate),
            "name": crate.name,
            "version": crate.version,
            "scope": "required" if crate in linked else "excluded",
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
            "purl": _purl(crate),
        }
        if crate in hashes:
            component["hashes"] = [{"alg": "SHA-256", "content": hashes[crate]}]
        components.append(component)
    for crate in sorted(linked):
        if library := LIBRARIES.get(crate.name):
            inside = _bundled(library, packages[crate])
            components.append(inside)
            graph[_purl(crate)].add(inside["bom-ref"])
    components.append(_standard_library())
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": _purl(Crate("boardlot", version())),
                "name": "boardlot",
                "version": version(),
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "purl": f"pkg:pypi/boardlot@{version()}",
            },
            "properties": [{"name": "boardlot:target", "value": target}],
        },
        "components": components,
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(needed)} for ref, needed in sorted(graph.items())
        ],
    }


def _purl(crate: Crate) -> str:
    return f"pkg:cargo/{crate.name}@{crate.version.replace('+', '%2B')}"


def _packages(target: str, offline: bool) -> dict[Crate, dict[str, Any]]:
    how = ["--format-version=1", "--locked", f"--filter-platform={target}"]
    command = ["cargo", "metadata", *how, *(["--offline"] if offline else [])]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {Crate(each["name"], each["version"]): each for each in json.loads(said)["packages"]}


def _hashes() -> dict[Crate, str]:
    """The hash of each crate's archive, by which Cargo identifies the crate."""
    text = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    entry = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
    return {Crate(name, number): found for name, number, found in re.findall(entry, text)}


def _bundled(library: Library, package: dict[str, Any]) -> dict[str, Any]:
    folder = Path(package["manifest_path"]).parent
    found = re.search(library.pattern, (folder / library.file).read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{folder}/{library.file} does not have the version of {library.name}")
    number = found[1]
    if "." not in number:
        # A number of mimalloc's: 20302 is 2.3.2.
        number = ".".join(str(int(part)) for part in (number[:-4], number[-4:-2], number[-2:]))
    component = {
        "type": "library",
        "bom-ref": library.purl.format(number),
        "name": library.name,
        "version": number,
        "scope": "required",
        "licenses": [{"expression": library.license or package["license"]}],
        "purl": library.purl.format(number),
    }
    return component | ({"cpe": library.cpe.format(number)} if library.cpe else {})


def _standard_library() -> dict[str, Any]:
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    number = said.stdout.split()[1]
    return {
        "type": "library",
        "bom-ref": f"pkg:github/rust-lang/rust@{number}",
        "name": "the standard library of Rust",
        "version": number,
        "scope": "required",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "purl": f"pkg:github/rust-lang/rust@{number}",
    }


def main() -> None:
    target = sys.argv[1] if sys.argv[1:] else crates.host()
    written = bill(target)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8", newline="\n")
    print(f"{FILE.name}: {len(written['components'])} components", file=sys.stderr)


if __name__ == "__main__":
    main()
