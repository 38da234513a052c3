"""36: what the audits let pass is explained and dated; workflows may do no more than they need."""

import json
import os
import re
import subprocess
from datetime import date
from pathlib import Path

import audit
import bill_of_materials
import notices
import pytest
import release_files
import wheel_crates

ROOT = Path(__file__).parents[2]
ADVISORY = re.compile(r"\b(?:RUSTSEC|GHSA|PYSEC|CVE)-[\w-]+")


def tracked(*patterns):
    """The files that git knows."""
    command = ["git", "ls-files", "-z", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("the files are not in a repository")
    return listed.stdout.rstrip("\0").split("\0")


def test_each_exception_of_an_audit_is_dated_and_explained_and_no_other_is():
    explained = (ROOT / "SECURITY.md").read_text().split("## Exceptions")[1]
    entries = {}
    for entry in re.split(r"^- ", explained, flags=re.MULTILINE)[1:]:
        seen = re.search(r"Reviewed (\d{4}-\d{2}-\d{2})\.", entry)
        assert seen, f"not dated: {entry}"
        assert date.fromisoformat(seen[1]) <= date.today()
        entries[ADVISORY.match(entry)[0]] = entry
    accepted = ADVISORY.findall((ROOT / ".cargo" / "deny.toml").read_text())
    assert set(entries) == {*accepted, *audit.ACCEPTED}


def test_what_could_not_be_checked_passes_here_and_fails_on_github(monkeypatch, capsys):
    monkeypatch.setattr(audit, "ON_GITHUB", False)
    assert audit.unreachable("crates", "no network") == []
    assert "advisories on crates were NOT CHECKED: no network" in capsys.readouterr().err
    monkeypatch.setattr(audit, "ON_GITHUB", True)
    assert audit.unreachable("crates", "no network")


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# Scripts that the release workflow calls to install and to build.
BUILDERS = [ROOT / "tools" / name for name in ("build-sdist", "build-wheels", "try-wheels")]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit(workflow):
    actions = re.findall(r"uses: *([^$\s]\S*)(.*)", workflow.read_text())
    assert actions
    for action, comment in actions:
        assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action} tells no version"


def test_nothing_is_installed_or_built_without_hashes():
    commands = []
    for file in (*WORKFLOWS, *BUILDERS):
        text = file.read_text().replace("\\\n", "")
        if file.name == "ci.yml":
            # What contributors with uv do, of which nothing is published or kept.
            text, found = re.subn(
                r"^  #[^\n]+\n  uv:\n.+?(?=^  [#\w])", "", text, flags=re.M | re.S
            )
            assert found == 1
        commands += re.findall(r"\bpip (?:install|wheel)\b.*", text)
        assert not re.search(r"\b(?:uvx?|pipx|easy_install) |maturin-action", text), file
    assert len(commands) > 6
    for command in commands:
        options = set(re.findall(r"--[\w-]+", command))
        # Locked packages; the package itself, by the locked build backend; what was built here.
        kinds = [{"--no-deps", "--require-hashes"}, {"--no-deps", "--no-build-isolation"}]
        assert any(kind <= options for kind in [*kinds, {"--no-index"}]), command


def test_rust_is_installed_for_a_release_only_by_a_rustup_whose_hash_is_known():
    script = (ROOT / "tools/install-rust").read_text()
    known = re.findall(r"^(\S+-unknown-linux-\w+)\) hash=[0-9a-f]{64} ;;$", script, re.M)
    machines, libcs = ("x86_64", "aarch64"), ("gnu", "musl")
    assert set(known) == {f"{m}-unknown-linux-{libc}" for m in machines for libc in libcs}
    assert script.index("sha256sum -c") < script.index('"$folder/rustup-init" -y')


def test_every_build_has_the_same_build_backend():
    locked = set()
    for file in ("demo", "dev", "threads"):
        text = (ROOT / f"requirements/{file}.txt").read_text()
        locked |= set(re.findall(r"^maturin==(\S+)", text, re.MULTILINE))
    assert len(locked) == 1
    (version,) = locked
    backend = re.findall(r"maturin *>=([\d.]+),<2", (ROOT / "pyproject.toml").read_text())
    # Before 1.14.1, two kinds of stable ABI among the features of a crate were mixed up.
    assert set(backend) == {"1.14.1"}
    assert tuple(map(int, version.split("."))) >= (1, 14, 1)


