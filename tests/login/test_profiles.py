"""`config.toml`: changed by many processes at once, and as its owner keeps it."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import boardlot as bl
import pytest
from boardlot import _core
from boardlot.cli import main

from ..support.interrupts import ends_at_once
from ..support.threads import wait_until

fcntl = pytest.importorskip("fcntl", reason="locks, links and modes of POSIX")

URL = "https://api.example.com"
KEEP = "import sys, tests.login.test_profiles as t; [t.keep(name) for name in sys.argv[1:]]"


def keep(name):
    _core._save_profile(name, {"base_url": URL, "kind": "oauth", "client_id": f"client-{name}"})


def profiles(*names):
    return {_core._profile(name)["client_id"] for name in names}


def test_profiles_that_are_written_at_once_are_all_kept(config):
    for number in range(2):
        names = [f"p{number}-{process}" for process in range(4)]
        line = [sys.executable, "-c", KEEP]
        started = [subprocess.Popen([*line, f"{n}-a", f"{n}-b", f"{n}-c"]) for n in names]
        assert [process.wait(120) for process in started] == [0] * 4
        written = [f"{name}-{letter}" for name in names for letter in "abc"]
        assert profiles(*written) == {f"client-{name}" for name in written}
        assert not list(config.parent.glob("*.new"))


def test_a_process_that_dies_while_it_writes_loses_nothing(config):
    keep("first")
    for number in range(3):
        names = [f"n{number}-{place}" for place in range(100)]
        with subprocess.Popen([sys.executable, "-c", KEEP, *names]) as process:
            wait_until(partial(has_profile, config, names[3]))
            process.kill()
        # Each profile in the file is whole, from the first profile to the last that was written.
        written = [name for name in names if has_profile(config, name)]
        assert written == names[: len(written)] and len(written) >= 4
        assert profiles("first", *written) == {f"client-{name}" for name in ["first", *written]}
    keep("last")


def has_profile(config, name):
    return f"{name}]" in config.read_text()


@pytest.fixture
def lock(config):
    """The lock of the file, as another process holds it."""
    keep("first")
    with (config.parent / ".config.toml.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def test_ctrl_c_ends_the_wait_for_another_process_at_once(lock, config):
    before = config.read_bytes()
    ends_at_once(lambda: keep("second"))
    assert config.read_bytes() == before


def test_a_write_waits_for_the_process_before_it(lock, config):
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(keep, "second")
        config.write_text(config.read_text().replace("client-first", "client-new"))
        fcntl.flock(lock, fcntl.LOCK_UN)
        writing.result()
    assert profiles("first", "second") == {"client-new", "client-second"}


@pytest.mark.parametrize(("relative", "exists"), [(False, True), (True, False)])
def test_a_link_stays_a_link(relative, exists, config, tmp_path):
    target = tmp_path / "dotfiles" / "boardlot.toml"
    target.parent.mkdir()
    config.parent.mkdir(parents=True)
    middle = tmp_path / "dotfiles" / "link.toml"
    middle.symlink_to("boardlot.toml")
    config.symlink_to(Path("../../dotfiles/link.toml") if relative else middle)
    if exists:
        target.write_text("# mine\n")
    keep("a")
    keep("b")
    assert config.is_symlink() and middle.is_symlink() and not target.is_symlink()
    assert target.read_text().startswith("# mine\n" if exists else "[profiles.a]")
    assert profiles("a", "b") == {"client-a", "client-b"}


def test_links_in_a_circle_are_an_error(config):
    config.parent.mkdir(parents=True)
    config.symlink_to("other")
    (config.parent / "other").symlink_to(config)
    with pytest.raises((OSError, bl.ConfigError), match="symbolic link"):
        keep("a")


@pytest.mark.parametrize("mode", [0o640, 0o400])
def test_mode_comments_and_all_the_rest_stay(mode, config):
    config.parent.mkdir(parents=True)
    auth = 'auth = { kind = "api_key", key_id = "k", private_key = "k.pem" } # not here'
    text = f'# My own.\n\n[profiles.live]   # the real one\nbase_url  =  "{URL}"\n{auth}\n'
    config.write_text(text)
    config.chmod(mode)
    before = config.stat()
    keep("paper")
    after = config.stat()
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert config.read_text().startswith(text)
    assert profiles("paper") == {"client-paper"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_that_root_changes_stays_its_owners(config):
    keep("a")
    os.chown(config, 12345, 23456)
    keep("b")
    assert (config.stat().st_uid, config.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize("text", ["profiles = 3", "[profiles.a", '[profiles.a]\nbase_url = "x"'])
def test_what_cannot_take_the_profile_is_left_as_it_is(text, config):
    config.parent.mkdir(parents=True)
    config.write_text(text)
    with pytest.raises(bl.ConfigError, match=r"config\.toml"):
        keep("a")
    assert config.read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[profiles.a]\nbase_url = https://secret.example",
            "config.toml: line 2, 'base_url': string values must be quoted",
        ),
        ('[profiles.a]\nbase_url = "x"\nbase_url = "secret"', "line 3, 'base_url': duplicate key"),
        ("\n[profiles.a\n", "line 2, '[profiles.a': unclosed table, expected `]`"),
        ("[profiles.a]\nproxy: http://me:secret@proxy", "config.toml: line 2: "),
        ('[profiles.a]\nproxy = """\nhttp://me:secret\\@proxy"""', "config.toml: line 3: "),
        ("[profiles.a]\nc = [\n 'x', secret]", "config.toml: line 3: "),
    ],
)
@pytest.mark.parametrize("use", [lambda: bl.Client(profile="a"), lambda: keep("b")])
def test_a_fault_of_the_file_is_found_by_its_line(text, said, use, config):
    config.parent.mkdir(parents=True)
    config.write_text(text)
    with pytest.raises(bl.ConfigError) as caught:
        use()
    assert said in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize("way", ["a file", "no rights", "a link to nowhere"])
