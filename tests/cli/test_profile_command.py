"""`boardlot profile`: profiles are added, listed, chosen and removed, and nobody writes TOML."""

import shlex
import sys
from pathlib import Path

import boardlot as bl
import pytest
import tomli
from inline_snapshot import snapshot

from ..support.keys import uploaded_key
from ..support.logins import demo_login
from ..support.words import assert_transcript, named

URL = "https://api.example.com"
PASSPHRASE = "correct horse"
SANDBOX = {"fills": 60}
ADD = ["profile", "add", "live", "--base-url", URL]


@pytest.fixture(autouse=True)
def configured(config):
    """No test reads the profiles of the user."""


@pytest.fixture
def key(tmp_path, sandbox):
    """A key file, and its id at the sandbox."""
    key_id, file = uploaded_key(sandbox, tmp_path)
    return Path(file), key_id


@pytest.fixture
def profiles(boardlot):
    return lambda: {
        row["profile"]: row for row in boardlot("profile", "list", "--format", "json").json
    }


def test_a_key_becomes_a_profile_that_is_listed_shown_and_removed(
    config, key, boardlot, profiles, monkeypatch
):
    file, key_id = key
    monkeypatch.chdir(file.parent)
    done = boardlot(*ADD, "--key-id", key_id, "--key-file", file.name)
    assert done.status == 0 and f"added the profile live to {config}" in done.err
    # The file is found from any folder, and contains no secret.
    auth = {"kind": "api_key", "key_id": key_id, "private_key": str(file)}
    assert tomli.loads(config.read_text()) == {
        "profiles": {"live": {"base_url": URL, "auth": auth}}
    }
    facts = {"service": URL, "kind": "key", "id": key_id, "secret": str(file)}
    nothing = dict.fromkeys(("passphrase", "rate_limit", "rate_limit_shared"))
    assert profiles() == {"live": {"profile": "live", "default": False, **facts, **nothing}}
    shown = boardlot("profile", "show", "live").out
    assert all(part in shown for part in (URL, key_id, str(file)))
    with bl.Client(profile="live") as client:
        assert client.base_url == URL

    done = boardlot("profile", "remove", "live")
    assert done.status == 0 and f"the key file {file} was not deleted" in done.err
    assert file.exists() and profiles() == {}


def test_the_default_profile_is_used_only_if_nothing_else_selects_a_service(
    config, sandbox, key, boardlot, profiles
):
    file, key_id = key
    add = ["profile", "add", "paper", "--base-url", sandbox.base_url, "--key-file", file]
    assert boardlot(*add, "--key-id", key_id).status == 0
    none = boardlot("time")
    assert none.status == 2 and none.said == snapshot(
        "Error: no service selected: pass --base-url URL, or --profile NAME; `boardlot "
        "profile use NAME` makes a profile the default"
    )

    assert boardlot("profile", "use", "paper").status == 0
    assert profiles()["paper"]["default"] is True
    assert boardlot("dividends", "HK.00700", "--format", "json").json
    # Another service never gets the credentials of the default profile.
    with bl.Sandbox() as other:
        done = boardlot("--base-url", other.base_url, "dividends", "HK.00700")
    assert done.status == 3 and "No credentials were given" in done.said
    with pytest.raises(bl.ConfigError, match="base_url is missing"):
        bl.Client()

    assert boardlot("profile", "use", "--none").status == 0
    assert boardlot("time").status == 2
    assert boardlot("profile", "use", "paper").status == 0
    assert boardlot("profile", "remove", "paper").status == 0
    assert "default_profile" not in config.read_text()


def test_what_cannot_be_used_or_kept_is_refused(config, key, boardlot, monkeypatch):
    monkeypatch.chdir(key[0].parent)
    key[0].with_name("public.pem").write_text(bl.generate_key().public_pem)

    def refusal(line):
        done = boardlot(*shlex.split(line))
        assert done.status in (2, 3) and "hunter2" not in done.err and not config.exists(), line
        return named(f"{done.said} ({done.status})", FOLDER=key[0].parent)

    assert_transcript(Path(__file__).with_name("refusals") / "profiles.txt", refusal)


