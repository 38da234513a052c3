"""Logins in the command line: which one is meant, and stores that are of no use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
from boardlot.cli import main

from ..support.logins import demo_login

pytest.importorskip("click")

SECRET = "a passphrase"


class Person:
    """Who sits at the terminal and at the browser."""

    def __init__(self, sandbox: bl.Sandbox) -> None:
        self.sandbox = sandbox
        self.base = ["--base-url", sandbox.base_url]
        self.types = [SECRET]
        self.prompts: list[str] = []
        self.browsers: list[dict[str, Any]] = []

    def getpass(self, prompt: str) -> str:
        """Types what there is, and its last again and again."""
        self.prompts.append(prompt)
        return self.types.pop(0) if len(self.types) > 1 else self.types[0]

    def login(self, base_url: str, *, open_browser: bool, **options: Any) -> bl.OAuth:
        self.browsers.append(options)
        return demo_login(self.sandbox)(base_url, open_browser=open_browser, **options)

    def logged_in(self, file: Path) -> str:
        """The client id of a login whose tokens lie in the file."""
        flow = bl.begin_login(self.sandbox.base_url, store=bl.EncryptedFileStore(file, SECRET))
        return flow.finish(self.sandbox.authorize_demo_user(flow.url)).client_id


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Person]:
    """There is no keychain: its bus does not exist."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'no-bus'}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with bl.Sandbox() as sandbox:
        someone = Person(sandbox)
        monkeypatch.setattr("getpass.getpass", someone.getpass)
        monkeypatch.setattr(bl, "login", someone.login)
        yield someone


def test_logout_rejects_a_login_that_is_not_there(
    person: Person, tmp_path: Path, capsys: Any
) -> None:
    missing = tmp_path / "missing"
    for client_id in ([], ["client-17"]):
        assert main([*person.base, "logout", *client_id, "--store", str(missing)]) == 1
        said = capsys.readouterr().err
        assert "no such login" in said and str(missing) in said and "forgot" not in said
    assert not list(tmp_path.iterdir())

    store = tmp_path / "tokens"
    known = person.logged_in(store)
    (tmp_path / "tokens.refresh.lock").unlink()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main([*person.base, "logout", f"{known}x", "--store", str(store)]) == 1
    said = capsys.readouterr().err
    assert "no such login" in said and f"hint: The last login there is {known}.\n" in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_last_login_at_the_service_is_meant_where_no_id_is_given(
    person: Person, tmp_path: Path, capsys: Any
) -> None:
    at = ["--store", str(tmp_path / "tokens")]
    assert main([*person.base, "login", *at]) == 0
    client_id = capsys.readouterr().err.split("client ")[1].split()[0]

    # However the address of the service is written.
    assert main(["--base-url", f"{person.sandbox.base_url}/", "status", *at]) == 0
    shown = capsys.readouterr().out
    assert client_id in shown and "trade:read" in shown and at[1] in shown

    assert main([*person.base, "logout", *at]) == 0
    assert f"deleted the tokens of {client_id}" in capsys.readouterr().err
    for command in ("status", "logout"):
        assert main([*person.base, command, *at]) == 1
        assert "no such login" in capsys.readouterr().err


def test_status_does_not_pass_over_a_store(person: Person, tmp_path: Path, capsys: Any) -> None:
    store = tmp_path / "tokens"
    assert main([*person.base, "status", "--store", str(store)]) == 1
    assert str(store) in capsys.readouterr().err
    person.logged_in(store)
    person.types = ["another passphrase"]
    assert main([*person.base, "status", "--store", str(store)]) == 1
    assert "the passphrase is wrong" in capsys.readouterr().err


def test_status_compares_the_clocks_without_a_keychain(person: Person, capsys: Any) -> None:
    assert main([*person.base, "status", "--format", "jsonl"]) == 0
    seen = capsys.readouterr()
    assert set(json.loads(seen.out)) == {"service", "clock_offset"}
    assert "no login to show: the keychain cannot be used" in seen.err


