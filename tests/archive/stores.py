"""Archives that are saved, and that go back to what was saved."""

import subprocess

import boardlot as bl
from boardlot.cli import main


class Store:
    """A SQLite archive that goes back to an earlier state as by `restore`."""

    def __init__(self, target, tmp_path):
        self.target, self._copy = target, tmp_path / "copy.db"

    def save(self):
        self._copy.unlink(missing_ok=True)
        with bl.Archive(self.target) as archive:
            archive.backup(self._copy)

    def go_back(self):
        restore(self._copy, self.target)


class PostgresStore:
    """A PostgreSQL archive that goes back as by PostgreSQL's own programs."""

    def __init__(self, target, tmp_path):
        self.target, self._copy = target, tmp_path / "copy.dump"

    def save(self):
        self._run("pg_dump", "--schema=boardlot_archive", "--format=custom", f"--file={self._copy}")

    def go_back(self):
        self._run("pg_restore", "--clean", "--if-exists", "--single-transaction", self._copy)

    def _run(self, program, *arguments):
        subprocess.run([program, f"--dbname={self.target}", *arguments], check=True)


def restore(backup, file, status=0):
    assert main(["archive", "restore", str(backup), str(file)]) == status
