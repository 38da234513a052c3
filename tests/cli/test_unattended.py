"""Jobs without a terminal, as cron runs them: where their passphrase comes from, and where not."""

import os
import subprocess

import boardlot as bl
import pytest
from boardlot import _core
from boardlot._support.credentials.profiles import Passphrase
from inline_snapshot import snapshot

from ..support.command_line import COMMAND
from ..support.keys import KEYS
from ..support.logins import demo_login

PASSPHRASE = "correct horse battery staple"


class Job:
    """A login whose tokens are in an encrypted file, and the profile `nightly` for it."""

    def __init__(self, folder, sandbox):
        self.folder, self.sandbox, self.store = folder, sandbox, folder / "tokens"
        store = bl.EncryptedFileStore(self.store, PASSPHRASE)
        self.client_id = demo_login(sandbox, store).client_id

    def save(self, monkeypatch, **passphrase):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(self.folder))
        entry = {"base_url": self.sandbox.base_url, "kind": "oauth", "client_id": self.client_id}
        entry = {**entry, "store": self.store, **passphrase}
        _core._save_profile("nightly", entry, replace=True)

    def run(self, input="", **how):
        """The command without a terminal."""
        # None of these is read.
        environment = {"BOARDLOT_PASSPHRASE": PASSPHRASE, "PASSPHRASE": PASSPHRASE}
        return subprocess.run(
            [*COMMAND, "--profile", "nightly", "dividends", "HK.00700", "--format", "jsonl"],
            env={**os.environ, **environment},
            input=input,
            capture_output=True,
            text=True,
            start_new_session=True,
            **how,
        )


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    with bl.Sandbox(seed=7, fills=60) as sandbox:
        yield Job(tmp_path_factory.mktemp("job"), sandbox)


def secret(file, text=f"{PASSPHRASE}\n", mode=0o600):
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("kind", ["file", "command", "line"])
def test_a_job_reads_the_passphrase_from_a_file_a_command_or_a_line_of_stdin(
    kind, job, tmp_path, monkeypatch
):
    # No shell: neither the space nor the dollar sign means anything.
    program = secret(tmp_path / "print $HOME", f"#!/bin/sh\necho '{PASSPHRASE}'\n", 0o700)
    source = {
        "file": {"passphrase_file": secret(tmp_path / "secret")},
        "command": {"passphrase_command": [str(program)]},
        "line": {},
    }[kind]
    job.save(monkeypatch, **source)
    done = job.run(input=f"{PASSPHRASE}\n" if kind == "line" else "")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 21 and PASSPHRASE not in done.stdout


@pytest.mark.parametrize("how", [{}, {"preexec_fn": lambda: os.close(0)}], ids=["empty", "closed"])
def test_without_either_the_error_names_both(how, job, monkeypatch):
    job.save(monkeypatch)
    before = len(job.sandbox.requests)
    done = job.run(**how)
    assert done.returncode == 3
    # It is all that is printed: no prompt that nobody sees, and no warning about an echo.
    assert done.stderr.startswith("boardlot: "), done.stderr
    for part in (str(job.store), "no terminal", "passphrase_file", "passphrase_command"):
        assert part in done.stderr
    # Not even a request without credentials.
    assert len(job.sandbox.requests) == before


@pytest.mark.parametrize("given", ['"pass show boardlot"', "[1]", "{}"])
def test_a_command_that_is_not_a_list_is_rejected_by_the_name_of_its_key(given, job, monkeypatch):
    job.save(monkeypatch, passphrase_command=["pass"])
    config = job.folder / "boardlot" / "config.toml"
    config.write_text(config.read_text().replace('["pass"]', given))
    with pytest.raises(bl.ConfigError, match=r"\[profiles.nightly\]: auth.passphrase_command is"):
        bl.Client(profile="nightly")


