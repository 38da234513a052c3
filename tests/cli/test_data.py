"""The commands that ask the service: what they take, what they write, as whom they ask."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import boardlot as bl
import pytest

click = pytest.importorskip("click")
pytest.importorskip("fcntl", reason="a terminal of POSIX")
from boardlot._endpoints import ENDPOINTS, Account  # noqa: E402
from boardlot.cli import main  # noqa: E402
from boardlot.cli.commands import endpoints  # noqa: E402

from ..support.command_line import ACCOUNT, Service  # noqa: E402

# `time` writes a line and not with rows.
CALLS = [row.command for row in ENDPOINTS if row.method != "server_time"]


@pytest.mark.parametrize("name", CALLS)
def test_a_command_writes_what_the_method_of_the_client_returns(
    name: str, service: Service, live: list[str], capfdbinary: Any
) -> None:
    row = endpoints.ENDPOINTS[name]
    accounts = service.sandbox.accounts
    arguments = [accounts[x.kind][0] if isinstance(x, Account) else x for x in row.arguments]
    method = row.method
    with service.sandbox.client() as client:
        rows = list(getattr(client, method)(*arguments))
    assert rows
    for format_, read in (("json", json.loads), ("jsonl", _lines)):
        assert main([*live, "--format", format_, name, *arguments]) == 0
        assert read(capfdbinary.readouterr().out) == rows
    assert main([*live, name, *arguments, "--format", "csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode())))
    first = next(iter(rows[0]))
    assert [row[first] for row in table] == [str(row[first]) for row in rows]


def _lines(text: bytes) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_commands_keep_their_names() -> None:
    commands = {row.command: row.method for row in ENDPOINTS}
    assert commands == commands | {
        "time": "server_time",
        "trading-days": "trading_days",
        "futures": "reference_futures",
        "ipos": "ipo_list",
        "dividends": "dividends",
        "plate": "plate_stocks",
        "crypto-orders": "crypto_orders",
        "sim-orders": "sim_orders",
        "sim-positions": "sim_positions",
        "fills": "fills_history",
    }


@pytest.mark.parametrize("name", endpoints.ENDPOINTS)
def test_help_lists_arguments_options_and_examples(name: str, capsys: Any) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    command = endpoints.command(name)
    for parameter in command.params:
        assert (parameter.metavar or "") in shown
        assert getattr(parameter, "text", "text") and "`" not in shown
    summary = endpoints.ENDPOINTS[name].summary
    for part in ("Examples:\n  boardlot ", "Global options:", summary[:40]):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_time_is_one_line(service: Service) -> None:
    before = service.sandbox.client().server_time()
    text = service.rows("time").decode()
    moment = type(before).fromisoformat(text.strip())
    assert text.endswith("\n") and text.count("\n") == 1
    assert 0 <= (moment - before).total_seconds() < 600
    assert list(json.loads(service.rows("time", "--format", "jsonl"))) == ["server_time"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["ipos", "zz"],
        ["trading-days", "HK1", "2026-01-01", "2026-01-05"],
        ["trading-days", "HK", "yesterday", "2026-01-05"],
        ["dividends", "x" * 40],
        ["fills", ACCOUNT, "HK", "--page-size", "51"],
        ["fills", ACCOUNT, "HK", "--start", "2026-01-01T09:30:00"],
        ["fills", ACCOUNT],
        ["ipos", "hk", "--request-type", "ballot-announced"],
        ["dividends", "HK.00700", "--format", "parquet"],
        ["dividends", "HK.00700", "--columns", "currency,nosuch"],
        ["dividends", "HK.00700", "--header", "no colon"],
        ["dividends", "HK.00700", "--out", "no/such/folder/file.csv"],
        ["request", "GET", "/api/v1.0/server-time", "--query", "x"],
        ["request", "POST", "/api/v1.0/server-time", "--body", "{"],
        ["request", "GET", "/api/v1.0/server-time", "--format", "csv"],
    ],
)
def test_what_is_wrong_in_a_command_ends_with_2(
    arguments: list[str], live: list[str], capsys: Any
) -> None:
    assert main([*live, *arguments]) == 2
    seen = capsys.readouterr()
    assert not seen.out
    assert seen.err


@pytest.mark.parametrize(("typed", "number"), [("preview", 1), ("all", 5), ("2", 2)])
def test_ipo_lists_are_selected_by_name_or_number(
    typed: str, number: int, service: Service, live: list[str]
) -> None:
    assert main([*live, "ipos", "--request-type", typed, "cn", "--format", "json"]) == 0
    assert f"request_type={number}" in service.sandbox.requests[-1].query


def test_times_are_dates_texts_or_numbers(service: Service) -> None:
    # 2 October, in the forms that the client takes.
    asked = []
    for start in ("2026-10-02", "2026-10-02T00:00:00Z", "1790899200000000"):
        service.rows("fills", ACCOUNT, "HK", "--start", start, "--end", "2026-10-03")
        asked.append(service.sandbox.requests[-1].query)
    assert len(set(asked)) == 1
    assert "start=1790899200000000" in asked[0]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("20260101", "did you mean '2026-01-01'"),
        ("99999999", "in the years 1990 to 2100"),
        ("1767225600", "did you mean 1767225600000000"),
        ("1767225600000", "did you mean 1767225600000000"),
        ("1767225600000000000", "did you mean 1767225600000000"),
        ("2026", "in the years 1990 to 2100"),
        ("0000000020260101", "did you mean '2026-01-01'"),
        ("99999999999999999999999999", "in the years 1990 to 2100"),
        ("", ""),
        ("٢٠٢٦٠١٠١", ""),
        ("-1767225600000000", ""),
        ("2026-02-30", ""),
        ("1e15", ""),
    ],
)
@pytest.mark.parametrize("option", ["--start", "--end"])
def test_a_number_that_would_be_a_time_in_1970_is_rejected(
    option: str, typed: str, said: str, service: Service, live: list[str], capsys: Any
) -> None:
    asked = len(service.sandbox.requests)
    assert main([*live, "fills", ACCOUNT, "HK", option, typed]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert said in shown
    if "did you" in said:
        assert f"{option[2:]} is {typed.lstrip('0')}; expected microseconds" in shown
    assert len(service.sandbox.requests) == asked


def test_a_range_fetched_in_windows_returns_the_same_rows(service: Service) -> None:
    call = ["fills", ACCOUNT, "HK", "--start", "2026-01-01", "--end", "2027-06-01"]
    call += ["--format", "jsonl"]
    rows = service.rows(*call)
    asked = len(service.sandbox.requests)
    assert service.rows(*call, "--windows", "4") == rows
    asked_for = "".join(request.query for request in service.sandbox.requests[asked:])
    assert len(set(re.findall(r"start=\d+", asked_for))) == 4
    assert service.run(*call, "--windows", "65").returncode == 2


def test_columns_are_written_in_the_requested_order(service: Service) -> None:
    head = service.rows(
        *["dividends", "HK.00700", "--columns", "ex_date,currency", "--format", "csv"]
    )
    assert head.splitlines()[0] == b"ex_date,currency"
    rows = json.loads(
        service.rows(*["dividends", "HK.00700", "--columns", "ex_date", "--format", "json"])
    )
    assert {tuple(row) for row in rows} == {("ex_date",)}
    wrong = service.run(*["dividends", "HK.00700", "--columns", "nosuch"])
    assert (
        b"--columns: nosuch is not in the data; expected some of fiscal_year, statement"
        in wrong.stderr
    )


def test_a_rejection_by_the_service_exits_with_1_and_says_what_to_do(service: Service) -> None:
    done = service.run("dividends", "HK.99999")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"boardlot: dividends: 'HK.99999' is not a known symbol" in done.stderr
    assert b"hint: Verify that the code exists" in done.stderr


def test_no_response_ends_with_1(capsys: Any) -> None:
    assert main(["--base-url", "http://127.0.0.1:9", "time"]) == 1
    assert "refused" in capsys.readouterr().err.lower()


def test_a_key_is_given_without_a_profile(service: Service, capsys: Any) -> None:
    base = ["--base-url", service.sandbox.base_url, "dividends", "HK.00700", "--format", "json"]
    key = ["--key-id", service.key_id, "--key-file", str(service.key_file)]
    assert main([*base, *key]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(base) == 1
    assert "No credentials were given: pass --profile NAME" in capsys.readouterr().err
    assert main([*base, *key[:2]]) == 2
    assert main([*base, *key, "--client-id", "x"]) == 2
    assert "are mutually exclusive" in capsys.readouterr().err
    assert main(["dividends", "HK.00700"]) == 2
    assert "no service selected: pass --base-url URL, or --profile NAME" in capsys.readouterr().err


def test_the_password_of_an_encrypted_key_is_prompted_for(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    key = serialization.load_pem_private_key(service.key_file.read_bytes(), None)
    file = tmp_path / "encrypted.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"a password"),
        )
    )
    file.chmod(0o600)
    asked: list[str] = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or "a password")
    base = ["--base-url", service.sandbox.base_url, "sim-orders", "5001"]
    assert main([*base, "--key-id", service.key_id, "--key-file", str(file)]) == 0
    assert asked == [f"password of {file}: "]
    assert "a password" not in "".join(capsys.readouterr())


@pytest.mark.filterwarnings("default:the key file")
def test_a_key_that_others_can_read_is_warned_about_in_one_line(
    service: Service, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "open.pem"
    file.write_text(service.key_file.read_text())
    file.chmod(0o644)
    base = ["--base-url", service.sandbox.base_url, "dividends", "HK.00700", "--format", "json"]
    assert main([*base, "--key-id", service.key_id, "--key-file", str(file)]) == 0
    assert capsys.readouterr().err == (
        f"boardlot: warning: the key file {file} can be read by other users; "
        f"run: chmod 600 {file}\n"
    )


def test_a_login_is_used_by_its_client_id(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    store = tmp_path / "tokens"
    tokens = bl.EncryptedFileStore(store, "a passphrase")
    flow = bl.begin_login(service.sandbox.base_url, store=tokens)
    client_id = flow.finish(service.sandbox.authorize_demo_user(flow.url)).client_id
    monkeypatch.setattr("getpass.getpass", lambda _: "a passphrase")
    base = ["--base-url", service.sandbox.base_url, "sim-orders", "5001", "--format", "json"]
    assert main([*base, "--client-id", client_id, "--store", str(store)]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main([*base, "--store", str(store)]) == 2


def test_a_custom_header_is_sent(service: Service) -> None:
    sent = service.run(*["plate", "HK.BK1001", "--header"], "X-Service-Client-Nnid: 12\n3")
    assert sent.returncode == 2
    assert b"header" in sent.stderr
    assert service.rows(*["plate", "HK.BK1001", "--header"], "X-Service-Client-Nnid: 123")


def test_request_prints_the_response_as_it_came(service: Service, tmp_path: Path) -> None:
    path = "/api/v1.0/quote/plate/HK.BK1001/stock"
    (tmp_path / "body").write_text('{"next_key": "",\n "limit": 3}')
    for body in ('{"next_key":"","limit":3}', f"@{tmp_path / 'body'}"):
        done = service.run("request", "post", path, "--body", body)
        assert (done.returncode, done.stderr) == (0, b"HTTP 200\n")
        assert len(json.loads(done.stdout)["data"]["stock_list"]) == 3
        assert b"\n" not in done.stdout

    query = ["--query", "request_type=9", "--query", "b= &c"]
    done = service.run("request", "GET", "/api/v1.0/quote/ipo-list/hk", *query)
    assert json.loads(done.stdout)["ret_code"] == 0
    assert service.sandbox.requests[-1].query == "request_type=9&b=+%26c"


def test_request_exits_with_1_if_the_status_is_an_error(service: Service, tmp_path: Path) -> None:
    done = service.run("request", "GET", "/nowhere", "--out", str(tmp_path / "response"))
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"HTTP 404\n")
    assert json.loads((tmp_path / "response").read_bytes())["code"] == 404
