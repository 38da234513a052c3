"""A profile's credentials go to its own service only, and its file is changed by its owner only."""

import os
import pickle
import stat
import tempfile
from pathlib import Path

import boardlot as bl
import pytest
from boardlot import _core
from boardlot._support.credentials.profiles import Passphrase
from boardlot.cli import main

from ..support.addresses import Untouched
from ..support.service import StandInService, response

URL = "https://api.example.com"
posix = pytest.mark.skipif(os.name != "posix", reason="modes and pipes of POSIX")
root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root becomes others"
)


@pytest.fixture
def live(config, tmp_path):
    """A profile of a key, one of a login and one without credentials."""
    key = tmp_path / "key.pem"
    key.touch(0o600)
    key.write_text(bl.generate_key().private_pem)
    entry = {"base_url": URL, "kind": "api_key", "key_id": "k", "private_key": key}
    _core._save_profile("live", entry)
    login = {"base_url": URL, "kind": "oauth", "client_id": "c", "store": tmp_path / "tokens"}
    _core._save_profile("login", login)
    _core._save_profile("open", {"base_url": URL, "kind": "none"})


@pytest.mark.parametrize("kind", [bl.Client, bl.AsyncClient])
@pytest.mark.parametrize("profile", ["live", "login"])
def test_security_52_a_client_for_another_address_gets_no_credentials_of_a_profile(
    live, kind, profile
):
    with Untouched() as other:
        with pytest.raises(bl.ConfigError, match=r"belong to https://api\.example\.com") as caught:
            kind(other.base_url, profile=profile)
        assert "auth" in caught.value.hint and "profile add" in caught.value.hint
        # Meant, and said: other credentials, or a profile that has none.
        kind(other.base_url, profile=profile, auth=bl.BearerToken("t"))
        kind(other.base_url, profile="open")
    for same in [None, URL, URL + "/", "HTTPS://API.EXAMPLE.COM:443"]:
        client = kind(same, profile=profile)
        assert pickle.loads(pickle.dumps(client)).base_url == URL


COMMANDS = [
    ["fills", "1", "HK"],
    ["request", "GET", "/api/v1.0/server-time"],
    ["status"],
    ["doctor"],
    ["login", "--no-browser", "--timeout", "1"],
    ["logout"],
    ["archive", "update", "trades.db", "--ipos", "hk"],
]


@pytest.mark.parametrize("profile", ["live", "login"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_security_52_no_command_sends_a_profiles_credentials_elsewhere(
    live, profile, command, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    asked = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or "secret")
    with StandInService(lambda _: response({"server_time_ms": "1790000000000"})) as other:
        line = ["--profile", profile, "--base-url", other.base_url, *command]
        failed = main(line) != 0
        printed = capfd.readouterr()
        # Commands about a login have no use for a key.
        if profile == "login" or command[0] not in ("status", "login", "logout"):
            assert failed and "https://api.example.com" in printed.out + printed.err
        sent = b"".join(seen.everything for seen in other.received)
    assert b"X-Api-Key" not in sent and b"x-api-key" not in sent and b"refresh_token" not in sent
    assert asked == []


@posix
@pytest.mark.parametrize(("part", "mode"), [("file", 0o606), ("file", 0o602), ("folder", 0o777)])
def test_security_53_a_configuration_that_others_can_change_is_rejected(live, config, part, mode):
    changed = config if part == "file" else config.parent
    before = changed.stat().st_mode & 0o777
    changed.chmod(mode)
    with pytest.raises(
        bl.ConfigError, match="other users can change it; run: chmod go-w"
    ) as caught:
        bl.Client(profile="live")
    assert str(changed) in str(caught.value)
    changed.chmod(before)
    bl.Client(profile="live")


@root
def test_security_53_only_the_group_that_is_the_users_own_may_write(live, config):
    """With a umask of 002, that is what an editor creates."""
    config.chmod(0o664)
    assert bl.Client(profile="live").base_url == URL
    os.chown(config, os.geteuid(), 12345)
    with pytest.raises(bl.ConfigError, match="other users can change it"):
        bl.Client(profile="live")
    os.chown(config, 12345, 12345)
    with pytest.raises(bl.ConfigError, match="belongs to another user"):
        bl.Client(profile="live")


@posix
def test_security_53_a_link_is_as_safe_as_what_it_leads_to(config, tmp_path):
    _core._save_profile("open", {"base_url": URL, "kind": "none"})
    shared = tmp_path / "shared"
    shared.mkdir()
    config.rename(shared / "config.toml")
    config.symlink_to(shared / "config.toml")
    assert bl.Client(profile="open").base_url == URL
    shared.chmod(0o777)
    with pytest.raises(bl.ConfigError, match="other users can change it"):
        bl.Client(profile="open")


@posix
def test_security_53_what_is_created_is_safe_whatever_the_umask(config):
    before = os.umask(0)
    try:
        _core._save_profile("open", {"base_url": URL, "kind": "none"})
    finally:
        os.umask(before)
    assert config.stat().st_mode & 0o777 == 0o600
    assert config.parent.stat().st_mode & 0o777 == 0o700
    assert bl.Client(profile="open").base_url == URL


@posix
@pytest.mark.parametrize(
    "read",
    [
        lambda path: bl.Client(URL, ca_file=path),
        bl.load_endpoints,
        bl.Replay,
        lambda path: bl.ApiKey("k", path),
        lambda path: bl.Client(profile="live"),
        lambda path: Passphrase("tokens", path, None)(),
    ],
    ids=["ca_file", "endpoints", "cassette", "key", "configuration", "passphrase"],
)
def test_a_file_that_is_a_pipe_or_a_device_is_rejected_at_once(read, config):
    config.parent.mkdir(parents=True, mode=0o700)
    os.mkfifo(config, 0o600)
    for file in (config, Path("/dev/zero"), config.parent):
        rejected = r"not a (regular|key) file|Is a directory"
        with pytest.raises((bl.ConfigError, bl.StoreError), match=rejected) as caught:
            read(file)
        assert str(file) in str(caught.value) or str(config) in str(caught.value)


@root
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_security_53_what_another_user_wrote_does_not_become_the_users_own():
    """A change replaces the file: with the owner that it had, or not at all."""
    user, other = 12345, 23456
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777 | stat.S_ISVTX)
        config = Path(folder) / "boardlot" / "config.toml"
        config.parent.mkdir()
        config.parent.chmod(0o755)
        os.chown(config.parent, user, user)
        planted = "[profiles.live]\nbase_url = 'https://other.example'\n"
        config.write_text(planted)
        config.chmod(0o644)
        os.chown(config, other, other)
        child = os.fork()
        if child == 0:
            os.setgid(user)
            os.setuid(user)
            os.environ["XDG_CONFIG_HOME"] = folder
            try:
                _core._save_profile("mine", {"base_url": URL, "kind": "none"})
            except OSError as error:
                os._exit(7 if "belongs to another user" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert config.read_text() == planted and config.stat().st_uid == other
        assert {path.name for path in config.parent.iterdir()} == {config.name, ".config.toml.lock"}
