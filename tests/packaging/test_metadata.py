"""One version everywhere, every extra explained, placeholders named; the files of a release."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import release_files
from placeholders import PLACEHOLDER, placeholders

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["CITATION.cff", "tools/conda/recipe.yaml"])
def test_the_version_is_that_of_the_crate(name):
    crate = re.search(r'^version = "(.+)"$', read("Cargo.toml"), re.M)
    written = re.search(r'^ *version: "?([\d.]+)"?$', read(name), re.M)
    assert crate and written and crate[1] == written[1]


def test_the_readme_has_the_commands_of_the_demo_and_of_the_tests_that_the_checks_run():
    commands = re.findall(r"^make (\S+)$", read("README.md"), re.M)
    checked = re.findall(r"^make (\S+)$", read(".ci/run"), re.M)
    assert commands[:2] == ["demo", "test"] and "test" in checked
    targets = re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.M)
    assert set(commands) | set(checked) <= set(targets)


def test_make_help_is_one_screen_and_tools_readme_lists_the_rest():
    targets = re.findall(r"^([a-z][a-z-]*):.* ## ", read("Makefile"), re.M)
    assert 10 < len(targets) <= 22
    longest = max(len(line) for line in re.findall(r" ## (.+)$", read("Makefile"), re.M))
    assert longest + len("package-docs  ") <= 80
    listed = read("tools/README.md")
    for command in (ROOT / "tools/nightly").iterdir():
        assert f"`tools/nightly/{command.name}" in listed
        assert os.access(command, os.X_OK)


PAGES = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", "docs/install.md")


@pytest.mark.parametrize(
    "page", [*PAGES, "benches/README.md", "tests/README.md", "tools/README.md"]
)
def test_every_target_that_a_page_names_is_one(page):
    targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.M))
    named = re.findall(r"(?:`|^)make ([a-z][a-z-]+)", read(page), re.M)
    assert set(named) <= targets


def test_the_workflows_call_targets_and_tools_that_exist():
    targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.M))
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:run:|-) make ([a-z-]+)", text)) <= targets
        tools = set(re.findall(r"\btools/[\w./-]*\w", text))
        assert [name for name in tools if not (ROOT / name).exists()] == []


def test_the_notes_of_a_version_can_be_read_in_some_minutes():
    for notes in read("CHANGELOG.md").split("\n## ")[1:]:
        assert len(notes.splitlines()) < 60


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_the_oldest_rust_is_that_of_the_crate(page):
    crate = re.search(r'^rust-version = "(.+)"$', read("Cargo.toml"), re.M)
    assert crate and re.findall(r"\bRust (1\.\d+) or newer", read(page)) == [crate[1]]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("version", ["1.88.0", ""])
def test_make_says_which_rust_is_needed(version, tmp_path):
    rustc = tmp_path / "rustc"
    rustc.write_text(f"#!/bin/sh\necho {version and f'rustc {version} (of a test)'}\n")
    rustc.chmod(0o700)
    search = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    made = subprocess.run(
        ["make", "rust"],
        cwd=ROOT,
        env=os.environ | {"PATH": search},
        capture_output=True,
        text=True,
    )
    assert made.returncode != 0
    assert "Rust 1.89 or newer is needed: install it with rustup" in made.stderr


def test_every_extra_is_explained_on_the_page_about_installing():
    section = read("pyproject.toml").partition("[project.optional-dependencies]")[2]
    extras = re.findall(r"^([a-z]+) = \[", section.partition("\n[")[0], re.M)
    table = re.findall(r"^\| (`.+`) \|", read("docs/install.md"), re.M)
    explained = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
    assert len(extras) > 10 and set(extras) <= explained


def test_the_release_checklist_names_every_file_with_a_placeholder():
    found = placeholders()
    page = read("CONTRIBUTING.md").partition("## A release")[2].partition("### Each time")[0]
    named = {name for name in re.findall(r"`([^`]+)`", page) if (ROOT / name).is_file()}
    # Once the publisher has filled them in, none is left but the hash in the recipe.
    assert set(found) in (
        named
        - {"SECURITY.md", "tools/index_page.py", "tools/placeholders.py", "tools/site_versions.py"},
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


def test_the_development_container_is_json_with_comments():
    text = re.sub(r"^\s*//.*$", "", read(".devcontainer/devcontainer.json"), flags=re.M)
    assert json.loads(text)["postCreateCommand"] == "make help"


VERSION = "1.2.3"
ABI3 = "boardlot-1.2.3-cp310-abi3-manylinux_2_28_x86_64.whl"
ABI3T = "boardlot-1.2.3-cp315-abi3.abi3t-win_arm64.whl"


def pack(path, tags, held=release_files.HELD, description="The index page.\n"):
    lines = ["Wheel-Version: 1.0", *(f"Tag: {tag}" for tag in sorted(tags))]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("boardlot-1.2.3.dist-info/WHEEL", "\n".join(lines) + "\n")
        archive.writestr("boardlot-1.2.3.dist-info/METADATA", f"Name: boardlot\n\n{description}")
        for name in held:
            archive.writestr(f"boardlot-1.2.3.dist-info/{name}", "")


@pytest.fixture
def dist(tmp_path):
    """A folder with all files of version 1.2.3."""
    for name in release_files.expected(VERSION):
        if name.endswith(".whl"):
            pack(tmp_path / name, release_files.tags_of(name))
        else:
            (tmp_path / name).touch()
    return tmp_path


def wrong(folder):
    return list(release_files.wrong(folder, VERSION))


def test_a_release_is_a_source_distribution_and_three_wheels_for_each_of_eight_systems(dist):
    names = {path.name for path in dist.iterdir()}
    assert len(names) == 25
    assert {"boardlot-1.2.3.tar.gz", ABI3, ABI3T} <= names
    assert "boardlot-1.2.3-cp314-cp314t-macosx_11_0_arm64.whl" in names
    assert wrong(dist) == []


@pytest.mark.parametrize(
    "name",
    [
        # By an interpreter that was not meant, an image that was not, and another version.
        "boardlot-1.2.3-cp38-cp38-manylinux_2_28_x86_64.whl",
        "boardlot-1.2.3-cp315-abi3t-manylinux_2_28_x86_64.whl",
        "boardlot-1.2.3-cp310-abi3-manylinux_2_34_x86_64.whl",
        "boardlot-1.2.3-cp310-abi3-linux_x86_64.whl",
        "boardlot-1.2.4-cp310-abi3-win_amd64.whl",
        "notes.md",
    ],
)
def test_a_file_too_many_and_a_missing_one_are_named(dist, name):
    (dist / ABI3).rename(dist / name)
    assert wrong(dist) == [f"missing: {ABI3}", f"not expected: {name}"]


def test_what_is_in_a_wheel_agrees_with_its_name(dist):
    pack(dist / ABI3, {"cp38-abi3-manylinux_2_28_x86_64"})
    assert wrong(dist) == [f"{ABI3}: is tagged cp38-abi3-manylinux_2_28_x86_64"]
    (dist / ABI3).write_bytes(b"")
    assert [problem.split(": ")[1] for problem in wrong(dist)] == ["not a wheel of this version"]


def test_a_wheel_that_the_readme_describes_instead_of_the_index_page_is_rejected(dist):
    pack(dist / ABI3, release_files.tags_of(ABI3), description=read("README.md"))
    assert wrong(dist) == [f"{ABI3}: describes boardlot by README.md as it stands"]


def test_a_wheel_without_its_notices_or_of_another_size_is_rejected(dist):
    tags = {"cp315-abi3-win_arm64", "cp315-abi3t-win_arm64"}
    assert release_files.tags_of(ABI3T) == tags
    pack(dist / ABI3T, tags, release_files.HELD[:-1])
    assert wrong(dist) == [f"{ABI3T}: has no sboms/boardlot.cyclonedx.json"]
    (dist / ABI3T).write_bytes(bytes(6_000_001))
    assert wrong(dist)[0] == f"{ABI3T}: 6000001 bytes, more than 6000000"


def test_the_workflow_builds_for_every_system_and_interpreter():
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    libcs = re.findall(r"libc: \[(.+)\]", workflow)[0].split(", ")
    machines = re.findall(r"arch: (\w+),", workflow)
    linux = {f"{libc}_{machine}" for libc in libcs for machine in machines}
    assert linux == {name for name in release_files.SYSTEMS if "linux" in name}
    images = (ROOT / ".github/images/Dockerfile").read_text(encoding="utf-8")
    pinned = re.findall(r"^FROM quay.io/pypa/(\w+):\S+@sha256:\w{64} AS (\S+)$", images, re.M)
    assert {image for image, _ in pinned} == linux
    assert all(image == name.replace("-", "_") for image, name in pinned)
    targets = re.findall(r"target: ([\w-]+), .*?(?:macos: \"([\d.]+)\")? }", workflow)
    desktop = {
        {
            "apple": f"macosx_{macos.replace('.', '_')}_{machine.replace('aarch64', 'arm64')}",
            "pc": {"x86_64": "win_amd64", "aarch64": "win_arm64"}[machine],
        }[vendor]
        for target, macos in targets
        for machine, vendor in [target.split("-")[:2]]
    }
    assert desktop == {name for name in release_files.SYSTEMS if "linux" not in name}
