"""The commands that ask the service: what they take, what they write, as whom they ask."""

import csv
import io
import json
import re
import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal

import pytest
from boardlot._endpoints import ENDPOINTS, Account
from boardlot.cli.commands import endpoints

from ..support.command_line import ACCOUNT
from ..support.keys import KEYS
from ..support.vectors import table

SANDBOX = {"fills": 300}
# `time` writes a line instead of rows.
CALLS = [row.command for row in ENDPOINTS if row.method != "server_time"]
DIVIDENDS = ["dividends", "HK.00700"]


@pytest.mark.parametrize("name", CALLS)
def test_a_command_writes_what_the_method_of_the_client_returns(name, sandbox, live):
    row = endpoints.ENDPOINTS[name]
    accounts = sandbox.accounts
    arguments = [accounts[x.kind][0] if isinstance(x, Account) else x for x in row.arguments]
    with sandbox.client() as client:
        rows = list(getattr(client, row.method)(*arguments))
    assert rows and live("--format", "json", name, *arguments).json == rows
    first, *_, last = rows[0]
    chosen = [*arguments, "--columns", f"{last},{first}"]
    lines = live(name, *chosen, "--format", "jsonl").out.splitlines()
    expected = [{name: row[name] for name in (last, first) if name in row} for row in rows]
    assert list(map(json.loads, lines)) == expected
    text = live(name, *chosen, "--format", "csv").out
    assert text.startswith(f"{last},{first}\n")
    assert [row[first] for row in csv.DictReader(io.StringIO(text))] == [
        str(row[first]) for row in rows
    ]


def test_the_commands_keep_their_names():
    names = "time trading-days futures ipos dividends plate crypto-orders sim-orders sim-positions"
    assert {*names.split(), "fills"} <= {row.command for row in ENDPOINTS}


@pytest.mark.parametrize("name", endpoints.ENDPOINTS)
def test_help_has_the_commands_own_options_first_and_short_lines(name, boardlot):
    shown = boardlot(name, "--help").out
    own = [parameter.metavar or "" for parameter in endpoints.command(name).params]
    assert all(metavar in shown.partition("\nGlobal options:\n")[0] for metavar in own)
    assert "`" not in shown and max(map(len, shown.splitlines())) <= 100


def test_time_is_one_line_or_a_row(live, sandbox):
    with sandbox.client() as client:
        before = client.server_time()
    shown = live("time").out
    assert datetime.fromisoformat(shown.rstrip("\n")) >= before and shown.count("\n") == 1
    assert list(live("time", "--format", "jsonl").json) == ["server_time"]
    assert live("time", "--columns", "server_time").out.startswith("server_time\n")


@pytest.mark.parametrize(("typed", "in_request"), table("command_lines")["either case"])
def test_either_case_and_names_for_numbers_are_accepted(typed, in_request, live, sent):
    assert live(*typed.split()).status == 0
    assert in_request in f"{sent()[-1].path}?{sent()[-1].query}"


@pytest.mark.parametrize(
    ("symbol", "hint"),
    [("HK.99999", "Verify that the code exists"), ("HK.700", "Did you mean 'HK.00700'?")],
)
def test_a_rejection_by_the_service_ends_with_3_and_says_what_to_do(symbol, hint, live):
    done = live("dividends", symbol)
    assert (done.status, done.out) == (3, "")
    assert f"boardlot: dividends: '{symbol}' is not a known symbol" in done.said
    assert f"hint: {hint}" in done.said


def test_no_response_ends_with_1(boardlot):
    done = boardlot("--base-url", "http://127.0.0.1:9", "time")
    assert done.status == 1 and "refused" in done.err.lower()