def test_every_lock_file_is_kept_up_to_date():
    settings = (ROOT / ".github/dependabot.yml").read_text()
    folders = {f"/{Path(name).parent}".removesuffix(".") for name in tracked("*Cargo.lock")}
    (known,) = re.findall(r"package-ecosystem: cargo\n +directories: \[(.+)\]", settings)
    assert set(known.split(", ")) == folders
    others = {
        "uv": "/",
        "github-actions": "/",
        "docker": "/.github/images",
        "rust-toolchain": "/.github",
    }
    for ecosystem, folder in others.items():
        assert f"package-ecosystem: {ecosystem}\n    directory: {folder}\n" in settings


def test_no_file_of_requirements_is_larger_than_dependabot_reads():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "requirements").iterdir()}
    assert "dev.txt" in sizes and {name for name in sizes if sizes[name] > 500_000} == set()


def test_a_release_is_compiled_by_one_rust_whose_version_has_one_place():
    said = subprocess.run([ROOT / "tools/release-rust"], capture_output=True, text=True, check=True)
    version = said.stdout.strip()
    assert re.fullmatch(r"1\.\d+\.\d+", version)
    files = tracked(".github", "tools", "Makefile", "rust-toolchain.toml")
    places = [name for name in files if version in (ROOT / name).read_text(errors="replace")]
    assert places == [".github/rust-toolchain.toml"]
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    jobs = re.findall(r'tools/install-rust "|rustup toolchain install ', workflow)
    assert workflow.count("RUST=$(tools/release-rust)") == len(jobs) == 4


def test_only_jobs_that_publish_may_write_and_only_after_all_tests():
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    before, publishing = workflow.split("\n  publish:\n")
    assert ": write" not in before
    publishing, at_github = publishing.split("\n  github:\n")
    assert "needs: [ci, files]" in publishing and "needs: [ci, sandbox]" in publishing
    assert "needs: [publish, attest-sandbox]" in at_github
    assert "id-token: write" in publishing and "contents: write" in at_github
    assert "secrets." not in workflow


PACKAGE = re.compile(r"^([\w-]+ \d+\.\d+\.\d+\S*) \(.+\)$", re.MULTILINE)


@pytest.fixture(scope="module")
def linked():
    """The crates that are linked on this machine: those of other systems may not be downloaded."""
    return list(notices.linked_for(wheel_crates.host(), True))


@pytest.fixture(scope="module")
def text(linked):
    """The notices of these crates, as a wheel has those of all systems."""
    return notices.notices(linked)


def test_every_crate_that_is_linked_has_its_notice(linked, text):
    crates = {f"{each['name']} {each['version']}" for each in linked}
    assert len(crates) > 150
    assert set(PACKAGE.findall(text)) == crates


def test_every_crate_that_is_linked_has_a_license_that_deny_toml_allows(linked):
    rules = (ROOT / ".cargo" / "deny.toml").read_text()
    (listed,) = re.findall(r"^allow = \[\n(.+?)^\]$", rules, re.MULTILINE | re.DOTALL)
    allowed = re.findall(r'"(.+)"', listed)

    def allows(expression):
        """An alternative of each part of it; some crates still write `A/B` for `A OR B`."""
        parts = re.sub("[()]", "", expression).split(" AND ")
        return all(any(name in allowed for name in re.split(r" OR |\s*/\s*", x)) for x in parts)

    assert [(x["name"], x["license"]) for x in linked if not allows(x["license"])] == []


def test_what_crates_bundle_and_the_standard_library_have_theirs_too(text):
    for owner in ("The Rust Project contributors", "Microsoft Corporation, Daan Leijen", "OpenSSL"):
        assert owner in text


def test_the_notices_are_of_every_system_that_a_release_is_for():
    of_audits = re.findall(
        r'^    "(.+)",$', (ROOT / ".cargo" / "deny.toml").read_text(), re.MULTILINE
    )
    assert set(notices.TARGETS) <= set(of_audits)
    assert len(notices.TARGETS) == len(release_files.SYSTEMS)


@pytest.fixture(scope="module")
def bill():
    """The bill of materials of a wheel for this machine."""
    return bill_of_materials.bill(wheel_crates.host(), offline=True)


