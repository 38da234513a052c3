"""Checks that a folder contains the files of a release, and no other: `release_files.py dist`.

The release workflow runs it before anything is published. A wheel's name says for which CPythons
and systems it is installed, and at the index a name can never be used again.
"""

import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

SYSTEMS = (
    *("manylinux_2_28_x86_64", "manylinux_2_28_aarch64"),
    *("musllinux_1_2_x86_64", "musllinux_1_2_aarch64"),
    *("macosx_10_12_x86_64", "macosx_11_0_arm64"),
    *("win_amd64", "win_arm64"),
)
# Any CPython from 3.10 on; the free-threaded 3.14, which has no stable ABI; any from 3.15 on, with
# the interpreter lock or without (PEP 803).
INTERPRETERS = ("cp310-abi3", "cp314-cp314t", "cp315-abi3.abi3t")
# Files in the `.dist-info` folder of each wheel.
HELD = (
    *("licenses/LICENSE-APACHE", "licenses/LICENSE-MIT", "licenses/THIRD-PARTY-NOTICES"),
    "sboms/boardlot.cyclonedx.json",
)
WHEEL_MAX_BYTES = 6_000_000


def main() -> None:
    problems = list(wrong(Path(sys.argv[1]), version()))
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise SystemExit("these are not the files of a release: nothing may be published")
    print(f"{len(expected(version()))} files, as expected")


def version() -> str:
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    (found,) = re.findall(r'^version = "(.+)"$', text, re.MULTILINE)
    return str(found)


def expected(version: str) -> set[str]:
    """The names of all files of a release."""
    wheels = {
        f"boardlot-{version}-{interpreters}-{system}.whl"
        for interpreters in INTERPRETERS
        for system in SYSTEMS
    }
    return {f"boardlot-{version}.tar.gz", *wheels}


def wrong(folder: Path, version: str) -> Iterator[str]:
    """Yields the files that are missing, superfluous, or not what their name says."""
    found = {path.name for path in folder.iterdir()}
    for name in sorted(expected(version) - found):
        yield f"missing: {name}"
    for name in sorted(found - expected(version)):
        yield f"not expected: {name}"
    for name in sorted(expected(version) & found):
        if name.endswith(".whl"):
            for problem in wrong_inside(folder / name, version):
                yield f"{name}: {problem}"


def wrong_inside(wheel: Path, version: str) -> Iterator[str]:
    """Yields the parts of a wheel that are missing or contradict its name."""
    if wheel.stat().st_size > WHEEL_MAX_BYTES:
        yield f"{wheel.stat().st_size} bytes, more than {WHEEL_MAX_BYTES}"
    info = f"boardlot-{version}.dist-info"
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            lines = archive.read(f"{info}/WHEEL").decode().splitlines()
            metadata = archive.read(f"{info}/METADATA").decode()
    except (zipfile.BadZipFile, KeyError) as error:
        yield f"not a wheel of this version: {error}"
        return
    tags = {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")}
    if tags != tags_of(wheel.name):
        yield f"is tagged {', '.join(sorted(tags))}"
    # The builders replace the README by the page of tools/index_page.py.
    if (ROOT / "README.md").read_text(encoding="utf-8").strip() in metadata:
        yield "describes boardlot by README.md as it stands"
    for name in HELD:
        if f"{info}/{name}" not in names:
            yield f"has no {name}"


def tags_of(name: str) -> set[str]:
    """The tags that the name of a wheel stands for."""
    _, _, python, abis, system = name.removesuffix(".whl").split("-")
    return {f"{python}-{abi}-{system}" for abi in abis.split(".")}


if __name__ == "__main__":
    main()
