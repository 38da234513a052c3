"""`boardlot-sandbox`: options, the bytes of `bl.Sandbox`, own data, faults, TLS and its end."""

import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from datetime import date

import boardlot as bl
import psutil
import pytest

from ..support.certificates import Authority
from ..support.threads import wait_until
from .sandbox_program import Program, failed, program

pytestmark = [
    pytest.mark.sandbox_program,
    pytest.mark.skipif(sys.platform == "win32", reason="ends by SIGTERM"),
]
PATHS = [
    "/api/v1.0/quote/trading-days?market=HK&start=2026-01-01&end=2026-01-31",
    "/api/v1.0/quote/HK.HSImain/reference-future",
    "/api/v1.0/quote/HK.00700/corporate-actions/dividends",
    "/api/v1.0/quote/US.AAPL/corporate-actions/dividends",
    *(f"/api/v1.0/quote/ipo-list/{market}" for market in ("hk", "us", "cn", "sg", "my")),
    "/api/v1/crypto/accounts/1001001/orders",
    "/api/v1.0/sim-trade/5001/orders",
    "/api/v1.0/sim-trade/5001/positions",
    "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag=&end=1768435200000000",
    "/api/v1.0/accounts/281757/fills_history?trd_market=US&page_flag=&end=1768435200000000",
    "/api/v1.0/quote/HK.00700/history-kline",
    "/api/v1.0/accounts/1/fills_history?trd_market=HK&page_flag=",
    "/openapi.json",
    "/healthz",
    "/unknown",
]
PLATE = "/api/v1.0/quote/plate/HK.BK1001/stock"


def fetched(base_url, token, path, body=None, context=None):
    """The status and the body of a response, and the headers that do not tell the time."""
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(base_url + path, body, headers)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(request, timeout=60) as got:
            return got.status, got.headers["Content-Type"], got.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def token_of(sandbox):
    with sandbox.client("oauth") as client:
        return client._boardlot_core.token_header(None).removeprefix("Bearer ")


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_options_give_the_same_bytes_as_in_python(seed):
    options = ["--seed", seed, "--today", "2026-01-15", "--fills", 300, "--orders", 30]
    with (
        Program(*options, "--plate-stocks", 40, "--print-token") as other,
        bl.Sandbox(
            seed=seed, today=date(2026, 1, 15), fills=300, orders=30, plate_stocks=40
        ) as sandbox,
    ):
        assert other.ready["accounts"] == sandbox.accounts
        token = token_of(sandbox)
        for path in PATHS:
            expected = fetched(sandbox.base_url, token, path)
            assert fetched(other.base_url, other.ready["token"], path) == expected, path
        for body in (b'{"next_key":"","limit":7}', b'{"limit":7,"next_key":"p /+&=%?#x"}'):
            expected = fetched(sandbox.base_url, token, PLATE, body)
            assert fetched(other.base_url, other.ready["token"], PLATE, body) == expected


def test_the_same_faults_come_in_the_same_order():
    faults = bl.Faults(error_rate=0.3, html_rate=0.2, throttle_rate=0.2, seed=3)
    given = "error_rate=0.3,html_rate=0.2,throttle_rate=0.2,seed=3"
    path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
    with Program("--seed", 7, "--faults", given, "--print-token") as other:
        theirs = [fetched(other.base_url, other.ready["token"], path) for _ in range(40)]
    with bl.Sandbox(seed=7) as sandbox:
        token = token_of(sandbox)
        sandbox.faults = faults
        ours = [fetched(sandbox.base_url, token, path) for _ in range(40)]
    # Texts with today's date are the same: both ran on the same day, or this fails once a night.
    assert [status for status, *_ in theirs] == [status for status, *_ in ours]
    assert {429, 200} <= {status for status, *_ in theirs}


@pytest.mark.parametrize("algorithm", ["Ed25519", "RSA-SHA256"])
def test_it_makes_a_key_that_signs(algorithm):
    with Program("--print-key", algorithm) as other:
        key = bl.ApiKey(other.ready["key_id"], other.ready["private_key"])
        assert key.algorithm == algorithm
        with bl.Client(other.base_url, auth=key) as client:
            assert len(client.sim_positions("5001")) > 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
@pytest.mark.parametrize("algorithm", ["Ed25519", "RSA-SHA256"])
def test_openssl_reads_its_keys(algorithm, tmp_path):
    with Program("--print-key", algorithm) as other:
        (tmp_path / "key.pem").write_text(other.ready["private_key"])
    command = ["openssl", "pkey", "-in", tmp_path / "key.pem", "-noout", "-check"]
    subprocess.run(command, check=True, capture_output=True)


def test_it_accepts_a_key_of_the_users_own(tmp_path):
    made = bl.generate_key()
    (tmp_path / "key.pub").write_text(made.public_pem)
    with Program("--public-key", tmp_path / "key.pub") as other:
        key = bl.ApiKey(other.ready["key_id"], made.private_pem)
        with bl.Client(other.base_url, auth=key) as client:
            assert len(client.sim_positions("5001")) > 0


