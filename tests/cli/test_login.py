"""Logins in the command line: which one is meant, and stores that are of no use."""

import json
from functools import partial
from pathlib import Path

import boardlot as bl
import pytest
from inline_snapshot import snapshot

from ..support.callbacks import kept_port
from ..support.logins import demo_login
from ..support.words import assert_transcript, named

SECRET = "a passphrase"


class Person:
    """The person at the terminal and at the browser."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.base = ["--base-url", sandbox.base_url]
        self.types, self.prompts, self.browsers = [SECRET], [], []

    def getpass(self, prompt):
        """Types what there is, and its last again and again."""
        self.prompts.append(prompt)
        return self.types.pop(0) if len(self.types) > 1 else self.types[0]

    def login(self, base_url, *, open_browser, **options):
        self.browsers.append(options)
        return demo_login(self.sandbox, **options)

    def logged_in(self, store):
        """The client id of a login whose tokens are in the store."""
        return demo_login(self.sandbox, store).client_id


@pytest.fixture
def person(monkeypatch, tmp_path, config):
    """Disables the keychain: its bus does not exist."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'no-bus'}")
    with bl.Sandbox() as sandbox:
        someone = Person(sandbox)
        monkeypatch.setattr("getpass.getpass", someone.getpass)
        monkeypatch.setattr(bl, "login", someone.login)
        yield someone


@pytest.fixture
def store(tmp_path):
    return tmp_path / "tokens"


@pytest.fixture
def tokens(store):
    return bl.EncryptedFileStore(store, SECRET)


def test_a_profile_is_logged_in_renewed_shown_and_logged_out(person, boardlot, store, config):
    live = partial(boardlot, "--profile", "paper")
    done = live(*person.base, "login", "--store", store)
    assert done.status == 0 and "quote:read" in done.err
    client_id = done.err.split("client ")[1].split()[0]
    assert person.prompts == [f"new passphrase of {store}: ", "repeat the passphrase: "]
    assert store.stat().st_mode & 0o777 == 0o600
    assert "token" not in config.read_text().replace("tokens", "")
    with bl.Client(profile="paper") as client:
        assert len(client.dividends("HK.00700")) > 0

    # However the login is named.
    for line in (
        [*person.base, "status", client_id, "--store", store],
        [*person.base, "--client-id", client_id, "--store", store, "status"],
        ["--base-url", f"{person.sandbox.base_url}/", "status", "--store", store],
        ["--profile", "paper", "status"],
    ):
        shown = boardlot(*line)
        assert (shown.status, shown.err) == (0, "")
        assert all(part in shown.out for part in (client_id, "trade:read", "clock_offset"))
    assert live("status", "--format", "jsonl").json["client_id"] == client_id

    before = config.read_bytes()
    for line in (["login"], ["login", "--store", store], [*person.base, "login"]):
        said = live(*line).said
        assert f"client {client_id}" in said and "renewed the login of the profile paper" in said
    assert config.read_bytes() == before
    browsers = len(person.browsers)
    other = live("--client-id", "another", "login")
    assert other.status == 2 and named(other.said, CLIENT=client_id) == snapshot(
        "Error: the profile paper belongs to CLIENT: for another login, choose another profile name"
    )
    assert len(person.browsers) == browsers

    assert named(live("logout").said, CLIENT=client_id) == snapshot("deleted the tokens of CLIENT")
    for command in ("status", "logout"):
        assert "no such login" in boardlot(*person.base, command, "--store", store).failure
    # The logout has forgotten the registration, so that the new one has an id of its own.
    said = live("login").err
    assert "updated the profile in" in said and f"client {client_id}" not in said


def test_logout_rejects_a_login_that_is_not_there(person, boardlot, store, tokens):
    done = boardlot(*person.base, "logout", "client-17", "--store", store)
    assert done.status == 3 and not store.exists()
    assert "no such login" in done.said and str(store) in done.said

    known = person.logged_in(tokens)
    before = store.read_bytes()
    done = boardlot(*person.base, "logout", f"{known}x", "--store", store)
    here = {"FOLDER": store.parent, "URL": person.sandbox.base_url, "OTHER": f"{known}x"}
    assert done.status == 3 and named(done.said, **here, CLIENT=known) == snapshot(
        "boardlot: no such login: FOLDER/tokens contains no login of OTHER at URL hint:"
        " The last login there is CLIENT."
    )
    assert store.read_bytes() == before


