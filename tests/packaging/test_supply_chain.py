"""36: what the audits let pass is explained and dated; workflows may do no more than they need."""

import re
from datetime import date
from pathlib import Path

import audit
import pytest

ROOT = Path(__file__).parents[2]
ADVISORY = re.compile(r"\b(?:RUSTSEC|GHSA|PYSEC|CVE)-[\w-]+")


def test_each_exception_of_an_audit_is_dated_and_explained_and_no_other_is() -> None:
    explained = (ROOT / "SECURITY.md").read_text().split("## Exceptions")[1]
    entries = {}
    for entry in re.split(r"^- ", explained, flags=re.MULTILINE)[1:]:
        seen = re.search(r"Reviewed (\d{4}-\d{2}-\d{2})\.", entry)
        assert seen, f"not dated: {entry}"
        assert date.fromisoformat(seen[1]) <= date.today()
        entries[ADVISORY.match(entry)[0]] = entry
    accepted = ADVISORY.findall((ROOT / "deny.toml").read_text())
    assert set(entries) == {*accepted, *audit.ACCEPTED}


def test_what_could_not_be_checked_passes_here_and_fails_on_github(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "ON_GITHUB", False)
    assert audit.unreachable("crates", "no network") == []
    assert "advisories on crates were NOT CHECKED: no network" in capsys.readouterr().err
    monkeypatch.setattr(audit, "ON_GITHUB", True)
    assert audit.unreachable("crates", "no network")


@pytest.mark.parametrize("name", ["ci", "nightly", "release"])
def test_every_action_is_pinned_to_a_commit(name: str) -> None:
    workflow = (ROOT / f".github/workflows/{name}.yml").read_text()
    actions = re.findall(r"uses: *(\S+)(.*)", workflow)
    assert actions
    for action, comment in actions:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action} tells no version"


@pytest.mark.parametrize("name", ["ci", "nightly", "release"])
def test_nothing_is_installed_or_built_without_hashes(name: str) -> None:
    workflow = (ROOT / f".github/workflows/{name}.yml").read_text().replace("\\\n", "")
    commands = re.findall(r"\bpip (?:install|wheel)\b.*", workflow)
    assert commands
    for command in commands:
        options = set(re.findall(r"--[\w-]+", command))
        # Locked packages; the package itself, by the locked build backend; what was built here.
        kinds = [{"--no-deps", "--require-hashes"}, {"--no-deps", "--no-build-isolation"}]
        assert any(kind <= options for kind in [*kinds, {"--no-index"}]), command
    assert not re.search(r"\b(?:uvx?|pipx|easy_install) ", workflow)


def test_the_release_is_built_by_the_locked_build_backend() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    (version,) = re.findall(r"MATURIN: v(\S+)", workflow)
    locked = set()
    for file in ("demo", "dev", "threads"):
        text = (ROOT / f"requirements/{file}.txt").read_text()
        locked |= set(re.findall(r"^maturin==(\S+)", text, re.MULTILINE))
    assert locked == {version}


def test_only_the_job_that_publishes_may_write() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    before, publishing = workflow.split("\n  publish:\n")
    assert ": write" not in before
    assert "id-token: write" in publishing
    assert "secrets." not in workflow
