"""Changes the core in one place at a time and sees whether a test notices: `tools/nightly/mutants`.

`.cargo/mutants.toml` says which files are changed and which tests run. This program fails if no
test notices a change, unless `tests/mutants.toml` lists the change with a reason; it also fails if
a listed change is noticed by now, so that the list stays true. Arguments are the files to change,
by default all.

A change is named by file, function and what was changed, without line numbers: the list outlives
edits elsewhere in the file. If a function has several changes of one name, `count` is their number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import tomllib

CARGO_MUTANTS = Path("target/tools/bin/cargo-mutants").absolute()
OUT = Path("target/mutants")
ACCEPTED = Path("tests/mutants.toml")
# Seconds that the tests of one change get, or five times the seconds of the unchanged core, if
# more.
TIMEOUT = 15
# Exit codes of cargo-mutants if changes were missed or timed out, which are judged below.
FINISHED = (0, 2, 3)


def main(files: list[str]) -> int:
    """Runs cargo-mutants; returns 0 if exactly the accepted changes survived."""
    began = time.monotonic()
    outcomes = run(files)
    survived = Counter(name(one) for one in outcomes if one["summary"] == "MissedMutant")
    tried = Counter(name(one) for one in outcomes)
    summaries = Counter(one["summary"] for one in outcomes)
    minutes = (time.monotonic() - began) / 60
    print(f"mutants: {dict(summaries)} in {minutes:.0f} minutes")
    accepted = accepted_mutants()
    problems = [
        f"no test notices: {mutant} ({count} of {tried[mutant]} places, {accepted[mutant]} listed)"
        for mutant, count in survived.items()
        if count > accepted[mutant]
    ]
    # A change that cargo-mutants no longer makes is not tried: its entry is stale, too.
    examined = {mutant.partition(":")[0] for mutant in tried}
    problems += [
        f"{ACCEPTED} lists what a test notices or what is gone: {mutant}"
        for mutant, count in accepted.items()
        if survived[mutant] < count and mutant.partition(":")[0] in examined
    ]
    for problem in problems:
        print(f"mutants: {problem}", file=sys.stderr)
    print(f"mutants: {survived.total()} survived, {accepted.total()} are accepted")
    return 1 if problems else 0


def run(files: list[str]) -> list[dict[str, object]]:
    """Every change that compiles, with its outcome; a time-out counts as noticed."""
    OUT.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [
        CARGO_MUTANTS,
        "mutants",
        "--config",
        configuration(files),
        "--output",
        OUT,
    ]
    command += ["--minimum-test-timeout", str(TIMEOUT), "--jobs", "1"]
    command += ["--no-shuffle", "--colors", "never"]
    # Dependencies are built in this folder once, for every later run.
    environment = {**os.environ, "CARGO_TARGET_DIR": str((OUT / "build").absolute())}
    done = subprocess.run(command, env=environment, check=False)
    if done.returncode not in FINISHED:
        sys.exit(f"mutants: cargo-mutants ended with {done.returncode}; see {OUT}")
    outcomes = json.loads((OUT / "mutants.out/outcomes.json").read_text())["outcomes"]
    return [
        one for one in outcomes if one["scenario"] != "Baseline" and one["summary"] != "Unviable"
    ]


def configuration(files: list[str]) -> Path:
    """The configuration, restricted to these files if there are any: options can only add files."""
    settings = tomllib.loads(Path(".cargo/mutants.toml").read_text())
    if files:
        settings["examine_globs"] = files
    made = OUT / "configuration.toml"
    # Texts and lists of texts are written alike in JSON and TOML.
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    made.write_text("".join(lines))
    return made


def name(outcome: dict[str, object]) -> str:
    """`crates/client/src/pages/seen.rs: replace == with != in Seen::insert`."""
    mutant = outcome["scenario"]["Mutant"]  # type: ignore[index]
    described = mutant["name"].split(": ", 1)[1]
    return f"{mutant['file']}: {described}"


def accepted_mutants() -> Counter[str]:
    """The changes that may survive; each entry has a reason."""
    counts: Counter[str] = Counter()
    for entry in tomllib.loads(ACCEPTED.read_text()).get("accepted", []):
        if not entry["reason"].strip():
            sys.exit(f"mutants: {ACCEPTED} has no reason for {entry['mutant']}")
        counts[entry["mutant"]] += entry.get("count", 1)
    return counts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