def test_a_login_requests_nothing_if_its_profile_cannot_be_written(
    way, config, tmp_path, monkeypatch, capsys
):
    if way == "a file":
        config.parent.parent.mkdir()
        config.parent.write_text("")
    elif way == "no rights":
        monkeypatch.setenv("XDG_CONFIG_HOME", "/proc")
    else:
        config.parent.mkdir(parents=True)
        config.symlink_to("/proc/nowhere/config.toml")
    asked = []
    monkeypatch.setattr("getpass.getpass", lambda *prompt: asked.append(prompt) or "secret")
    monkeypatch.setattr(bl, "login", lambda *login, **_: asked.append(login))
    with bl.Sandbox() as sandbox:
        line = ["--base-url", sandbox.base_url, "--profile", "live", "login"]
        assert main([*line, "--store", str(tmp_path / "tokens")]) == 3
        assert not sandbox.requests
    said = capsys.readouterr().err
    assert "config.toml: " in said and " is not writable: " in said
    assert "hint: Make the folder writable, or omit --profile" in said
    assert "nothing was sent" not in said
    assert not asked and not (tmp_path / "tokens").exists()


def test_a_profile_that_cannot_be_written_after_all_leaves_a_login_that_can_be_used(
    config, tmp_path, monkeypatch, capsys
):
    def login(base_url, *, open_browser, **options):
        flow = bl.begin_login(base_url, **options)
        # Another process was quicker.
        keep("live")
        return flow.finish(sandbox.authorize_demo_user(flow.url))

    monkeypatch.setattr(bl, "login", login)
    monkeypatch.setattr("getpass.getpass", lambda _: "a passphrase")
    with bl.Sandbox() as sandbox:
        store = ["--store", str(tmp_path / "tokens")]
        assert main(["--base-url", sandbox.base_url, "--profile", "live", "login", *store]) == 3
        said = capsys.readouterr().err
        assert "the login was stored, but the profile live was not: " in said
        assert "nothing was sent" not in said
        line = said.split("Use the login with ")[1].split(",")[0].split()
        assert main([*line, "sim-orders", "5001", "--format", "json"]) == 0
    assert profiles("live") == {"client-live"}
