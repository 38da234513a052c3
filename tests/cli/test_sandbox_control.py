"""`boardlot-sandbox --control` and `--log`: tests in any language watch and drive it over HTTP.

The same requests go to a `bl.Sandbox`, which allows them as well.
"""

import json
import re
import sys
import urllib.request
from urllib.parse import parse_qs, urlsplit

import boardlot as bl
import jsonschema
import pytest

from .sandbox_program import Program

pytestmark = [
    pytest.mark.sandbox_program,
    pytest.mark.skipif(sys.platform == "win32", reason="ends by SIGTERM"),
]
DIVIDENDS = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Service:
    """A sandbox with a token; what is sent and received is checked by the description."""

    def __init__(self, base_url, token, description):
        self.base_url, self.token, self.description = base_url, token, description

    def fetch(self, method, path, body=None, content_type="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        request = urllib.request.Request(self.base_url + path, body, headers, method=method)
        try:
            with OPENER.open(request, timeout=60) as got:
                return got.status, json.load(got)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def drive(self, method, name, body=None, expected=200):
        path = f"/_sandbox/{name}"
        data = None if body is None else json.dumps(body).encode()
        status, got = self.fetch(method, path, data)
        assert status == expected, got
        operation = self.description["paths"][path][method.lower()]
        content = operation["responses"][str(status)]["content"]["application/json"]["schema"]
        self.check(content, got)
        if body is not None and status == 200:
            accepted = operation["requestBody"]["content"]["application/json"]["schema"]
            self.check(accepted, body)
        return got

    def check(self, schema, value):
        whole = {**schema, "components": self.description["components"]}
        jsonschema.validate(value, whole, jsonschema.Draft202012Validator)

    def dividends(self):
        return self.fetch("GET", DIVIDENDS)

    def statuses(self):
        return [one["status"] for one in self.drive("GET", "requests")]


@pytest.fixture(scope="module")
def program():
    with Program("--seed", 7, "--control", "--print-token") as started:
        with OPENER.open(f"{started.base_url}/openapi.json", timeout=60) as got:
            description = json.load(got)
        yield Service(started.base_url, started.ready["token"], description)


@pytest.fixture(scope="module")
def sandbox_of_python(program):
    with bl.Sandbox(seed=7) as sandbox, sandbox.client("oauth") as client:
        token = client._boardlot_core.token_header(None).removeprefix("Bearer ")
        yield Service(sandbox.base_url, token, program.description)


@pytest.fixture(params=["program", "sandbox_of_python"])
def service(request):
    found = request.getfixturevalue(request.param)
    found.drive("PUT", "faults", {})
    if request.param == "program":
        # Of the other one, the token would be forgotten.
        found.drive("POST", "reset")
    return found


def test_the_requests_are_listed_as_they_came(service):
    before = len(service.drive("GET", "requests"))
    service.dividends()
    service.fetch("GET", "/api/v1.0/quote/trading-days?market=HK&start=x&end=%32")
    service.fetch("GET", "/healthz")
    assert service.drive("GET", "requests")[before:] == [
        {"method": "GET", "path": DIVIDENDS, "query": "", "status": 200},
        {
            "method": "GET",
            "path": "/api/v1.0/quote/trading-days",
            "query": "market=HK&start=x&end=%32",
            "status": 200,
        },
    ]


def test_the_next_requests_fail_as_ordered(service):
    service.drive("POST", "fail-next")
    service.drive("POST", "fail-next", {"endpoint": "dividends", "code": -7, "message": "gone"})
    service.drive("POST", "fail-next", {"endpoint": DIVIDENDS, "times": 2, "status": 429})
    assert service.fetch("GET", "/api/v1.0/server-time")[0] == 503
    status, body = service.dividends()
    assert (status, body["ret_code"], body["error"]["code"]) == (200, -7, "invalid_symbol")
    assert [service.dividends()[0] for _ in range(3)] == [429, 429, 200]
    service.drive("POST", "fail-next", {"endpoint": "dividends", "status": 0})
    with pytest.raises((OSError, ValueError)):
        service.dividends()
    assert service.statuses()[-1] == 0


def test_faults_are_replaced_as_a_whole(service):
    given = {"throttle_rate": 1, "seed": 3}
    faults = service.drive("PUT", "faults", given)
    assert faults == {
        **dict.fromkeys(["latency", "error_rate", "drop_rate", "truncate_rate", "html_rate"], 0),
        **given,
    }
    assert service.dividends()[0] == 429
    service.drive("PUT", "faults", {"html_rate": 0})
    assert service.dividends()[0] == 200


def test_rows_of_a_test_are_served_unchanged(service):
    rows = b'[{"statement": "own", "n": 12345678901234567890.50}]'
    sent = b'{"endpoint": "dividends", "rows": %s, "arguments": {"symbol": "HK.00700"}}' % rows
    assert service.fetch("PUT", "/_sandbox/rows", sent) == (200, {})
    request = urllib.request.Request(
        service.base_url + DIVIDENDS, headers={"Authorization": f"Bearer {service.token}"}
    )
    with OPENER.open(request, timeout=60) as got:
        assert rows in got.read()
    _, others = service.fetch("GET", DIVIDENDS.replace("00700", "00005"))
    assert len(others["data"]["dividend_list"]) > 1
    orders = {"endpoint": "sim_orders", "rows": [], "arguments": {"acc_id": 5001}}
    service.drive("PUT", "rows", orders)
    _, of_the_account = service.fetch("GET", "/api/v1.0/sim-trade/5001/orders")
    assert of_the_account["data"]["orders"] == []


def test_a_user_consents_and_loses_the_grants():
    with Program("--seed", 7, "--control") as started:
        service = Service(started.base_url, "", bl.openapi())
        flow = bl.begin_login(service.base_url, store=bl.MemoryStore())

        def approve(**more):
            body = json.dumps({"authorize_url": flow.url, **more}).encode()
            return service.fetch("POST", "/_sandbox/approve", body)

        status, refused = approve(scopes=["x"])
        assert status == 400 and "x" in refused["error"]
        # As from outside of a container, where the address is another one.
        path = flow.url.removeprefix(service.base_url)
        _, elsewhere = service.fetch(
            "POST",
            "/_sandbox/approve",
            json.dumps({"authorize_url": f"http://sandbox.example:8080{path}"}).encode(),
        )
        assert "code" in parse_qs(urlsplit(elsewhere["callback_url"]).query)
        _, allowed = approve(scopes=["quote:read"])
        login = flow.finish(allowed["callback_url"])
        with bl.Client(service.base_url, auth=login, max_retries=0) as client:
            assert len(client.dividends("HK.00700")) > 0
            with pytest.raises(bl.PermissionDenied):
                client.sim_orders("5001")
            assert service.fetch("POST", "/_sandbox/revoke-tokens") == (200, {})
            assert len(client.dividends("HK.00700")) > 0, "with a refreshed token"
            assert service.fetch("POST", "/_sandbox/revoke-grants") == (200, {})
            with pytest.raises(bl.LoginRequired):
                client.dividends("HK.00700")


def test_a_reset_restores_the_initial_state(program):
    program.drive("PUT", "rows", {"endpoint": "dividends", "rows": []})
    program.drive("POST", "fail-next", {"times": None})
    assert program.dividends()[0] == 503
    program.drive("POST", "reset")
    assert program.drive("GET", "requests") == []
    status, body = program.dividends()
    assert status == 200 and len(body["data"]["dividend_list"]) > 0


@pytest.mark.parametrize(
    ("method", "name", "body", "said"),
    [
        ("PUT", "faults", {"error_rate": 2}, "error_rate is 2; expected a number from 0 to 1"),
        ("PUT", "faults", {"errors": 1}, "errors"),
        ("PUT", "faults", [], "not valid"),
        ("POST", "fail-next", {"endpoint": "dividend"}, "did you mean 'dividends'"),
        ("POST", "fail-next", {"status": 200}, "status is 200"),
        ("POST", "fail-next", {"times": 0}, "times is 0"),
        ("POST", "fail-next", {"code": 0}, "code"),
        ("PUT", "rows", {"endpoint": "dividend", "rows": []}, "endpoint is 'dividend'"),
        ("PUT", "rows", {"endpoint": "dividends"}, "rows"),
        ("PUT", "rows", {"endpoint": "dividends", "rows": [1]}, "rows[0]"),
        ("PUT", "rows", {"endpoint": "sim_orders", "rows": [{"qty": 1}]}, "expected a string"),
        (
            *("PUT", "rows"),
            {"endpoint": "dividends", "rows": [], "arguments": {"code": "x"}},
            "code is not an argument of dividends",
        ),
        ("POST", "approve", {"authorize_url": "http://x/y"}, "/oauth2/authorize/confirm"),
        ("POST", "approve", {}, "authorize_url"),
    ],
)
def test_a_wrong_body_is_refused_with_what_is_expected(method, name, body, said, program):
    program.drive("POST", "reset")
    assert said in program.drive(method, name, body, expected=400)["error"]
    assert program.dividends()[0] == 200


def test_other_paths_and_methods_are_refused_with_those_that_exist(program):
    for method, name, expected in (
        *(("GET", "reset", 405), ("DELETE", "rows", 405)),
        *(("POST", "nothing", 404), ("GET", "", 404)),
    ):
        status, body = program.fetch(method, f"/_sandbox/{name}")
        assert status == expected
        assert "POST fail-next" in body["error"]


def test_without_the_option_all_of_it_is_refused():
    with Program("--seed", 7, "--print-token") as started:
        service = Service(started.base_url, started.ready["token"], bl.openapi())
        for method, name in (("GET", "requests"), ("POST", "reset"), ("PUT", "faults")):
            status, body = service.fetch(method, f"/_sandbox/{name}", b"{}")
            assert (status, "--control" in body["error"]) == (403, True)
        assert service.fetch("GET", "/openapi.json")[1] == bl.openapi()


def test_the_description_of_the_program_has_the_service_and_the_control(program):
    paths = program.description["paths"]
    assert {path: item for path, item in paths.items() if not path.startswith("/_sandbox/")} == (
        bl.openapi()["paths"]
    )
    assert sorted(
        f"{method.upper()} {path}"
        for path, item in paths.items()
        for method in item
        if path.startswith("/_sandbox/")
    ) == [
        "GET /_sandbox/requests",
        *("POST /_sandbox/approve", "POST /_sandbox/fail-next", "POST /_sandbox/reset"),
        *("POST /_sandbox/revoke-grants", "POST /_sandbox/revoke-tokens"),
        *("PUT /_sandbox/faults", "PUT /_sandbox/rows"),
    ]


def test_a_log_has_a_line_for_each_request_without_secrets(tmp_path):
    with (
        (tmp_path / "log").open("w") as log,
        Program("--log", "--print-token", stderr=log) as started,
    ):
        token = started.ready["token"]
        service = Service(started.base_url, token, bl.openapi())
        service.dividends()
        service.fetch("GET", "/api/v1.0/sim-trade/5001/positions?market=1")
        service.fetch("POST", "/oauth2/token", b"code=secret", "application/octet-stream")
        service.fetch("GET", "/healthz")
    text = (tmp_path / "log").read_text()
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
    assert [re.sub(time, "", line, count=1) for line in text.splitlines()] == [
        f"GET {DIVIDENDS} 200",
        "GET /api/v1.0/sim-trade/5001/positions?market=1 200",
        "POST /oauth2/token 400",
        "GET /healthz 200",
    ]
    assert token not in text and "secret" not in text