def test_a_login_works():
    with Program() as other:
        flow = bl.begin_login(other.base_url, store=bl.MemoryStore())
        request = urllib.request.Request(flow.url)
        with urllib.request.urlopen(request, timeout=60) as page:
            assert page.status == 200


def test_rows_of_a_folder_are_served(tmp_path):
    (tmp_path / "sim_orders.json").write_text('[{"order_id": "own", "qty": "1.50"}]')
    (tmp_path / "dividends").mkdir()
    (tmp_path / "dividends" / "symbol=HK.00700.json").write_text('[{"statement": "own"}]')
    (tmp_path / "endpoints.toml").write_text(
        '[news]\nmethod = "GET"\npath = "/news/{symbol}"\nrows = "data.list"\n'
    )
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "symbol=HK.00700,kind=1.json").write_text('[{"title": "own"}]')
    (tmp_path / "README.md").write_text("Not data.")
    with Program("--data", tmp_path, "--print-token") as other:
        auth = bl.BearerToken(other.ready["token"])
        with bl.Client(other.base_url, auth=auth) as client:
            assert client.sim_orders("5001") == [{"order_id": "own", "qty": "1.50"}]
            assert client.dividends("HK.00700") == [{"statement": "own"}]
            assert len(client.dividends("HK.00005")) > 1
            news = bl.Endpoint("news", "GET", "/news/{symbol}", rows="data.list")
            assert client.call(news, symbol="HK.00700", kind=1) == [{"title": "own"}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("sim_order.json", "[]", "did you mean 'sim_orders'"),
        ("sim_orders.json", "{}", "sim_orders.json"),
        ("dividends/HK.00700.json", "[]", "symbol=HK.00700.json"),
        ("dividends/code=1.json", "[]", "code"),
        ("endpoints.toml", "[x]\nmethod = 1", "endpoints.toml, line 2"),
    ],
)
def test_a_file_that_cannot_be_served_is_named(name, text, said, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    status, error = failed("--data", tmp_path)
    assert status == 1
    assert said in error


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--fills", "x"], 2, "--fills"),
        (["--sed", "7"], 2, "--seed"),
        (["--faults", "error_rat=1"], 1, "error_rate"),
        (["--faults", "error_rate=2"], 1, "error_rate"),
        (["--tls-cert", "x.pem"], 2, "--tls-key"),
        (["--tls-cert", "/none.pem", "--tls-key", "/none.pem"], 1, "/none.pem"),
        (["--data", "/none"], 1, "/none"),
        (["--today", "1999-01-01"], 1, "today"),
    ],
)
def test_a_wrong_option_is_named(arguments, status, said):
    assert failed(*arguments)[0] == status
    assert said in failed(*arguments)[1]


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, error = failed("--port", port)
    assert status == 1
    assert str(port) in error


def test_it_serves_https_with_given_files(tmp_path):
    certificate, key = Authority().files(tmp_path)
    files = ["--tls-cert", certificate, "--tls-key", key]
    with Program(*files, "--print-token") as other:
        assert other.base_url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=Authority.ca_file)
        got = fetched(other.base_url, other.ready["token"], "/healthz", context=context)
        assert got == (200, "application/json", b'{"status":"ok"}')
        # One that does not speak TLS disturbs nobody.
        host, port = other.base_url.removeprefix("https://").split(":")
        with socket.create_connection((host, int(port))) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        auth = bl.BearerToken(other.ready["token"])
        with bl.Client(other.base_url, auth=auth, ca_file=Authority.ca_file) as client:
            assert len(client.sim_positions("5001")) > 0


def test_sigterm_ends_it_when_what_is_under_way_has_its_responses():
    with Program("--faults", "latency=0.5", "--print-token") as other:
        received = []

        def fetch():
            token = other.ready["token"]
            received.append(fetched(other.base_url, token, "/api/v1.0/sim-trade/5001/orders"))

        threads = [threading.Thread(target=fetch) for _ in range(8)]
        # An idle connection does not keep it.
        host, port = other.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as idle:
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert idle.recv(15) == b"HTTP/1.1 200 OK"
            for thread in threads:
                thread.start()
            waiting_for(other.process.pid, 9)
            assert other.end() == 0
        for thread in threads:
            thread.join()
    assert [status for status, *_ in received] == [200] * 8
    assert all(json.loads(body)["ret_code"] == 0 for *_, body in received)


def waiting_for(pid, connections):
    """Waits until a process has so many connections."""

    def established():
        found = psutil.Process(pid).net_connections("tcp")
        return sum(one.status == psutil.CONN_ESTABLISHED for one in found)

    wait_until(lambda: established() >= connections)


def test_without_json_the_last_line_has_the_address():
    command = [program(), "--print-key", "--print-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        while not lines or not lines[-1].startswith("listening on "):
            lines.append(process.stdout.readline().rstrip("\n"))
        process.terminate()
        assert process.wait(60) == 0
    assert lines[0].startswith("key id: app-")
    assert lines[1] == "-----BEGIN PRIVATE KEY-----"
    assert lines[-2].startswith("token: ")
    assert lines[-1].startswith("listening on http://127.0.0.1:")
