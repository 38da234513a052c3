"""A sandbox in a process of its own, so that its memory and files are not the test's.

The process writes its address to stdout, reads keys from stdin, and writes their ids to stdout, as
lines of JSON.
"""

import json
import subprocess
import sys

import boardlot as bl
import psutil

from .processes import ROOT


class SandboxProcess:
    """Runs until the `with` block ends; the options are those of `boardlot.Sandbox`."""

    def __init__(self, **options):
        self._options = options

    def __enter__(self):
        command = [sys.executable, "-m", "tests.support.sandbox_process", json.dumps(self._options)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, cwd=ROOT, **pipes)
        self.base_url = json.loads(self._process.stdout.readline())
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def new_key(self):
        """The id and the PEM of a new key that the sandbox knows."""
        made = bl.generate_key()
        self._process.stdin.write(json.dumps(made.public_pem) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline()), made.private_pem


class Used:
    """The resources of a process: MiB of memory, open files, threads."""

    def __init__(self, memory, files, threads):
        self.memory, self.files, self.threads = memory, files, threads

    def __str__(self):
        return f"{self.memory:.1f} MiB, {self.files} files, {self.threads} threads"

    @classmethod
    def of(cls):
        process = psutil.Process()
        files = process.num_fds() if hasattr(process, "num_fds") else process.num_handles()
        return cls(process.memory_info().rss / (1 << 20), files, process.num_threads())


def allow_many_files():
    """Raises the limit of open files as far as possible; returns it."""
    try:
        import resource
    except ImportError:
        return 512
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # If there is no limit, macOS still accepts no more than this.
    most = hard if hard != resource.RLIM_INFINITY else 10_240
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def serve(options):
    allow_many_files()
    with bl.Sandbox(**options) as sandbox:
        print(json.dumps(sandbox.base_url), flush=True)
        for line in sys.stdin:
            print(json.dumps(sandbox.upload_key(json.loads(line))), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
