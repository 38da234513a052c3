"""Runs the benches: `python -m benches.run` from the root of the repository.

Makes a venv of their own, installs the peers and the wheel in `dist/`, measures every row, prints
the tables and writes `benches/results.md` with its pictures, and a whole run the README's table.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
VENV = HERE / ".venv"
TOPICS = [
    "signing", "pages", "frames", "rows", "wire", "limits", "cost", "end_to_end", "startup",
    "growth", "archive", "archive_sql", "scale",
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="benches", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less work: under three minutes")
    parser.add_argument("--only", nargs="+", choices=TOPICS, default=TOPICS, metavar="TOPIC")
    parser.add_argument("--wheel", type=Path, help="instead of the newest in dist/")
    parser.add_argument(
        "--any-machine", action="store_true", help="write results.md whatever the machine's state"
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    wheel = options.wheel or newest_wheel()
    if wheel is None or not wheel.is_file():
        parser.error("there is no wheel in dist/: run `make wheel` first")
    wheel = wheel.resolve()
    if options.inside:
        return measure(options.quick, options.only, wheel, options.any_machine)
    python = installed(wheel)
    arguments = [argument for argument in sys.argv[1:] if argument != "--inside"]
    command = [str(python), "-m", "benches.run", "--inside", *arguments]
    return subprocess.call(command, cwd=ROOT)


def newest_wheel() -> Path | None:
    wheels = (ROOT / "dist").glob("boardlot-*.whl")
    return max(wheels, key=lambda wheel: wheel.stat().st_mtime, default=None)


def installed(wheel: Path) -> Path:
    """The interpreter of the venv, with the peers and this very wheel."""
    python = VENV / "bin" / "python"
    if not python.exists():
        venv.create(VENV, with_pip=True)
    peers = HERE / "requirements.txt"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if changed("peers", peers):
        subprocess.run([*pip, "--requirement", str(peers)], check=True)
        remember("peers", peers)
    if changed("wheel", wheel):
        subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
        remember("wheel", wheel)
    return python


def changed(what: str, source: Path) -> bool:
    stamp = VENV / f".{what}"
    return not stamp.exists() or stamp.read_text() != digest(source)


def remember(what: str, source: Path) -> None:
    (VENV / f".{what}").write_text(digest(source))


def digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


def measure(quick: bool, topics: list[str], wheel: Path, any_machine: bool) -> int:
    from . import machine, readme, report
    from .harness import Settings, say
    from .hooks import HookMissing

    state = machine.state()
    say("\n".join(state.lines()))
    problems = state.problems()
    if problems and not quick and not any_machine:
        say("Nothing was measured: " + "; ".join(problems) + ".")
        say("Wait until the machine is quiet, or say --any-machine.")
        return 1
    start = time.monotonic()
    rows, left_out = [], {}
    for topic in topics:
        say(f"{time.monotonic() - start:6.0f} s  {topic}")
        try:
            measured = importlib.import_module(f"benches.{topic}").rows(Settings(quick, wheel))
            # A run takes long: what is known by now is shown if it does not reach its end.
            for row in measured:
                say("\n".join(report.table(row)))
            rows += measured
        except HookMissing as missing:
            left_out[topic] = str(missing)
            say(f"          left out: {missing}")
    if not rows:
        return 1
    name = "results-quick" if quick else "results"
    text = report.markdown(rows, left_out, quick, state)
    (HERE / f"{name}.md").write_text(text)
    report.chart(rows, HERE / f"{name}.png")
    report.curves(rows, HERE / f"{name}-growth.png")
    if topics == TOPICS and not quick:
        readme.write()
    print(text)
    say(f"{time.monotonic() - start:6.0f} s  written to benches/{name}.md and .png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
