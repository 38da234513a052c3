"""The command line: its exit statuses, its own commands, and where it writes."""

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest
from boardlot import errors, frames
from boardlot.cli import main

from ..support.fake_records import HOSTILE, FakeRecords, Field, fills
from ..support.logins import demo_login
from ..support.sandbox_command import running

click = pytest.importorskip("click")
from boardlot.cli import application as app  # noqa: E402
from boardlot.cli import settings  # noqa: E402
from boardlot.cli.output import emit as output  # noqa: E402  They need click.
from boardlot.cli.output import parquet as groups  # noqa: E402


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["--format", "xml", "demo"],
        ["sandbox", "--port", "70000"],
        ["sandbox", "--error-rate", "1.5"],
        ["sandbox", "--host", "0.0.0.0"],
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: Any) -> None:
    assert main(arguments) == 2
    seen = capsys.readouterr()
    assert not seen.out
    assert "Error: " in seen.err


def test_help_lists_every_command(capsys: Any) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, (_, line) in app.COMMANDS.items():
        assert name in shown
        assert line in shown


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.ConfigError("market is 'XX'", hint="Correct it."), 2),
        (errors.ApiError("no such symbol", hint="Verify the code."), 1),
        (errors.RequestTimeout("no response"), 1),
        (OSError("disk full"), 1),
        (ImportError("needs pyarrow"), 1),
    ],
)
def test_errors_go_to_stderr_with_their_hint(
    error: Exception, status: int, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app.app, "main", fail)
    assert main([]) == status
    seen = capsys.readouterr()
    hint = getattr(error, "hint", "")
    assert seen.err == f"boardlot: {error}\n" + (f"hint: {hint}\n" if hint else "")
    assert not seen.out


