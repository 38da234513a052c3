"""`boardlot profile`: profiles are added, listed, chosen and removed, and nobody writes TOML."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
import tomllib

pytest.importorskip("click")
from boardlot.cli import main

URL = "https://api.example.com"
PASSPHRASE = "correct horse"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "boardlot" / "config.toml"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[bl.Sandbox]:
    with bl.Sandbox(seed=7, fills=60) as sandbox:
        yield sandbox


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return write_key(tmp_path / "key.pem", bl.generate_key())


def write_key(file: Path, key: Any) -> Path:
    file.touch(mode=0o600)
    file.write_text(key.private_pem)
    return file


def secret_file(file: Path, text: str = f"{PASSPHRASE}\n") -> Path:
    file.touch(mode=0o600)
    file.write_text(text)
    return file


def profiles(capsys: Any) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert main(["profile", "list", "--format", "json"]) == 0
    return {row["profile"]: row for row in json.loads(capsys.readouterr().out)}


def test_a_key_becomes_a_profile_that_is_listed_shown_and_removed(
    config: Path, key: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(key.parent)
    line = ["profile", "add", "live", "--base-url", URL, "--key-id", "k-1", "--key-file", key.name]
    assert main(line) == 0
    assert f"added the profile live to {config}" in capsys.readouterr().err
    # The file is found from any folder, and contains no secret.
    assert tomllib.loads(config.read_text()) == {
        "profiles": {
            "live": {
                "base_url": URL,
                "auth": {"kind": "api_key", "key_id": "k-1", "private_key": str(key)},
            }
        }
    }
    assert profiles(capsys)["live"] == {
        "profile": "live",
        "default": False,
        "service": URL,
        "kind": "key",
        "id": "k-1",
        "secret": str(key),
        "passphrase": None,
        "rate_limit": None,
        "rate_limit_shared": None,
    }
    assert main(["profile", "show", "live"]) == 0
    shown = capsys.readouterr().out
    assert URL in shown and "k-1" in shown and str(key) in shown
    with bl.Client(profile="live") as client:
        assert client.base_url == URL

    assert main(["profile", "remove", "live"]) == 0
    assert f"the key file {key} was not deleted" in capsys.readouterr().err
    assert key.exists() and profiles(capsys) == {}


def test_the_default_profile_is_used_only_if_nothing_else_selects_a_service(
    config: Path, sandbox: bl.Sandbox, tmp_path: Path, capsys: Any
) -> None:
    key = bl.generate_key()
    file = write_key(tmp_path / "key.pem", key)
    add = ["profile", "add", "paper", "--base-url", sandbox.base_url, "--key-file", str(file)]
    assert main([*add, "--key-id", sandbox.upload_key(key.public_pem)]) == 0
    assert main(["time"]) == 2
    said = capsys.readouterr().err
    assert "--base-url URL, or --profile NAME" in said and "boardlot profile use" in said

    assert main(["profile", "use", "paper"]) == 0
    assert profiles(capsys)["paper"]["default"] is True
    assert main(["dividends", "HK.00700", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)
    # Another service never gets the credentials of the default profile.
    with bl.Sandbox() as other:
        assert main(["--base-url", other.base_url, "dividends", "HK.00700"]) == 1
        assert "No credentials were given" in capsys.readouterr().err
    with pytest.raises(bl.ConfigError, match="base_url is missing"):
        bl.Client()

    assert main(["profile", "use", "--none"]) == 0
    assert main(["time"]) == 2
    assert main(["profile", "use", "paper"]) == 0
    assert main(["profile", "remove", "paper"]) == 0
    assert "default_profile" not in config.read_text()


def test_what_cannot_be_used_is_not_added(config: Path, key: Path, capsys: Any) -> None:
    public = key.with_name("public.pem")
    public.write_text(bl.generate_key().public_pem)
    base = ["profile", "add", "live", "--base-url", URL]
    for more, said in (
        (["--key-id", "k", "--key-file", str(key.with_name("missing.pem"))], "missing.pem"),
        (["--key-id", "k", "--key-file", str(public)], "public key"),
        (["--key-id", "k"], "--key-file"),
        (["--key-file", str(key)], "--key-id"),
        (["--store", str(key.with_name("no-tokens"))], "no such login"),
        (["--client-id", "c", "--store", str(key.with_name("no-tokens"))], "no-tokens"),
        (["--passphrase-file", "secret"], "--store FILE or --key-file FILE"),
        (["--key-id", "k", "--key-file", str(key), "--client-id", "c"], "not for both"),
        (["--base-url", "http://localhost:8080"], "127.0.0.1:8080"),
        (["--base-url", "api.example.com"], "https://api.example.com"),
    ):
        assert main([*base, *more]) in (1, 2), more
        assert said in capsys.readouterr().err, more
    assert main(["profile", "add", "a b", "--base-url", URL]) == 2
    assert "letters, digits, _ and - only" in capsys.readouterr().err
    assert main(["profile", "add", "live"]) == 2
    assert "--base-url is missing" in capsys.readouterr().err
    assert not config.exists()


def test_an_existing_profile_is_replaced_only_on_request(
    config: Path, key: Path, capsys: Any
) -> None:
    add = ["profile", "add", "live", "--base-url", URL]
    assert main([*add, "--key-id", "k", "--key-file", str(key)]) == 0
    config.write_text(f"# mine\n{config.read_text()}")
    before = config.read_bytes()
    assert main(add) == 2
    assert "add --replace" in capsys.readouterr().err
    assert config.read_bytes() == before
    assert main([*add, "--replace"]) == 0
    assert config.read_text() == f'# mine\n[profiles.live]\nbase_url = "{URL}"\n'


def test_an_unknown_profile_is_named_with_the_nearest_one(config: Path, capsys: Any) -> None:
    for command in (["show"], ["use"], ["remove"]):
        assert main(["profile", *command, "live"]) == 2
        assert "boardlot profile add" in capsys.readouterr().err
    for name in ("live", "paper"):
        assert main(["profile", "add", name, "--base-url", URL]) == 0
    for command in (["show"], ["use"], ["remove"]):
        assert main(["profile", *command, "papre"]) == 2
        assert "did you mean 'paper'?" in capsys.readouterr().err
    assert set(profiles(capsys)) == {"live", "paper"}


def test_a_broken_profile_is_listed_with_its_mistake_and_can_be_removed(
    config: Path, capsys: Any
) -> None:
    assert main(["profile", "add", "live", "--base-url", URL]) == 0
    config.write_text(f"{config.read_text()}\n[profiles.odd]\nbase_ur = 3\n")
    listed = profiles(capsys)
    assert listed["live"]["service"] == URL
    assert listed["odd"]["kind"] == "invalid" and "base_ur" in listed["odd"]["secret"]
    assert main(["profile", "show", "odd"]) == 2
    assert main(["profile", "remove", "odd"]) == 0
    assert set(profiles(capsys)) == {"live"}


def test_a_profile_keeps_its_rate_limit_and_all_with_the_same_key_share_it(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    add = ["profile", "add", "live", "--base-url", URL, "--rate-limit", "20"]
    assert main([*add, "--shared"]) == 0
    row = profiles(capsys)["live"]
    assert (row["rate_limit"], row["rate_limit_shared"]) == (20.0, True)
    assert "rate_limit = 20.0\nrate_limit_shared = true\n" in config.read_text()
    shown = bl.Client(profile="live").explain("GET", "/x").rate_limit
    assert shown is not None
    assert f"(name '{URL}')" in shown
    # A limit that is passed takes the place of the profile's.
    own = bl.Client(profile="live", rate_limit=5.0).explain("GET", "/x").rate_limit
    assert own == "5 requests per second of this client"
    assert main([*add, "--replace"]) == 0
    alone = bl.Client(profile="live").explain("GET", "/x").rate_limit
    assert alone == "20 requests per second of this client"
    assert main(["profile", "add", "other", "--base-url", URL, "--shared"]) == 2
    for wrong in ("rate_limit = 0.0", "rate_limit_shared = true"):
        config.write_text(f"[profiles.bad]\nbase_url = '{URL}'\n{wrong}\n")
        with pytest.raises(bl.ConfigError, match="rate_limit"):
            bl.Client(profile="bad")


def test_a_login_in_a_file_becomes_a_profile_with_its_passphrase(
    config: Path, sandbox: bl.Sandbox, tmp_path: Path, capsys: Any
) -> None:
    store, secret = tmp_path / "tokens", secret_file(tmp_path / "secret")
    flow = bl.begin_login(sandbox.base_url, store=bl.EncryptedFileStore(store, PASSPHRASE))
    client_id = flow.finish(sandbox.authorize_demo_user(flow.url)).client_id
    add = ["profile", "add", "nightly", "--base-url", f"{sandbox.base_url}/", "--store", str(store)]
    assert main([*add, "--passphrase-file", str(secret)]) == 0
    row = profiles(capsys)["nightly"]
    assert (row["kind"], row["id"], row["secret"]) == ("login", client_id, str(store))
    assert row["passphrase"] == f"from the file {secret}"
    assert PASSPHRASE not in config.read_text()
    with bl.Client(profile="nightly") as client:
        assert len(client.dividends("HK.00700"))

    printing = shlex.join([sys.executable, "-c", f"print({PASSPHRASE!r})"])
    assert main([*add, "--replace", "--passphrase-command", printing]) == 0
    assert profiles(capsys)["nightly"]["passphrase"] == f"from the command {sys.executable}"
    assert main(["--profile", "nightly", "status"]) == 0
    assert client_id in capsys.readouterr().out

    assert main(["profile", "remove", "nightly"]) == 0
    said = capsys.readouterr().err
    # The command that it prints deletes the tokens.
    logout = shlex.split(said.split("to delete them: ")[1])[1:]
    assert main([*logout, "--passphrase-file", str(secret)]) == 0
    assert f"deleted the tokens of {client_id}" in capsys.readouterr().err
