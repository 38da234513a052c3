"""Checks the licenses, sources and known advisories of everything in the package: `make audit`.

Licenses, bans and sources are judged anywhere. Advisories come from services on the internet: if
one cannot be reached, this program says so and continues, except on GitHub, where that is a
failure, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

CARGO_DENY = Path("target/tools/bin/cargo-deny").absolute()
PIP_AUDIT = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip"]
ON_GITHUB = os.environ.get("GITHUB_ACTIONS") == "true"
# Exceptions for Python packages, by the name of the advisory; SECURITY.md has each with a date.
ACCEPTED: tuple[str, ...] = ()


def main() -> int:
    """Runs all audits; returns 0 if none found anything."""
    problems = [
        *audit("licenses, bans and sources of crates", deny("bans", "licenses", "sources")),
        *(unreachable("crates", why) if (why := rust_service_fault()) else audit_crates()),
        *(unreachable("Python packages", why) if (why := python_service_fault()) else audit_pip()),
    ]
    for problem in problems:
        print(f"audit: {problem}", file=sys.stderr)
    return 1 if problems else 0


def audit(what: str, command: list[str | Path], given: str | None = None) -> list[str]:
    """Runs a command that prints its findings; returns the problem in one line, if there is one."""
    done = subprocess.run(command, input=given, text=True, check=False)
    if done.returncode:
        return [f"{what}: see above; an exception needs a line in SECURITY.md"]
    print(f"audit: {what}: ok", flush=True)
    return []


def unreachable(what: str, why: str) -> list[str]:
    said = f"advisories on {what} were NOT CHECKED: {why}"
    if ON_GITHUB:
        return [said]
    print(f"audit: {said}", file=sys.stderr, flush=True)
    return []


def deny(*checks: str) -> list[str | Path]:
    fetching = ["--disable-fetch"] if "advisories" in checks else []
    return [CARGO_DENY, "--locked", "--log-level", "error", "check", *fetching, *checks]


def rust_service_fault() -> str | None:
    """Fetches the database of advisories; returns the reason if that failed."""
    fetched = subprocess.run(
        [CARGO_DENY, "fetch", "db"], capture_output=True, text=True, check=False
    )
    faults = [line for line in fetched.stderr.splitlines() if line.startswith("fatal:")]
    if fetched.returncode or "[ERROR]" in fetched.stderr:
        return (faults or fetched.stderr.splitlines() or ["no reason given"])[0]
    return None


def audit_crates() -> list[str]:
    return audit("advisories on crates", deny("advisories"))


def python_service_fault() -> str | None:
    """Audits pip alone; returns the reason if nothing is known of it.

    A mirror of the index may serve packages but no advisories; `pip-audit` would take these
    packages for ones without advisories.
    """
    command = [*PIP_AUDIT, "--format", "json", "--requirement", "/dev/stdin"]
    probe = subprocess.run(
        command, input=f"pip=={version('pip')}\n", capture_output=True, text=True, check=False
    )
    try:
        (pip,) = json.loads(probe.stdout)["dependencies"]
    except (ValueError, KeyError):
        return (probe.stderr.splitlines() or ["no reason given"])[-1]
    return pip.get("skip_reason")


def audit_pip() -> list[str]:
    """Audits the packages that are installed in this environment: every extra, and the tools."""
    freeze = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    installed = subprocess.run(freeze, capture_output=True, text=True, check=True).stdout
    accepted = [part for name in ACCEPTED for part in ("--ignore-vuln", name)]
    # A package that cannot be looked up is a failure (--strict): it would pass for safe.
    return audit(
        "advisories on Python packages",
        [*PIP_AUDIT, "--strict", *accepted, "--requirement", "/dev/stdin"],
        given=installed,
    )


if __name__ == "__main__":
    sys.exit(main())