def test_without_click_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['click'] = None; import boardlot.__main__ as m; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines() == [
        "boardlot: the command line needs click: pip install 'boardlot[cli]'"
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_sandbox_serves_until_it_is_stopped(how: signal.Signals, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    with running("--key-file", str(key)) as server:
        facts = server.info
        said = server.end(how)
        assert server.process.returncode == 0
    assert facts["base_url"].startswith("http://127.0.0.1:")
    assert set(facts["accounts"]) == {"crypto", "sim", "trade"}
    assert facts["key_id"]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "PRIVATE KEY" in key.read_text()
    assert "PRIVATE KEY" not in said + json.dumps(facts)


# A finalizer that is running loses the exception of a signal handler.
SIGNAL_IN_A_FINALIZER = """
import os, signal, sys, time
from boardlot.cli import main
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.Signals[sys.argv[1]])
def sleep_late(seconds, sleep=time.sleep):
    Finalized()
    sleep(seconds)
time.sleep = sleep_late
sys.exit(main(["sandbox"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_just_before_the_sandbox_sleeps_ends_it(name: str) -> None:
    command = [sys.executable, "-c", SIGNAL_IN_A_FINALIZER, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "stopped"


def test_sandbox_does_not_overwrite_a_key(tmp_path: Path, capsys: Any) -> None:
    key = tmp_path / "key.pem"
    key.write_text("mine")
    assert main(["sandbox", "--key-file", str(key)]) == 2
    assert "already exists and is not overwritten" in capsys.readouterr().err
    assert key.read_text() == "mine"


def test_demo_without_pyarrow_writes_the_fills_as_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name in ("pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("boardlot.cli.commands.demo.find_spec", lambda _: None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    (written,) = tmp_path.iterdir()
    header, *rows = written.read_text().splitlines()
    assert written.name == "fills.csv" and len(rows) == 2_000
    assert header.startswith("trd_side,deal_id,order_id,code,")
    assert "skipped fills.png" in capsys.readouterr().out


def test_demo(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    out = tmp_path / "new" / "folder"
    assert main(["demo", "--out", str(out), "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "iterated over 2,000 fills" in shown
    assert "logged in with OAuth; scopes:" in shown
    assert "the same 2,000 fills" in shown
    assert max(map(len, shown.splitlines())) <= max(100, len(str(out)) + 30)
    assert f"the files are in {out}" in shown.splitlines()
    # What to do next: commands of boardlot's own, each of which its help knows.
    following = [line.split()[1:] for line in shown.splitlines()[-3:]]
    assert [words[0] for words in following] == ["sandbox", "--profile", "open"]
    for words in following:
        assert main([*words, "--help"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["fills.parquet", "fills.png"]
    assert "PRIVATE KEY" not in shown
    assert main(["demo", "--out", str(out)]) == 0


def typed(rows: Any, schema: Any = None) -> FakeRecords:
    class Typed(FakeRecords):
        def to_arrow(self) -> Any:
            return frames.to_arrow(self)

    return Typed(rows, schema or rows.schema)


@pytest.mark.parametrize("format_", settings.FORMATS)
def test_data_go_to_a_file_whole_or_not_at_all(format_: str, tmp_path: Path, capsys: Any) -> None:
    if format_ == "parquet":
        pytest.importorskip("pyarrow")
    asked = settings.Settings(format=format_, out=tmp_path / "data")
    output.emit(asked, typed(fills(60)))
    assert capsys.readouterr().err == f"wrote 60 rows to {asked.out}\n"
    written = (tmp_path / "data").read_bytes()
    if format_ == "json":
        assert json.loads(written) == fills(60)
    elif format_ == "jsonl":
        assert [json.loads(line) for line in written.splitlines()] == fills(60)
    elif format_ == "parquet":
        assert written[:4] == b"PAR1"
    else:
        assert len(written.decode().splitlines()) == {"csv": 61, "table": 63}[format_]

    asked.force = True
    with pytest.raises((TypeError, AttributeError)):
        output.emit(asked, None)
    asked.force = False
    with pytest.raises(click.UsageError, match="exists: choose another --out, or add --force"):
        output.emit(asked, typed(fills(1)))
    assert (tmp_path / "data").read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_csv_has_every_field_and_values_as_sent(tmp_path: Path) -> None:
    rows = [{"n": "0.10", "flag": True}, {"n": None, "new": {"a": "长"}, "text": 'a,"b"\n'}]
    asked = settings.Settings(format="csv", out=tmp_path / "data")
    output.emit(asked, FakeRecords(rows, (Field("n", "decimal"), Field("gone", "text"))))
    with (tmp_path / "data").open(encoding="utf-8", newline="") as file:
        assert file.read() == (
            'n,gone,flag,new,text\n0.10,,true,,\n,,,"{""a"":""长""}","a,""b""\n"\n'
        )


def test_a_table_obeys_nothing_in_it(tmp_path: Path) -> None:
    asked = settings.Settings(out=tmp_path / "data")
    output.emit(asked, FakeRecords([{"name": HOSTILE}]))
    assert b"\x1b" not in (tmp_path / "data").read_bytes()


def test_global_options_come_before_or_after_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[settings.Settings] = []

    def client(given: settings.Settings, identified: bool = True) -> None:
        seen.append(given)
        raise click.exceptions.Exit(7)

    monkeypatch.setattr(settings.Settings, "client", client)
    line = "--format csv --profile p dividends HK.00700 --format json --header A:1 --header B:2"
    assert main(line.split()) == 7
    given = {"profile": "p", "format": "json", "header": ("A:1", "B:2")}
    assert seen == [settings.Settings(typed=line.split(), **given)]


def test_commands_without_endpoint_accept_global_options_too(tmp_path: Path, capsys: Any) -> None:
    assert main(["keygen", str(tmp_path / "key"), "--profile", "p"]) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["status", "--base-url", "http://127.0.0.1:9"]) == 1
    # Its own option of that name is the demo's folder.
    assert main(["demo", "--out", str(tmp_path / "key")]) == 2


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_shows_examples(name: str, capsys: Any) -> None:
    assert main([name, "--help"]) == 0
    assert "\nExamples:\n  boardlot" in capsys.readouterr().out


class Pages(list):  # type: ignore[type-arg]
    """A pager over pages that are there already."""

    total = None

    def pages(self) -> Any:
        return iter(self)


def test_a_field_that_comes_too_late_for_a_column_is_reported(tmp_path: Path, capsys: Any) -> None:
    first, late = FakeRecords([{"a": 1}]), FakeRecords([{"a": 2, "b": 3}])
    asked = settings.Settings(out=tmp_path / "data.csv")
    output.emit(asked, Pages([first, late, late]))
    assert (tmp_path / "data.csv").read_text() == "a\n1\n2\n2\n"
    assert capsys.readouterr().err.splitlines()[:-1] == [
        "boardlot: the field b first appeared after the header was written and is left out; "
        "--format jsonl includes it"
    ]


def test_parquet_is_written_in_groups_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(groups, "GROUP", 100)
    asked = settings.Settings(out=tmp_path / "data.parquet")
    output.emit(asked, Pages([typed(fills(60)) for _ in range(4)] + [typed(fills(0))]))
    file = parquet.ParquetFile(tmp_path / "data.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [120, 120]
    assert file.schema_arrow.field("price").type == "double"
    assert capsys.readouterr().err == f"wrote 240 rows to {asked.out}\n"


@pytest.mark.parametrize(
    ("rows", "later"),
    [
        ([{"x": None}], [{"x": 1}]),
        ([{"x": 1}], [{"x": None}, {}]),
        ([{"x": {"a": 1}}], [{"x": {"a": 2}}]),
    ],
)
def test_parquet_takes_undeclared_fields_that_come_and_go(
    rows: Any, later: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    output.emit(settings.Settings(out=tmp_path / "data.parquet"), Pages([rows, later]))
    read = parquet.read_table(tmp_path / "data.parquet").to_pylist()
    assert [row["x"] for row in read] == [row.get("x") for row in [*rows, *later]]


@pytest.mark.parametrize("format_", settings.FORMATS)
def test_no_rows_are_a_whole_file_too(format_: str, tmp_path: Path) -> None:
    if format_ == "parquet":
        pytest.importorskip("pyarrow")
    asked = settings.Settings(format=format_, out=tmp_path / "data")
    output.emit(asked, typed(fills(0)))
    written = (tmp_path / "data").read_bytes()
    if format_ == "json":
        assert json.loads(written) == []
    elif format_ == "jsonl":
        assert written == b""
    else:
        assert b"stock_name" in written


@pytest.mark.parametrize("library", ["pyarrow", "pyarrow.parquet"])
def test_without_pyarrow_one_line_says_what_to_install(library: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None; from boardlot.cli import main\n"
        "import boardlot as bl\n"
        "with bl.Sandbox() as sandbox:\n"
        "    sys.exit(main(['time', '--base-url', sandbox.base_url, '--out', sys.argv[1]]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data.parquet")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == (
        "boardlot: --format parquet needs pyarrow: pip install 'boardlot[arrow]'"
    )
    assert not list(tmp_path.iterdir())


def test_login_status_and_logout_against_the_sandbox(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    store = tmp_path / "tokens"
    asked = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or "a passphrase")
    with bl.Sandbox() as sandbox:
        monkeypatch.setattr(bl, "login", demo_login(sandbox))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        base = ["--base-url", sandbox.base_url]
        assert main([*base, "--profile", "paper", "login", "--store", str(store)]) == 0
        said = capsys.readouterr().err
        assert "quote:read" in said
        client_id = said.split("client ")[1].split()[0]

        assert main([*base, "status", client_id, "--store", str(store)]) == 0
        shown = capsys.readouterr().out
        assert len(bl.Client(profile="paper").dividends("HK.00700")) > 0
        assert "token" not in (tmp_path / "boardlot" / "config.toml").read_text().replace(
            "tokens", ""
        )
        assert "trade:read" in shown and "clock offset" in shown and str(store) in shown

        # The login is found by the global options too.
        line = [*base, "--client-id", client_id, "--store", str(store), "status"]
        assert main(line) == 0
        seen = capsys.readouterr()
        assert "trade:read" in seen.out and str(store) in seen.out and "warning" not in seen.err

        line = ["--profile", "paper", "status", client_id, "--store", str(store)]
        assert main([*line, "--format", "jsonl"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["client_id"] == client_id
        assert "quote:read" in facts["scopes"]
        assert abs(facts["clock_offset"]) < 60

        # The profile alone says all of it, and its login is renewed.
        before = (tmp_path / "boardlot" / "config.toml").read_bytes()
        for line in (["login"], ["login", "--store", str(store)], [*base, "login"]):
            assert main(["--profile", "paper", *line]) == 0
            seen = capsys.readouterr().err
            assert f"client {client_id}" in seen
            assert "renewed the login of the profile paper" in seen
        assert (tmp_path / "boardlot" / "config.toml").read_bytes() == before
        assert main(["--profile", "paper", "status"]) == 0
        seen = capsys.readouterr()
        assert client_id in seen.out and str(store) in seen.out

        assert main(["--profile", "paper", "logout"]) == 0
        assert f"deleted the tokens of {client_id}" in capsys.readouterr().err

        # The logout has forgotten the registration, so that the new one has an id of its own.
        assert main(["--profile", "paper", "login"]) == 0
        seen = capsys.readouterr().err
        assert "updated the profile in" in seen and f"client {client_id}" not in seen
        assert main(["--profile", "paper", "status"]) == 0
        assert client_id not in capsys.readouterr().out
    assert asked
    assert store.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of profiles: `key`, whose key file is missing, and `live`, a login."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(bl, "login", None)
    file = tmp_path / "boardlot" / "config.toml"
    file.parent.mkdir()
    file.write_text(
        '[profiles.key]\nbase_url = "https://api.example.com"\n'
        'auth = { kind = "api_key", key_id = "k", private_key = "missing.pem" }\n'
        '[profiles.live]\nbase_url = "https://api.example.com"\n'
        'auth = { kind = "oauth", client_id = "c", store = "tokens" }\n'
    )
    return file


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--profile key login", "the profile key is not a login"),
        ("--profile live login --store other", "the profile live are stored in"),
        ("--profile live login --base-url https://b.example.com", "is for https://api.example.com"),
        ("--profile new login", "no service selected: pass --base-url URL"),
        ("--profile key logout", "no login selected: pass its CLIENT_ID"),
    ],
)
def test_a_login_is_not_renewed_as_another(
    line: str, said: str, profiles: Path, capsys: Any
) -> None:
    before = profiles.read_bytes()
    assert main(line.split()) == 2
    assert said in capsys.readouterr().err
    assert profiles.read_bytes() == before


def test_a_broken_file_of_profiles_is_reported_before_the_login(
    profiles: Path, capsys: Any
) -> None:
    profiles.write_text("[profiles")
    assert main(["--base-url", "https://api.example.com", "--profile", "new", "login"]) == 2
    assert str(profiles) in capsys.readouterr().err


def test_the_service_of_a_profile_is_known_without_its_key(profiles: Path) -> None:
    assert settings.Settings(profile="key").service == "https://api.example.com"


@pytest.mark.parametrize("command", [["login"], ["status"], ["logout", "id"]])
def test_a_login_needs_to_know_its_service(command: list[str], capsys: Any) -> None:
    assert main(command) == 2
    assert "no service selected: pass --base-url URL" in capsys.readouterr().err