def test_a_key_is_given_without_a_profile(service, boardlot, config):
    base = ["--base-url", service.sandbox.base_url, *DIVIDENDS, "--format", "json"]
    key = ["--key-id", service.key_id, "--key-file", service.key_file]
    assert boardlot(*base, *key).json
    for line, status, said in (
        (base, 3, "No credentials were given: pass --profile NAME"),
        ([*base, *key[:2]], 2, "--key-file"),
        ([*base, *key, "--client-id", "x"], 2, "are mutually exclusive"),
        (DIVIDENDS, 2, "no service selected: pass --base-url URL, or --profile NAME"),
    ):
        done = boardlot(*line)
        assert done.status == status and said in done.said


def test_the_password_of_an_encrypted_key_is_prompted_for(service, boardlot, tmp_path, monkeypatch):
    key, file = KEYS["ed25519_encrypted"], tmp_path / "encrypted.pem"
    file.touch(mode=0o600)
    file.write_text(key["private_pem"])
    asked = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or key["password"])
    key_id = service.sandbox.upload_key(key["public_pem"])
    base = ["--base-url", service.sandbox.base_url, "sim-orders", "5001"]
    done = boardlot(*base, "--key-id", key_id, "--key-file", file)
    assert done.status == 0 and asked == [f"password of {file}: "]
    assert key["password"] not in done.out + done.err


@pytest.mark.filterwarnings("default:the key file")
def test_a_key_that_others_can_read_is_warned_about_in_one_line(service, boardlot, tmp_path):
    file = tmp_path / "open.pem"
    file.write_text(service.key_file.read_text())
    file.chmod(0o644)
    base = ["--base-url", service.sandbox.base_url, *DIVIDENDS, "--format", "json"]
    done = boardlot(*base, "--key-id", service.key_id, "--key-file", file)
    assert done.status == 0 and done.err == (
        f"boardlot: warning: the key file {file} can be read by other users; "
        f"run: chmod 600 {file}\n"
    )


def test_request_prints_the_response_as_it_came(live, sent, tmp_path):
    path = "/api/v1.0/quote/plate/HK.BK1001/stock"
    (tmp_path / "body").write_text('{"next_key": "",\n "limit": 3}')
    for body in ('{"next_key":"","limit":3}', f"@{tmp_path / 'body'}"):
        done = live("request", "post", path, "--body", body, "--header", "X-A: b")
        assert (done.status, done.err) == (0, "HTTP 200\n")
        assert len(done.json["data"]["stock_list"]) == 3 and "\n" not in done.out

    query = ["--query", "request_type=9", "--query", "b= &c"]
    assert live("request", "GET", "/api/v1.0/quote/ipo-list/hk", *query).json["ret_code"] == 0
    assert sent()[-1].query == "request_type=9&b=+%26c"


def test_request_ends_with_3_if_the_status_is_an_error(live, tmp_path):
    out = tmp_path / "response"
    assert live("request", "GET", "/nowhere", "--out", out) == (3, "", "HTTP 404\n")
    assert json.loads(out.read_bytes())["code"] == 404


def test_a_start_without_an_end_reads_until_now_and_says_so(live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = live("fills", ACCOUNT, "HK", "--start", "2001-01-01", "--out", "f.csv")
    assert done.status == 0
    with (tmp_path / "f.csv").open() as file:
        newest = max(int(row["updated_time"]) for row in csv.DictReader(file))
    ((start, end),) = re.findall(r"^time range: (\S+Z) to (\S+)Z$", done.err, re.MULTILINE)
    assert start == "2001-01-01T00:00:00Z"
    assert newest / 1_000_000 <= datetime.fromisoformat(f"{end}+00:00").timestamp()
    assert "time range" not in live("plate", "HK.BK1001", "--format", "jsonl").err


def test_without_pyarrow_one_line_says_what_to_install(sandbox, tmp_path):
    code = "import sys; sys.modules['pyarrow.parquet'] = None\n"
    code += "from boardlot.cli import main; sys.exit(main(sys.argv[1:]))"
    line = ["--base-url", sandbox.base_url, "time", "--out", str(tmp_path / "data.parquet")]
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "") and not list(tmp_path.iterdir())
    needs = "boardlot: --format parquet needs pyarrow: pip install 'boardlot[arrow]'"
    assert done.stderr.splitlines()[0] == needs