def test_a_wrong_passphrase_is_not_prompted_for_again(job, tmp_path, monkeypatch):
    job.save(monkeypatch, passphrase_file=secret(tmp_path / "secret", "wrong\n"))
    before = job.store.read_bytes()
    done = job.run()
    assert done.returncode == 3
    assert "the passphrase is wrong" in done.stderr
    assert job.store.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (PASSPHRASE.encode(), 0o644, "chmod 600"),
        (PASSPHRASE.encode(), 0o620, "chmod 600"),
        (b"\n", 0o600, "no passphrase"),
        (b"x" * 100_000, 0o600, "more than one line"),
        (f"{PASSPHRASE}\nuser: me\n".encode(), 0o600, "more than one line"),
        (f"{PASSPHRASE}\xff".encode("latin-1"), 0o600, "not UTF-8"),
        (None, 0o600, "No such file"),
    ],
)
def test_an_unsafe_or_malformed_secret_file_is_rejected(content, mode, said, tmp_path):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(bl.StoreError, match=f"{file}.*{said}|{said}.*{file}") as raised:
        Passphrase("tokens", file, None)()
    assert PASSPHRASE not in str(raised.value)
    # The error of a decoder would show the bytes.
    assert not isinstance(raised.value.__context__, UnicodeError)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["no/such/program", PASSPHRASE],
            snapshot("passphrase_command no/such/program cannot be run: No such file or directory"),
        ),
        # A word alone may be the passphrase, or the first one of it.
        (
            PASSPHRASE.split(),
            snapshot(
                "passphrase_command (a file; its name is not shown, as it looks like a key or "
                "another secret) cannot be run: No such file or directory"
            ),
        ),
        (
            ["sh", "-c", f"echo '{PASSPHRASE}'; exit 3"],
            snapshot("passphrase_command sh failed with exit status 3"),
        ),
        (
            ["sh", "-c", "cat"],
            snapshot("passphrase_command sh has no passphrase; expected the passphrase alone"),
        ),
        (
            ["sh", "-c", f"echo '{PASSPHRASE}'; echo more"],
            snapshot(
                "passphrase_command sh has more than one line, or a line over 4 KiB; expected the"
                " passphrase alone"
            ),
        ),
    ],
)
def test_a_command_that_fails_is_an_error_without_its_arguments(command, said):
    with pytest.raises(bl.StoreError) as raised:
        Passphrase("tokens", None, command)()
    assert str(raised.value) == said
    for secret in (PASSPHRASE, *PASSPHRASE.split()):
        assert secret not in str(raised.value) + str(raised.value.hint)


def test_a_new_store_takes_its_passphrase_from_the_file(
    job, tmp_path, config, boardlot, monkeypatch
):
    monkeypatch.setattr(
        bl, "login", lambda _, open_browser, **options: demo_login(job.sandbox, **options)
    )
    base = ["--base-url", job.sandbox.base_url]
    file = secret(tmp_path / "secret", "\n")
    options = ["login", "--store", tmp_path / "tokens", "--passphrase-file", file]
    # Read before the user logs in.
    before = len(job.sandbox.requests)
    assert boardlot(*base, "--profile", "cron", *options).status == 3
    assert len(job.sandbox.requests) == before
    secret(file)
    assert boardlot(*base, "--profile", "cron", *options).status == 0
    assert _core._profile("cron")["passphrase_file"] == file
    assert boardlot("--profile", "cron", "sim-orders", "5001", "--format", "json").json
    # Renewing keeps what the profile says.
    renewed = boardlot("--profile", "cron", "login")
    assert renewed.status == 0 and "renewed the login of the profile cron" in renewed.said
    keychain = boardlot(*base, "login", "--passphrase-file", file)
    assert keychain.status == 2 and "the keychain has no passphrase" in keychain.said


def test_the_password_of_an_encrypted_key_comes_from_there_too(job, tmp_path, config):
    key = KEYS["ed25519_encrypted"]
    entry = {"base_url": job.sandbox.base_url, "kind": "api_key"}
    entry["key_id"] = job.sandbox.upload_key(key["public_pem"])
    entry["private_key"] = secret(tmp_path / "key.pem", key["private_pem"])
    entry["passphrase_file"] = secret(tmp_path / "secret", key["password"])
    _core._save_profile("key", entry)
    with bl.Client(profile="key") as client:
        assert len(client.dividends("HK.00700")) == 21