@pytest.fixture(scope="module")
def units():
    """What Cargo compiles for a release on this machine, by Cargo's own plan of the build.

    Only unstable Cargo prints it; a release does not depend on it.
    """
    command = ["cargo", "build", "-Zunstable-options", "--unit-graph", "--release", "--locked"]
    said = subprocess.run(
        [*command, "--offline", "--package=boardlot"],
        cwd=ROOT,
        env=os.environ | {"RUSTC_BOOTSTRAP": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(said.stdout)


def crate_of(unit):
    """Name and version, of ids such as `...#name@1.0` and `path+file:///folder/name#1.0`."""
    before, _, after = unit["pkg_id"].rpartition("#")
    name, _, version = after.rpartition("@")
    return name or before.rpartition("/")[2], version


def listed(bill, *scopes):
    crates = [each for each in bill["components"] if each["purl"].startswith("pkg:cargo/")]
    return {(each["name"], each["version"]) for each in crates if each["scope"] in scopes}


def test_the_bill_of_materials_has_every_crate_that_is_compiled_and_nothing_else(bill, units):
    compiled = {crate_of(unit) for unit in units["units"]}
    own = {crate for crate in compiled if crate[0] == "boardlot"}
    assert len(own) == 1 and len(compiled) > 150
    assert listed(bill, "required", "excluded") == compiled - own


def test_the_bill_of_materials_says_which_crates_the_wheel_contains(bill, units):
    waiting, linked = list(units["roots"]), set()
    while waiting:
        index = waiting.pop()
        kinds = units["units"][index]["target"]["kind"]
        # Build scripts and macros run while the module is compiled.
        if index not in linked and not {"custom-build", "proc-macro"} & set(kinds):
            linked.add(index)
            waiting += [each["index"] for each in units["units"][index]["dependencies"]]
    names = {crate_of(units["units"][index]) for index in linked}
    assert listed(bill, "required") == {crate for crate in names if crate[0] != "boardlot"}


def test_the_bill_of_materials_has_each_library_in_c_that_is_compiled(bill, linked):
    compiles_c = set()
    for package in linked:
        names = {each["name"] for each in package["dependencies"] if each["kind"] == "build"}
        if package["links"] and {"cc", "cmake"} & names:
            compiles_c.add(package["name"])
    assert compiles_c == set(bill_of_materials.LIBRARIES)
    versions = {each["name"]: each["version"] for each in bill["components"]}
    assert all(
        re.fullmatch(r"\d+\.\d+\.\d+", versions[each.name])
        for each in bill_of_materials.LIBRARIES.values()
    )


def test_security_md_names_the_libdbus_that_is_compiled(bill):
    # No advisory on a crate names what the crate bundles: a new version has to be read about.
    (version,) = [each["version"] for each in bill["components"] if each["name"] == "libdbus"]
    assert f"libdbus {version}" in " ".join((ROOT / "SECURITY.md").read_text().split())


def test_every_component_has_a_license_and_every_dependency_is_a_component(bill):
    refs = {each["bom-ref"] for each in [*bill["components"], bill["metadata"]["component"]]}
    assert len(refs) == len(bill["components"]) + 1
    assert all(each["licenses"][0]["expression"] for each in bill["components"])
    for each in bill["dependencies"]:
        assert {each["ref"], *each["dependsOn"]} <= refs


def test_no_lock_file_has_openssl():
    for name in tracked("*Cargo.lock"):
        assert not re.search(r'^name = "openssl(-sys|-src)?"$', (ROOT / name).read_text(), re.M)


@pytest.mark.parametrize("builder", ["tools/build-sdist", "tools/build-wheels", "Makefile"])
def test_what_builds_a_release_writes_the_notices_first(builder):
    before, wrote, after = (ROOT / builder).read_text().partition("tools/notices.py")
    assert wrote and "maturin" in after and not re.search(r"maturin\"? (build|sdist)", before)


def test_each_wheel_of_a_release_is_built_with_the_bill_of_materials():
    for builder in ("tools/build-wheels", "Makefile"):
        text = (ROOT / builder).read_text()
        before, wrote, after = text.partition("tools/bill_of_materials.py")
        assert wrote and "maturin build" not in before.replace('"', "")
        assert f"--sbom-include {bill_of_materials.FILE.relative_to(ROOT)}" in after
    settings = (ROOT / "pyproject.toml").read_text()
    assert "rust = false" in settings.partition("[tool.maturin.sbom]")[2].partition("\n[")[0]