def test_an_existing_profile_is_replaced_only_on_request(config, key, boardlot):
    assert boardlot(*ADD, "--key-id", key[1], "--key-file", key[0]).status == 0
    before = f"# mine\n{config.read_text()}"
    config.write_text(before)
    again = boardlot(*ADD)
    assert again.status == 2 and "add --replace" in again.said and config.read_text() == before
    assert boardlot(*ADD, "--replace").status == 0
    assert config.read_text() == f'# mine\n[profiles.live]\nbase_url = "{URL}"\n'


def test_a_broken_profile_is_listed_with_its_mistake_and_can_be_removed(config, boardlot, profiles):
    assert boardlot(*ADD).status == 0
    for command in ("show", "use", "remove"):
        assert "did you mean 'live'?" in boardlot("profile", command, "lvie").refusal
    config.write_text(f"{config.read_text()}\n[profiles.odd]\nbase_ur = 3\n")
    listed = profiles()
    assert listed["live"]["service"] == URL
    assert listed["odd"]["kind"] == "invalid" and "base_ur" in listed["odd"]["secret"]
    assert boardlot("profile", "show", "odd").status == 2
    assert boardlot("profile", "remove", "odd").status == 0
    assert set(profiles()) == {"live"}


def test_a_profile_keeps_its_rate_limit_and_all_with_the_same_key_share_it(
    config, tmp_path, boardlot, profiles, monkeypatch
):
    def explained(**options):
        with bl.Client(profile="live", **options) as client:
            return client.explain("GET", "/x").rate_limit

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    add = [*ADD, "--rate-limit", "20"]
    assert boardlot(*add, "--shared").status == 0
    row = profiles()["live"]
    assert (row["rate_limit"], row["rate_limit_shared"]) == (20.0, True)
    assert "rate_limit = 20.0\nrate_limit_shared = true\n" in config.read_text()
    assert f"(name '{URL}')" in explained()
    # A limit that is passed replaces the profile's.
    assert explained(rate_limit=5.0) == "5 requests per second of this client"
    assert boardlot(*add, "--replace").status == 0
    assert explained() == "20 requests per second of this client"
    for wrong in ("rate_limit = 0.0", "rate_limit_shared = true"):
        config.write_text(f"[profiles.live]\nbase_url = '{URL}'\n{wrong}\n")
        with pytest.raises(bl.ConfigError, match="rate_limit"):
            bl.Client(profile="live")


def test_a_login_in_a_file_becomes_a_profile_with_its_passphrase(
    config, sandbox, tmp_path, boardlot, profiles
):
    store, secret = tmp_path / "tokens", tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text(f"{PASSPHRASE}\n")
    client_id = demo_login(sandbox, bl.EncryptedFileStore(store, PASSPHRASE)).client_id
    add = ["profile", "add", "nightly", "--base-url", f"{sandbox.base_url}/", "--store", store]
    printing = shlex.join([sys.executable, "-c", f"print({PASSPHRASE!r})"])
    for how, source, shown in (
        ("--passphrase-file", secret, f"from the file {secret}"),
        ("--passphrase-command", printing, f"from the command {sys.executable}"),
    ):
        assert boardlot(*add, "--replace", how, source).status == 0
        facts = {"kind": "login", "id": client_id, "secret": str(store), "passphrase": shown}
        assert profiles()["nightly"].items() >= facts.items()
        assert client_id in boardlot("--profile", "nightly", "status").out

    # The command that it prints deletes the tokens.
    said = boardlot("profile", "remove", "nightly").err
    logout = shlex.split(said.split("to delete them: ")[1])[1:]
    done = boardlot(*logout, "--passphrase-file", secret)
    assert f"deleted the tokens of {client_id}" in done.said
