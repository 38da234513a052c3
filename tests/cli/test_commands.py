"""The command line: its exit statuses, its own commands, and where it writes."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import click
import pytest
from boardlot._support.tables.cell_format import width_of
from boardlot.cli import application as app, settings
from inline_snapshot import snapshot

from ..support.command_line import COMMAND
from ..support.words import named


def test_help_lists_every_command_before_the_options(boardlot):
    shown = boardlot("--help").out
    for name, (_, line) in app.COMMANDS.items():
        assert name in shown and line in shown
    assert shown.index("Commands:") < shown.index("Data:") < shown.index("Options:")


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_shows_examples(name, boardlot):
    assert "\nExamples:\n  boardlot" in boardlot(name, "--help").out


def test_sandbox_is_on_this_machine_and_does_not_overwrite_a_key(boardlot, tmp_path):
    assert boardlot("sandbox", "--host", "0.0.0.0").status == 2
    key = tmp_path / "key.pem"
    key.write_text("mine")
    said = boardlot("sandbox", "--key-file", key).refusal
    assert named(said, FOLDER=tmp_path) == snapshot(
        "Error: FOLDER/key.pem already exists and is not overwritten"
    )
    assert key.read_text() == "mine"


def test_demo_without_pyarrow_writes_the_fills_as_csv(tmp_path, monkeypatch, boardlot):
    for name in ("pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("boardlot.cli.commands.demo.find_spec", lambda _: None)
    done = boardlot("demo", "--out", tmp_path)
    assert done.status == 0 and "skipped fills.png" in done.out
    (written,) = tmp_path.iterdir()
    header, *rows = written.read_text().splitlines()
    assert written.name == "fills.csv" and len(rows) == 2_000
    assert header.startswith("trd_side,deal_id,order_id,code,")


def test_demo(tmp_path, boardlot):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    out = tmp_path / "new" / "folder"
    done = boardlot("demo", "--out", out, "--seed", "3")
    assert done.status == 0 and "PRIVATE KEY" not in done.out
    # One cursor would need 40.
    assert re.search(r"read 2,000 fills in 4\d requests", done.out)
    for line in ("logged in with OAuth; scopes:", "the same 2,000"):
        assert line in done.out
    lines = done.out.splitlines()
    assert f"the files are in {out}" in lines
    assert sorted(path.name for path in out.iterdir()) == ["fills.parquet", "fills.png"]
    # Next steps: commands of boardlot's own, each of which its help knows.
    following = [line.split()[1:] for line in lines[-3:]]
    assert [words[0] for words in following] == ["sandbox", "--profile", "open"]
    assert not any(boardlot(*words, "--help").status for words in following)


@pytest.mark.parametrize("columns", [80, 132])
def test_the_demo_fits_80_columns_and_shows_data_first(columns, tmp_path, monkeypatch, boardlot):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = boardlot("demo").out.splitlines()
    assert [line for line in lines if width_of(line) > 80] == []
    assert lines[2].split()[:4] == ["code", "trd_side", "qty", "price"]


def test_global_options_come_before_or_after_a_command(monkeypatch, boardlot):
    seen = []

    def client(given, identified=True):
        seen.append(given)
        raise click.exceptions.Exit(7)

    monkeypatch.setattr(settings.Settings, "client", client)
    line = "--format csv --profile p dividends HK.00700 --format json --header A:1 --header B:2"
    assert boardlot(*line.split()).status == 7
    given = {"profile": "p", "format": "json", "header": ("A:1", "B:2")}
    assert seen == [settings.Settings(**given)]


def test_open_prints_the_address_of_the_docs_and_opens_it(monkeypatch, boardlot):
    opened = []
    monkeypatch.setattr(click, "launch", lambda url: opened.append(url) or 0)
    page = boardlot("open", "docs").out.strip()
    assert opened == [Path(page).as_uri()]


def keygen(file, **options):
    command = [*COMMAND, "keygen", str(file)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)


def test_keygen_writes_the_private_key_for_its_owner_alone(tmp_path):
    file = tmp_path / "key.pem"
    made = keygen(file, stdout=subprocess.PIPE, umask=0)
    assert made.returncode == 0 and "PRIVATE" not in made.stdout + made.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert bl.ApiKey("app-key", file).public_key_pem() == made.stdout


def test_keygen_again_prints_the_public_key_of_the_key_that_is_there(tmp_path):
    file, public = tmp_path / "key.pem", tmp_path / "key.pub"
    for _ in range(2):
        # As a shell does, which empties the file of the public key.
        with public.open("wb") as out:
            made = keygen(file, stdout=out)
        assert made.returncode == 0
        before = file.read_bytes(), public.read_text()
    assert before == (file.read_bytes(), bl.ApiKey("app-key", file).public_key_pem())
    assert named(made.stderr, FOLDER=tmp_path) == snapshot(
        "FOLDER/key.pem already has a private key, which was not changed; this is its public key\n"
    )


def test_keygen_does_not_overwrite_what_is_not_a_key(boardlot, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    assert named(boardlot("keygen", file).refusal, FOLDER=tmp_path) == snapshot(
        "Error: FOLDER/notes.txt already exists and is not overwritten, and it is not a "
        "key: private_key FOLDER/notes.txt is not a key in PEM or DER; expected a path, "
        "PEM text or key bytes"
    )
    assert file.read_text() == "mine"


def test_keygen_says_that_a_shell_has_emptied_its_file(boardlot, tmp_path):
    file = tmp_path / "key.pem"
    file.touch()
    assert named(boardlot("keygen", file).refusal, FOLDER=tmp_path) == snapshot(
        "Error: FOLDER/key.pem is empty, and an existing file is not overwritten: remove "
        "it, and redirect the public key to another file, such as FOLDER/key.pub"
    )


def test_keygen_again_says_what_was_not_done(boardlot, tmp_path):
    file, secret = tmp_path / "key.pem", tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text("words\n")
    first = boardlot("keygen", file)
    options = ["--algorithm", "RSA-SHA256", "--passphrase-file", secret]
    again = boardlot("keygen", file, *options)
    assert (again.status, again.out) == (0, first.out)
    assert named(again.said, FOLDER=tmp_path) == snapshot(
        "FOLDER/key.pem already has a private key, which was not changed; this is its "
        "public key it is an Ed25519 key, not RSA-SHA256: choose another FILE it is not "
        "encrypted: the passphrase was not used"
    )


def test_public_key_prints_that_of_a_key_also_of_an_encrypted_one(boardlot, tmp_path):
    file, secret = tmp_path / "key.pem", tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text("words\n")
    made = boardlot("keygen", file, "--passphrase-file", secret)
    printed = boardlot("public-key", file, "--passphrase-file", secret)
    assert (printed.status, printed.out, printed.err) == (0, made.out, "")
    secret.write_text("others\n")
    said = boardlot("public-key", file, "--passphrase-file", secret).failure
    assert named(said, FOLDER=tmp_path) == snapshot(
        "boardlot: private_key FOLDER/key.pem cannot be decrypted: the password is wrong "
        "hint: The key itself is valid, so do not generate a new one: pass the password "
        "of the key as `password=`, or set passphrase_file or passphrase_command in the "
        "profile."
    )
    assert "No such file" in boardlot("public-key", tmp_path / "missing.pem").failure


def test_bits_are_those_of_an_rsa_key(boardlot, tmp_path):
    file = tmp_path / "key.pem"
    assert "add --algorithm RSA-SHA256" in boardlot("keygen", file, "--bits", "2048").refusal
    assert not file.exists()
    assert boardlot("keygen", file, "--bits", "2048", "--algorithm", "RSA-SHA256").status == 0
    assert bl.ApiKey("app-key", file).algorithm == "RSA-SHA256"


def test_a_key_whose_public_half_cannot_be_written_is_not_kept(tmp_path):
    file = tmp_path / "key.pem"
    with Path("/dev/full").open("wb") as full:
        of_full_disk = keygen(file, stdout=full)
    script = f"{shlex.join([*COMMAND, 'keygen', str(file)])} >&-"
    of_closed = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, text=True)
    for done in (of_full_disk, of_closed):
        assert done.returncode == 3
        assert "boardlot: stdout: " in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert not file.exists()


@pytest.mark.parametrize(
    ("file", "status", "said"),
    [
        (
            "-",
            2,
            snapshot(
                "Error: Invalid value for 'FILE': '-' is not a file, and this cannot be stdin or "
                "stdout; write ./- for a file with that name"
            ),
        ),
        (
            "",
            2,
            snapshot(
                "Error: Invalid value for 'FILE': the path is empty; expected the path of a file"
            ),
        ),
        ("missing/key.pem", 3, snapshot("boardlot: missing/key.pem: No such file or directory")),
    ],
)
def test_a_key_needs_a_file(file, status, said, boardlot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = boardlot("keygen", file)
    assert done.status == status and done.said == said
    assert "PRIVATE" not in done.out + done.err and not list(tmp_path.iterdir())
