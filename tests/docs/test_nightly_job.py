"""docs/nightly-job.md as written: a week of nights, of which some fail."""

import configparser
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.cli import statuses

from ..support.logins import demo_login
from ..support.system import another_clock, need_program
from ..support.threads import wait_until
from ..support.unusual_fills import fill
from .test_pages import DOCS, blocks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of POSIX")

FILES = {block.title: block.source for block in blocks(DOCS / "nightly-job.md") if block.title}
ACCOUNT = "281756"


def fills_until(night):
    """120 fills of each night; in the last one the first fill is corrected, and another is late."""
    rows = [
        fill(1_000 * day + number, "OK", "BUY", "HK.00700", "100", "2.50", day, day)
        for day in range(night, -1, -1)
        for number in range(120)
    ]
    if night < 6:
        return rows
    late = fill(9_999, "OK", "SELL", "HK.00005", "10", "60.00", 2, 5)
    corrected = fill(0, "OK", "BUY", "HK.00700", "300", "2.50", 0, 6)
    return [corrected, *(row for row in rows if row["deal_id"] != "0"), late]


class Machine:
    """A home with the page's files, a login as the profile `nightly`, and cron."""

    def __init__(self, home, sandbox):
        self.home, self.sandbox, self.folder = home, sandbox, home / "archive"
        self.environment = {name: value for name, value in os.environ.items() if "XDG" not in name}
        self.environment |= {"HOME": str(home)}
        self.folder.mkdir()
        programs = home / ".local" / "bin"
        programs.mkdir(parents=True)
        self.program = Path(sys.executable).parent / "boardlot"
        (programs / "boardlot").symlink_to(self.program)
        for name in ("nightly", "alert"):
            (self.folder / name).write_text(FILES[name])
            (self.folder / name).chmod(0o700)
        config = home / ".config" / "boardlot"
        config.mkdir(parents=True, mode=0o700)
        (config / "passphrase").touch(mode=0o600)
        (config / "passphrase").write_text("of a test\n")
        self.store = bl.EncryptedFileStore(config / "tokens", "of a test")
        self.log_in()

    def log_in(self):
        """A login, and the profile that names its client."""
        client_id = demo_login(self.sandbox, self.store).client_id
        config = self.home / ".config" / "boardlot" / "config.toml"
        config.touch(mode=0o600)
        config.write_text(
            f'[profiles.nightly]\nbase_url = "{self.sandbox.base_url}"\n'
            f'auth = {{ kind = "oauth", client_id = "{client_id}", '
            'store = "tokens", passphrase_file = "passphrase" }\n'
        )

    def start(self, command):
        """As cron does: in the home, by sh, with no terminal."""
        return subprocess.Popen(
            ["sh", "-c", command],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def night(self, prefix="", line=-1):
        """The exit status of a line of the crontab, and the mail that cron sends."""
        # To cron a percent sign alone is a line break.
        command = FILES["crontab"].splitlines()[line].split(maxsplit=5)[5].replace("\\%", "%")
        with self.start(prefix + command) as process:
            mail, _ = process.communicate(timeout=300)
        return process.returncode, mail

    def killed_night(self):
        """The mail of a night that ends after some requests, as when the power fails."""
        self.sandbox.faults = bl.Faults(latency=0.05)
        wanted = len(self.sandbox.requests) + 4
        with self.start('"$HOME/archive/nightly"') as process:
            wait_until(lambda: len(self.sandbox.requests) >= wanted or process.poll() is not None)
            os.killpg(process.pid, signal.SIGKILL)
            mail, _ = process.communicate(timeout=300)
            assert process.returncode == -signal.SIGKILL
        self.sandbox.faults = None
        return mail

    def kept(self):
        with bl.Archive(self.folder / "trades.db") as archive:
            return archive.fills(ACCOUNT, "HK").all()


@pytest.fixture
def machine(sandbox, tmp_path):
    return Machine(tmp_path, sandbox)


def test_a_week(sandbox, machine):
    def day(number):
        sandbox.put("fills_history", fills_until(number))
        return fills_until(number)

    # A first night, then one that is killed in the middle.
    rows = day(0)
    assert machine.night() == (0, "")
    assert machine.kept() == rows
    day(1)
    assert machine.killed_night() == ""
    before = machine.kept()
    assert set(ids(rows)) <= set(ids(before))

    # The next one completes it.
    rows = day(2)
    assert machine.night() == (0, "")
    assert machine.kept() == rows

    day(3)
    sandbox.faults = bl.Faults(error_rate=1.0)
    status, mail = machine.night()
    assert status == 1 and "the service is unavailable" in mail
    # Earlier in the night, cron leaves that to the next hour.
    assert machine.night(line=1) == (0, "")
    assert machine.kept() == rows
    sandbox.faults = None

    day(4)
    sandbox.revoke_grants()
    status, mail = machine.night()
    assert status == 3 and "Log in again" in mail
    assert "Log in again" in machine.night(line=1)[1]
    assert machine.kept() == rows
    machine.log_in()

    rows, before = day(5), rows
    # A limit for its files, as a full disk has.
    status, mail = machine.night("trap '' XFSZ; ulimit -f 8; ")
    assert status == 3 and "disk" in mail
    assert set(ids(before)) <= set(ids(machine.kept()))

    rows = day(6)
    assert machine.night() == (0, "")
    assert sorted(machine.kept(), key=str) == sorted(rows, key=str)
    left = {file.name for file in machine.folder.iterdir()} - {"trades.db-shm", "trades.db-wal"}
    assert left == {"trades.db", "nightly", "alert", "nightly.jsonl"}
    log = (machine.folder / "nightly.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines() if line]
    assert {line["level"] for line in lines} == {"error"} and "of a test" not in log
    ends = [line["message"] for line in lines if line["message"].startswith("exit status")]
    assert "exit status 1" in ends and "exit status 3" in ends
    causes = [line for line in lines if "error" in line]
    assert {"ServiceError", "LoginRequired", "StoreError"} <= {line["error"] for line in causes}
    assert {line["retryable"] for line in causes if line["error"] == "ServiceError"} == {True}
    assert {line["retryable"] for line in causes if line["error"] != "ServiceError"} == {False}


def ids(rows):
    return [row["deal_id"] for row in rows]


def test_files_and_an_upgrade(machine, tmp_path):
    assert machine.night()[0] == 0
    new = tmp_path / "boardlot-new" / "bin"
    new.mkdir(parents=True)
    (new / "boardlot").symlink_to(machine.program)
    upgrade = re.sub(r"^.*(-m venv|/pip\").*$", "", FILES["upgrade"], flags=re.MULTILINE)
    need_program("sqlite3")
    for script in (f"cd archive\n{FILES['export']}", upgrade) * 2:
        with machine.start(f"set -e\n{script}") as process:
            printed, _ = process.communicate(timeout=300)
        assert process.returncode == 0, printed
    assert (tmp_path / ".local" / "bin" / "boardlot").readlink() == new / "boardlot"
    assert (machine.folder / "traded.csv").read_text().startswith("status,code,traded")
    assert machine.night() == (0, "")


def test_the_units_are_valid_and_name_each_other(tmp_path):
    need_program("systemd-analyze")
    units = {title: tmp_path / title for title in FILES if title.startswith("boardlot-")}
    for title, file in units.items():
        file.write_text(FILES[title])
    files = [str(file) for title, file in units.items() if "@" not in title]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *files],
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    about = [line for line in done.stderr.splitlines() if "boardlot-" in line]
    # The programs are in a home that is not here.
    assert not [line for line in about if "is not executable" not in line], done.stderr
    service = configparser.ConfigParser(interpolation=None)
    service.read_string(FILES["boardlot-nightly.service"])
    alert = service["Unit"]["OnFailure"]
    assert alert.replace("%n", "") in FILES
    assert service["Service"]["ExecStart"].replace("%h", "$HOME") in FILES["crontab"]
    # Again after what passes, and never after what a person must do.
    assert service["Service"]["Restart"] == "on-failure"
    assert service["Service"]["RestartPreventExitStatus"].split() == [
        str(status) for status in (statuses.USAGE, statuses.FAILED)
    ]


# A week by the hour: what happens at 1:15, 2:15 and so on, and what cron mails to a person then.
NOTHING, LOGIN, DISK = "", "LoginRequired", "StoreError"
WEEK = [
    ("Monday", [(None, NOTHING)]),
    ("Tuesday: an outage of an hour", [("outage", NOTHING), (None, NOTHING)]),
    ("Wednesday: an outage until the morning", [("outage", NOTHING), ("last", "ServiceError")]),
    ("Thursday: the login expires", [("login", LOGIN)]),
    ("Friday: the disk is full", [("disk", DISK), (None, NOTHING)]),
    ("Saturday: the power fails", [("power", NOTHING), (None, NOTHING)]),
    ("Sunday: the clock is a year behind", [("clock", NOTHING), (None, NOTHING)]),
]
# `test_a_week` has the nights of an outage, of a login that expires and of a power failure.
SHORT = [day for day in WEEK if day[0].startswith(("Monday", "Friday", "Sunday"))]


@pytest.mark.parametrize("days", [SHORT, pytest.param(WEEK, marks=pytest.mark.slow)], ids=len)
def test_what_a_person_learns_in_a_week(sandbox, machine, days):
    prefixes = {
        # A limit for its files, as a full disk has.
        "disk": "trap '' XFSZ; ulimit -f 8; ",
        "clock": f"export LD_PRELOAD={another_clock()} FAKETIME=-365d; ",
    }
    learned = []
    for day, hours in days:
        for what, _ in hours:
            sandbox.faults = bl.Faults(error_rate=1.0) if what in ("outage", "last") else None
            if what == "login":
                sandbox.revoke_grants()
            if what == "power":
                mail = machine.killed_night()
            else:
                line = -1 if what == "last" else 1
                _, mail = machine.night(prefixes.get(what, ""), line)
            classes = [json.loads(line).get("error") for line in mail.splitlines()]
            learned.append((day, what, next(filter(None, classes), NOTHING)))
            if what == "login":
                machine.log_in()
    expected = [(day, what, said) for day, hours in days for what, said in hours]
    assert learned == expected
    # After all of them, every fill is there once.
    with sandbox.client() as client:
        fills = client.fills_history(ACCOUNT, "HK").all()
    assert sorted(machine.kept(), key=str) == sorted(fills, key=str)