@pytest.mark.parametrize("command", [["login"], ["logout"], ["logout", "id"], ["status", "id"]])
def test_without_a_keychain_the_way_out_is_a_file(
    command: list[str], person: Person, capsys: Any
) -> None:
    assert main([*person.base, *command]) == 1
    said = capsys.readouterr().err
    assert "the keychain cannot be used" in said
    assert "hint: Unlock it, or add --store FILE" in said
    assert not person.browsers


def test_a_new_store_gets_its_passphrase_before_the_login(person: Person, tmp_path: Path) -> None:
    store = tmp_path / "new" / "tokens"
    assert main([*person.base, "login", "--store", str(store)]) == 0
    assert person.prompts == [f"new passphrase of {store}: ", "repeat the passphrase: "]
    assert bl.EncryptedFileStore(store, SECRET).load(person.sandbox.base_url)

    assert main([*person.base, "login", "--store", str(store)]) == 0
    assert person.prompts[2:] == [f"passphrase of {store}: "]


@pytest.mark.parametrize(
    ("types", "said"),
    [([""], "the passphrase is empty"), (["one", "two"], "the passphrases differ")],
)
def test_a_new_passphrase_is_typed_twice_and_not_empty(
    types: list[str], said: str, person: Person, tmp_path: Path, capsys: Any
) -> None:
    person.types = types
    assert main([*person.base, "login", "--store", str(tmp_path / "tokens")]) == 2
    assert said in capsys.readouterr().err
    assert not person.browsers
    assert not list(tmp_path.iterdir())


def test_a_wrong_passphrase_is_rejected_before_the_browser_opens(
    person: Person, tmp_path: Path, capsys: Any
) -> None:
    store = tmp_path / "tokens"
    person.logged_in(store)
    before = store.read_bytes()
    person.types = ["another passphrase"]
    assert main([*person.base, "login", "--store", str(store)]) == 1
    assert "the passphrase is wrong" in capsys.readouterr().err
    assert not person.browsers
    assert store.read_bytes() == before


@pytest.mark.parametrize("folder", ["/proc", "a-file"])
def test_an_unwritable_store_is_rejected_before_anything_is_requested(
    folder: str, person: Person, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "a-file").touch()
    store = tmp_path / folder / "tokens"
    assert main([*person.base, "login", "--store", str(store)]) == 1
    said = capsys.readouterr().err
    assert f"boardlot: {store}: {store.parent} is not writable: " in said
    assert "choose another --store FILE" in said
    assert not person.prompts and not person.browsers


def test_login_uses_the_client_that_is_given(person: Person, tmp_path: Path, capsys: Any) -> None:
    at = ["--store", str(tmp_path / "tokens")]
    assert main([*person.base, "--client-id", "client-17", "login", *at]) == 2
    assert "--client-id needs --port PORT" in capsys.readouterr().err
    assert not person.browsers

    # One that is registered already, kept in another store.
    other = bl.MemoryStore()
    flow = bl.begin_login(person.sandbox.base_url, store=other)
    client_id = flow.finish(person.sandbox.authorize_demo_user(flow.url)).client_id
    entry = other.load(person.sandbox.base_url)
    assert entry is not None
    port = str(json.loads(entry)["redirect_port"])
    assert main([*person.base, "--client-id", client_id, "login", *at, "--port", port]) == 0
    assert f"logged in as client {client_id}" in capsys.readouterr().err

    # Its port is known from now on.
    assert main([*person.base, "--client-id", client_id, "login", *at]) == 0
    assert f"logged in as client {client_id}" in capsys.readouterr().err


def test_a_profile_is_not_renewed_by_another_client(
    person: Person, tmp_path: Path, capsys: Any
) -> None:
    at = ["--store", str(tmp_path / "tokens")]
    assert main([*person.base, "--profile", "paper", "login", *at]) == 0
    assert main(["--profile", "paper", "--client-id", "another", "login"]) == 2
    assert "the profile paper belongs to client-" in capsys.readouterr().err
    assert len(person.browsers) == 1


def test_an_entry_that_no_login_wrote_is_an_error(
    person: Person, tmp_path: Path, capsys: Any
) -> None:
    store = tmp_path / "tokens"
    bl.EncryptedFileStore(store, SECRET).save(person.sandbox.base_url, b"[]")
    assert main([*person.base, "status", "--store", str(store)]) == 1
    assert "is not a registration" in capsys.readouterr().err