FILLS = ["fills", ACCOUNT, "HK"]
ORDERS = ["crypto-orders", "1001001"]


@pytest.fixture
def rows(live):
    return lambda *arguments: live("--format", "json", *arguments).json


def test_limit_ends_the_download_with_the_last_row(rows, sent):
    everything = rows(*FILLS)
    for number in (3, 51, 1000):
        before = len(sent())
        assert rows(*FILLS, "--limit", number) == everything[:number]
        if number == 3:
            # The first page, and perhaps the one that is fetched ahead: not all six.
            assert sum("fills_history" in request.path for request in sent()[before:]) <= 2


def test_where_compares_numbers_as_numbers_and_times_as_times(rows):
    everything = rows(*FILLS)
    middle = datetime.fromtimestamp(everything[150]["create_time"] / 1e6, timezone.utc)
    day = middle.replace(hour=0, minute=0, second=0, microsecond=0)
    for condition, holds in (
        ("qty>=1000", lambda row: Decimal(row["qty"]) >= 1000),
        ("qty < 1000", lambda row: Decimal(row["qty"]) < 1000),
        ("trd_side=buy", lambda row: row["trd_side"] == "BUY"),
        ("trd_side!=BUY", lambda row: row["trd_side"] != "BUY"),
        ("code=HK.00700", lambda row: row["code"] == "HK.00700"),
        ("stock_name~TENC", lambda row: "tenc" in row["stock_name"].lower()),
        (f"create_time>={day:%Y-%m-%d}", lambda row: row["create_time"] >= day.timestamp() * 1e6),
    ):
        expected = [row for row in everything if holds(row)]
        assert rows(*FILLS, "--where", condition) == expected, condition
        assert 0 < len(expected) < len(everything), condition


def test_conditions_are_combined_and_the_limit_counts_what_is_left(rows):
    expected = [
        row for row in rows(*FILLS) if row["trd_side"] == "BUY" and Decimal(row["qty"]) > 500
    ]
    where = ["--where", "trd_side=BUY", "--where", "qty>500"]
    assert rows(*FILLS, *where) == expected
    assert rows(*FILLS, *where, "--limit", "2") == expected[:2]
    assert rows(*FILLS, "--where", "qty<0") == []


def test_no_value_is_null_empty_or_missing(rows):
    everything = rows(*ORDERS)
    without = [row for row in everything if row["trigger_price"] == ""]
    rest = [row for row in everything if row["trigger_price"] != ""]
    assert without and rest
    assert rows(*ORDERS, "--where", "trigger_price=") == without
    assert rows(*ORDERS, "--where", "trigger_price!=") == rest
    # A comparison with a number holds for no row without one.
    assert rows(*ORDERS, "--where", "trigger_price>0") == rest


def test_sort_orders_all_rows_by_typed_values(rows):
    everything = rows(*FILLS)
    by_price = sorted(everything, key=lambda row: Decimal(row["price"]))
    assert rows(*FILLS, "--sort", "price") == by_price
    by_both = sorted(everything, key=lambda row: (row["code"], -Decimal(row["qty"])))
    assert rows(*FILLS, "--sort", "code,-qty", "--limit", "5") == by_both[:5]
    # Rows without a value come last in either direction.
    for order in ("trigger_price", "-trigger_price"):
        prices = [row["trigger_price"] for row in rows(*ORDERS, "--sort", order)]
        assert "" in prices and all(prices[: prices.index("")])


def test_the_page_size_of_a_plate_is_not_its_limit(rows, sent):
    assert len(rows("plate", "HK.BK1001", "--page-size", "7", "--limit", "10")) == 10
    assert 2 <= len(sent()) <= 3
