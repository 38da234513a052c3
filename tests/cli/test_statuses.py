"""The exit statuses, and the lines in JSON, by which a job or a monitor decides."""

import json

import boardlot as bl
import pytest
from boardlot.cli import settings

from ..support.command_line import ACCOUNT
from ..support.keys import KEYS
from ..support.logins import demo_login

# What a person must do differs; for a job, the status says all.
AGAIN, USAGE, PERSON = 1, 2, 3
DIVIDENDS = ["dividends", "HK.00700"]


def errors(done):
    lines = [json.loads(line) for line in done.err.splitlines()]
    return [line for line in lines if line["level"] == "error"]


@pytest.fixture
def impatient(monkeypatch):
    """Clients do not retry: when an error is final is no matter of its status."""
    options = settings.Settings.client_options

    def without_retries(*arguments):
        return {**options(*arguments), "max_retries": 0}

    monkeypatch.setattr(settings.Settings, "client_options", without_retries)


@pytest.mark.parametrize(
    ("faults", "status", "error"),
    [
        (bl.Faults(error_rate=1.0), AGAIN, "ServiceError"),
        (bl.Faults(drop_rate=1.0), AGAIN, "TransportError"),
        (bl.Faults(throttle_rate=1.0), AGAIN, "RateLimited"),
        (bl.Faults(truncate_rate=1.0), AGAIN, "TransportError"),
    ],
    ids=["failing", "dropping", "throttling", "truncating"],
)
@pytest.mark.parametrize(
    "command", [DIVIDENDS, ["archive", "update", "a.db", "--dividends", "HK.00700"]]
)
def test_what_passes_is_to_be_tried_again(
    command, faults, status, error, live, sandbox, tmp_path, monkeypatch, impatient
):
    monkeypatch.chdir(tmp_path)
    sandbox.faults = faults
    done = live("--log-format", "json", *command)
    (line,) = errors(done)
    assert (done.status, line["error"], line["retryable"]) == (status, error, True)
    assert "code" in line and line["hint"]


@pytest.mark.parametrize(
    ("command", "status", "error", "code"),
    [
        (["dividends", "HK.99999"], PERSON, "InvalidSymbol", -7),
        (["sim-orders", ACCOUNT], PERSON, "InvalidParameter", -3),
        (["request", "GET", "https://elsewhere.example.com/x"], USAGE, "ConfigError", None),
        (["dividends", "HK 00700"], USAGE, "ConfigError", None),
        (["dividends"], USAGE, "UsageError", None),
        (["--profile", "nobody", *DIVIDENDS], USAGE, "ConfigError", None),
        (["--key-id", "k", "--key-file", "missing.pem", *DIVIDENDS], PERSON, "ConfigError", None),
        (["archive", "update", "a.db", "--plates", "HK.BK9"], PERSON, "ApiError", -7),
        (["public-key", "missing.pem"], PERSON, "ConfigError", None),
    ],
)
def test_what_does_not_pass_needs_a_person(
    command, status, error, code, boardlot, service, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", service.environment["XDG_CONFIG_HOME"])
    where = ["--base-url", service.sandbox.base_url] if "--key-id" in command else []
    profile = [] if where or "--profile" in command else ["--profile", "live"]
    done = boardlot("--log-format", "json", *profile, *where, *command)
    (line,) = errors(done)
    assert (done.status, line["error"], line["retryable"]) == (status, error, False), line
    assert (line["hint"] or status == USAGE) and (code is None or line["code"] == code)


def test_a_list_that_fails_for_good_outweighs_one_that_passes(live, sandbox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = ["--dividends", "HK.99999", "--dividends", "HK.00700"]
    done = live("--log-format", "json", "archive", "update", "a.db", *lists)
    assert done.status == PERSON and [line["error"] for line in errors(done)] == ["InvalidSymbol"]


@pytest.mark.parametrize(
    ("status", "path"), [(PERSON, "/nowhere"), (AGAIN, "/api/v1.0/quote/ipo-list/hk")]
)
def test_a_response_to_any_request_counts_by_its_status(status, path, live, sandbox, impatient):
    sandbox.faults = bl.Faults(throttle_rate=1.0) if status == AGAIN else None
    assert live("request", "GET", path).status == status


class Config:
    """A configuration folder of the test's own."""

    def __init__(self, folder, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        (folder / "boardlot").mkdir(mode=0o700)
        self.folder = folder / "boardlot"

    def write(self, name, text):
        file = self.folder / name
        file.touch(mode=0o600)
        file.write_text(text)
        return file


@pytest.fixture
def config(tmp_path, monkeypatch):
    return Config(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("auth", "passphrase", "error", "says", "hint"),
    [
        ("key.pem", "wrong", "ConfigError", "key.pem cannot be decrypted: the pass", "key itself"),
        ("key.pem", None, "StoreError", "/boardlot/passphrase cannot be read: No such", "mode 600"),
        ("moved.pem", "right", "ConfigError", "/boardlot/moved.pem cannot be read", "Check the"),
    ],
)
def test_a_key_of_a_profile_that_cannot_be_used(
    auth, passphrase, error, says, hint, config, boardlot, sandbox
):
    key = KEYS["ed25519_encrypted"]
    config.write("key.pem", key["private_pem"])
    if passphrase is not None:
        config.write("passphrase", key["password"] if passphrase == "right" else passphrase)
    config.write(
        "config.toml",
        f'[profiles.job]\nbase_url = "{sandbox.base_url}"\nauth = {{ kind = "api_key", '
        f'key_id = "k", private_key = "{auth}", passphrase_file = "passphrase" }}\n',
    )
    done = boardlot("--log-format", "json", "--profile", "job", *DIVIDENDS)
    (line,) = errors(done)
    assert (done.status, line["error"]) == (PERSON, error), line
    assert says in line["message"] and hint in line["hint"]
    assert key["password"] not in done.err


def test_a_configuration_that_cannot_be_read_is_not_a_wrong_command(config, boardlot):
    config.write("config.toml", "[profiles.job]\nbase_url = [[[\n")
    done = boardlot("--log-format", "json", "--profile", "job", *DIVIDENDS)
    assert (done.status, errors(done)[0]["error"]) == (PERSON, "ConfigError")


def test_a_login_that_has_expired_needs_a_person(config, boardlot):
    with bl.Sandbox(seed=7) as sandbox:
        config.write("passphrase", "of a test")
        store = bl.EncryptedFileStore(config.folder / "tokens", "of a test")
        config.write(
            "config.toml",
            f'[profiles.job]\nbase_url = "{sandbox.base_url}"\nauth = {{ kind = "oauth", '
            f'client_id = "{demo_login(sandbox, store).client_id}", store = "tokens", '
            'passphrase_file = "passphrase" }\n',
        )
        assert boardlot("--profile", "job", *DIVIDENDS, "--format", "json").status == 0
        sandbox.revoke_grants()
        done = boardlot("--log-format", "json", "--profile", "job", *DIVIDENDS)
    (line,) = errors(done)
    assert (done.status, line["error"], line["code"]) == (PERSON, "LoginRequired", "invalid_grant")
    assert "boardlot --profile job login" in line["hint"]
