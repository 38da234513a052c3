"""Ends the programs of `ending` many times: `python -m tests.stress.exits 500 python3.13`.

Prints a table of the exits that failed: with another status than 0, with output, or later than a
minute.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boardlot as bl

from .ending import PROGRAMS

ROOT = Path(__file__).parent.parent.parent
# The package as it is imported here, also for interpreters in which it is not installed.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(bl.__file__).parent.parent)}


def failed_exits(python, program, times, arguments):
    """What went wrong at exits of a program, each as the status and the output."""
    command = [python, "-m", "tests.stress.ending", program, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}

    def end(_):
        try:
            done = subprocess.run(
                command, check=False, cwd=ROOT, env=ENVIRONMENT, timeout=60, **pipes
            )
        except subprocess.TimeoutExpired:
            return "hangs", ""
        return done.returncode, done.stdout

    with ThreadPoolExecutor(4) as pool:
        return [ended for ended in pool.map(end, range(times)) if ended != (0, "")]


def main(times, *pythons):
    failures = 0
    with bl.Sandbox(fills=120) as sandbox, tempfile.TemporaryDirectory() as folder:
        key, file = bl.generate_key(), Path(folder, "key.pem")
        file.touch(0o600)
        file.write_text(key.private_pem)
        arguments = [sandbox.base_url, sandbox.upload_key(key.public_pem), str(file)]
        for python in pythons or [sys.executable]:
            for program in PROGRAMS:
                failed = failed_exits(python, program, int(times), arguments)
                failures += len(failed)
                print(f"{python} | {program} | {times} | {len(failed)}", flush=True)
                for status, output in failed[:1]:
                    print(f"status {status}: {output[-2000:]}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
