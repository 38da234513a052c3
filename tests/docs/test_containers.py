"""docs/containers.md without an engine: its commands, run as the user that the image names."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import boardlot as bl
import click
import pytest

from ..support.command_line import ACCOUNT
from ..support.keys import KEYS
from .test_pages import DOCS, blocks

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root becomes another user"
)

FILES = {block.title: block.source for block in blocks(DOCS / "containers.md") if block.title}
UID = 12345
# An interpreter that another user may start: that of a virtual environment may be in a home.
PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"


def instructions():
    for line in FILES["Containerfile"].splitlines():
        word, _, rest = line.partition(" ")
        yield word, rest


class Container:
    """Two folders that the user may write, the mounted files, and the image's own variables."""

    def __init__(self, folder, sandbox):
        if not Path(PYTHON).exists():
            pytest.skip(f"{PYTHON} is not installed")
        self.folder, self.sandbox = folder, sandbox
        for parent in (folder, *folder.parents):
            if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o755)
        for name in ("config", "state", "data", "secrets", "bin"):
            (folder / name).mkdir(mode=0o755)
        for name in ("state", "data"):
            os.chown(folder / name, UID, UID)
        key = KEYS["ed25519_encrypted"]
        self.secret("key.pem", key["private_pem"])
        self.secret("passphrase", key["password"])
        config = FILES["config.toml"].replace("/run/secrets", str(folder / "secrets"))
        config = config.replace("https://api.example.com", sandbox.base_url)
        config = config.replace('"ID"', json.dumps(sandbox.upload_key(key["public_pem"])))
        (folder / "config" / "boardlot").mkdir(mode=0o755)
        (folder / "config" / "boardlot" / "config.toml").write_text(config)
        program = folder / "bin" / "boardlot"
        # In the place of the image's `pip install`.
        paths = [Path(module.__file__).parents[1] for module in (bl, click)]
        program.write_text(
            f"#!{PYTHON}\nimport sys\nsys.path[1:1] = {list(map(str, paths))}\n"
            "from boardlot.cli import main\nsys.exit(main())\n"
        )
        program.chmod(0o755)

    def secret(self, name, text):
        """As orchestrators mount them: of root, and all users of the container can read them."""
        (self.folder / "secrets" / name).write_text(text)
        (self.folder / "secrets" / name).chmod(0o444)

    def environment(self):
        words = next(rest for word, rest in instructions() if word == "ENV")
        given = dict(pair.split("=") for pair in shlex.split(words))
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            given[name] = f"{self.folder}{given[name]}"
        return {**given, "PATH": f"{self.folder}/bin:/usr/bin:/bin"}

    def start(self, *arguments):
        entry = json.loads(next(rest for word, rest in instructions() if word == "ENTRYPOINT"))
        return subprocess.Popen(
            [f"{self.folder}/bin/{entry[0]}", *arguments],
            cwd="/",
            env=self.environment(),
            user=UID,
            group=UID,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments):
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=300)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def container():
    # Not one of pytest's folders: those are closed to other users again when another run begins.
    with bl.Sandbox(seed=7, fills=60) as sandbox, TemporaryDirectory() as folder:
        made = Container(Path(folder), sandbox)
        status, _, err = made.run("--version")
        if "No module named" in err or "Permission denied" in err:
            pytest.skip(f"the packages of this environment are not the other user's: {err[-200:]}")
        assert status == 0, err
        yield made


def test_the_image_installs_one_package_and_starts_it_as_a_user_without_a_name():
    found = dict(instructions())
    assert re.fullmatch(
        r'pip install --no-cache-dir "boardlot\[cli\]>=[\d.]+,<[\d.]+"', found["RUN"]
    )
    assert found["USER"] == f"{UID}:{UID}"
    assert json.loads(found["ENTRYPOINT"]) == ["boardlot"]
    assert set(found) == {"FROM", "RUN", "ENV", "VOLUME", "USER", "ENTRYPOINT", "CMD"}


def test_the_profile_is_valid_toml_and_has_no_secret():
    auth = pytest.importorskip("tomllib").loads(FILES["config.toml"])["profiles"]["job"]["auth"]
    assert auth["passphrase_command"] == ["cat", "/run/secrets/passphrase"]


def test_an_archive_is_updated_without_a_home_or_a_name(container):
    archive = str(container.folder / "data" / "trades.db")
    command = ["--profile", "job", "archive", "update", archive, "--fills", f"{ACCOUNT}:HK"]
    assert container.run(*command)[0] == 0
    status, out, err = container.run("archive", "sql", archive, "select count(*) as n from fills",
                                     "--format", "json")  # fmt: skip
    assert status == 0 and json.loads(out)[0]["n"] > 0, err
    owner = Path(archive).stat()
    assert (owner.st_uid, owner.st_mode & 0o777) == (UID, 0o600)


def test_a_folder_that_may_not_be_written_is_named(container):
    command = ["--profile", "job", "archive", "update", "/trades.db", "--ipos", "hk"]
    status, _, err = container.run(*command)
    assert status == 3 and "/trades.db" in err and "Traceback" not in err


def test_a_limit_is_shared_in_the_folder_of_the_state(container):
    command = ["--profile", "job", "--rate-limit", "50", "--shared", "dividends", "HK.00700"]
    assert container.run(*command)[0] == 0
    assert [*(container.folder / "state").rglob("*")]


def test_a_passphrase_file_that_all_can_read_is_refused_and_a_command_is_not(container):
    secret = container.folder / "secrets" / "passphrase"
    key = ["--base-url", container.sandbox.base_url, "--key-id", "k", "--key-file"]
    line = [*key, str(secret.with_name("key.pem")), "--passphrase-file", str(secret)]
    status, _, err = container.run(*line, "dividends", "HK.00700")
    assert status == 3 and "chmod 600" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_follower_that_is_asked_to_end_ends_with_0(number, container):
    archive = str(container.folder / "data" / f"followed-{number}.db")
    command = ["--profile", "job", "archive", "follow", archive, "--fills", f"{ACCOUNT}:HK"]
    with container.start(*command) as process:
        assert process.stdout.readline(), process.stderr.read()
        process.send_signal(number)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, "Traceback" in err) == (0, False)


def test_a_key_is_rotated_by_the_page_s_lines(container, tmp_path):
    lines = [line for line in FILES["rotate"].replace("\\\n", " ").splitlines() if line]
    config = tmp_path / "config"
    environment = {"PATH": f"{container.folder}/bin:/usr/bin:/bin", "XDG_CONFIG_HOME": str(config)}
    (tmp_path / "passphrase").touch(mode=0o600)
    (tmp_path / "passphrase").write_text("of a test\n")
    key_id = None
    for line in lines:
        if key_id is None and "NEW" in line:
            key_id = container.sandbox.upload_key((tmp_path / "new.pub").read_text())
        own = line.replace("https://api.example.com", container.sandbox.base_url)
        done = subprocess.run(
            ["sh", "-c", own.replace("NEW", key_id or "")],
            cwd=tmp_path, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert key_id in (config / "boardlot" / "config.toml").read_text()


def test_kubernetes_gives_up_by_the_statuses_that_need_a_person():
    from boardlot.cli import statuses

    given = re.search(r"values: \[(.*)\]", FILES["job.yaml"])[1]
    assert [int(one) for one in given.split(",")] == [statuses.USAGE, statuses.FAILED]
