"""What a login that is lost says to do: every caller gets the command that renews this login."""

import asyncio
from itertools import product

import boardlot as bl
import pytest
from boardlot import _core, doctor
from boardlot.cli import main

from ..support.logins import demo_login, quotes

PASSPHRASE = "correct horse battery staple"
RENEW = "Log in again: run `boardlot --profile nightly login`."


@pytest.fixture(scope="module")
def sandbox():
    with bl.Sandbox(fills=10) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The store of all logins, each of a client of its own; its key is derived once."""
    return bl.EncryptedFileStore(tmp_path_factory.mktemp("store") / "tokens", PASSPHRASE)


@pytest.fixture(params=["refused", "deleted", "unknown"])
def login(request, sandbox, config, tmp_path, store):
    """A login of the profile `nightly` that is lost."""
    secret = tmp_path / "secret"
    secret.write_text(PASSPHRASE)
    secret.chmod(0o600)
    # The sandbox may have forgotten the client.
    store.delete(sandbox.base_url)
    login = demo_login(sandbox, store)
    entry = {"base_url": sandbox.base_url, "kind": "oauth", "client_id": login.client_id}
    _core._save_profile("nightly", {**entry, "store": store.path, "passphrase_file": secret})
    end = {"refused": sandbox.revoke_grants, "deleted": login.logout, "unknown": sandbox.reset}
    end[request.param]()
    return login


def hint_of(call):
    with pytest.raises(bl.LoginRequired) as caught:
        call()
    return caught.value.hint


async def quotes_async():
    async with bl.AsyncClient(profile="nightly") as client:
        await quotes(client)


def test_each_caller_learns_the_command_of_the_profile(login):
    with bl.Client(profile="nightly") as client:
        assert hint_of(lambda: quotes(client)) == RENEW
    assert hint_of(lambda: asyncio.run(quotes_async())) == RENEW
    findings = list(doctor.examine(profile="nightly"))
    assert [found.hint for found in findings if found.state == "failed"] == [RENEW]


COMMANDS = ["futures HK.HSImain", "doctor", "archive update trades.db --ipos hk", "logout"]
# Each command, each way to lose a login, and a logout that deletes tokens and one that finds none.
SOME = [("deleted", 0), ("unknown", 1), ("refused", 2), ("refused", 3), ("unknown", 3)]
OTHERS = sorted(set(product(["refused", "deleted", "unknown"], range(4))) - set(SOME))


@pytest.mark.parametrize(
    ("login", "number"),
    [*SOME, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)],
    indirect=["login"],
)
def test_the_command_line_says_the_same(login, capfd, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    status = main(["--profile", "nightly", *COMMANDS[number].split()])
    said = "".join(capfd.readouterr())
    # A login whose tokens are in the store can be deleted, refused or not.
    assert (RENEW in said) == bool(status)
    assert status == 3 or "deleted the tokens" in said


@pytest.mark.parametrize("login", ["refused", "deleted"], indirect=True)
def test_without_a_profile_the_command_is_that_of_the_service(login, sandbox):
    renew = f"run `boardlot login --base-url {sandbox.base_url}`"
    with bl.Client(sandbox.base_url, auth=login) as client:
        assert renew in hint_of(lambda: quotes(client))
    findings = list(doctor.examine(sandbox.base_url, auth=login))
    assert [renew in found.hint for found in findings if found.state == "failed"] == [True]