def test_a_login_is_used_by_its_client_id(person, boardlot, store, tokens):
    client_id = person.logged_in(tokens)
    line = [*person.base, "sim-orders", "5001", "--format", "json", "--store", store]
    assert boardlot(*line, "--client-id", client_id).json
    assert boardlot(*line).status == 2


def test_a_store_that_cannot_be_read_is_an_error(person, boardlot, store, tokens):
    missing = boardlot(*person.base, "status", "--store", store)
    assert missing.status == 3 and str(store) in missing.said
    tokens.save(person.sandbox.base_url, b"[]")
    assert "is not a registration" in boardlot(*person.base, "status", "--store", store).failure
    person.types = ["another passphrase"]
    before = store.read_bytes()
    for command in ("status", "login"):
        wrong = boardlot(*person.base, command, "--store", store)
        assert wrong.status == 3 and "the passphrase is wrong" in wrong.said
    assert not person.browsers and store.read_bytes() == before


def test_status_compares_the_clocks_without_a_keychain(person, boardlot):
    done = boardlot(*person.base, "status", "--format", "jsonl")
    assert set(done.json) == {"service", "clock_offset"}
    assert done.said.startswith("no login to show: the keychain cannot be used: ")


@pytest.mark.parametrize("command", [["login"], ["logout"], ["logout", "id"], ["status", "id"]])
def test_without_a_keychain_the_way_out_is_a_file(command, person, boardlot):
    done = boardlot(*person.base, *command)
    assert done.status == 3 and done.said.startswith("boardlot: the keychain cannot be used: ")
    assert done.said.partition(" hint: ")[2] == snapshot(
        "Unlock it, or keep the tokens in an encrypted file: "
        "store=EncryptedFileStore(...) (`--store FILE`)."
    )
    assert not person.browsers


@pytest.mark.parametrize(
    ("types", "said"),
    [([""], "the passphrase is empty"), (["one", "two"], "the passphrases differ")],
)
def test_a_new_passphrase_is_typed_twice_and_not_empty(types, said, person, boardlot, store):
    person.types = types
    assert said in boardlot(*person.base, "login", "--store", store).refusal
    assert not person.browsers and not store.exists()


@pytest.mark.parametrize("folder", ["/proc", "a-file"])
def test_an_unwritable_store_is_rejected_before_anything_is_requested(
    folder, person, boardlot, tmp_path
):
    (tmp_path / "a-file").touch()
    store = tmp_path / folder / "tokens"
    done = boardlot(*person.base, "login", "--store", store)
    assert done.status == 3
    assert f"boardlot: {store}: {store.parent} is not writable: " in done.said
    assert "choose another --store FILE" in done.said
    assert not person.prompts and not person.browsers


def test_login_uses_the_client_that_is_given(person, boardlot, store):
    line = [*person.base, "login", "--store", store, "--client-id"]
    assert "--client-id needs --port PORT" in boardlot(*line, "client-17").refusal
    assert not person.browsers

    # One that is registered already, kept in another store.
    other = bl.MemoryStore()
    client_id = person.logged_in(other)
    port = json.loads(other.load(person.sandbox.base_url))["redirect_port"]
    # Its port is known from the first login on.
    with kept_port(port):
        for more in (["--port", port], []):
            assert f"logged in as client {client_id}" in boardlot(*line, client_id, *more).said


@pytest.fixture
def profiles(config, monkeypatch):
    """A file of profiles: `key`, whose key file is missing, and `live`, a login."""
    monkeypatch.setattr(bl, "login", None)
    config.parent.mkdir(parents=True)
    config.write_text(
        '[profiles.key]\nbase_url = "https://api.example.com"\n'
        'auth = { kind = "api_key", key_id = "k", private_key = "missing.pem" }\n'
        '[profiles.live]\nbase_url = "https://api.example.com"\n'
        'auth = { kind = "oauth", client_id = "c", store = "tokens" }\n'
    )
    return config


def test_a_login_is_not_renewed_as_another(profiles, boardlot):
    before = profiles.read_bytes()

    def refusal(line):
        said = boardlot(*line.split()).refusal
        assert profiles.read_bytes() == before, line
        return named(said, FOLDER=profiles.parent)

    assert_transcript(Path(__file__).with_name("refusals") / "logins.txt", refusal)
