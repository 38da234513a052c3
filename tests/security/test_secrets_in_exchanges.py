"""Promise 47: whatever goes wrong inside an exchange, no secret of it is shown anywhere."""

import gzip
import re
import secrets
from itertools import product
from urllib.parse import parse_qsl

import boardlot as bl
import pytest
from boardlot import doctor

from ..support.certificates import Authority
from ..support.http2 import Http2
from ..support.logins import begin, quotes, sign_in
from ..support.proxy import Proxy
from ..support.secret_search import SPELLINGS, LogCapture, appearances, crash_report, hits
from ..support.service import Fault, Response, StandInService
from ..support.stores import DictStore

SECRET_FIELDS = ("refresh_token", "client_secret", "code", "code_verifier")
# A valid header name: RFC 9110, section 5.6.2.
FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Small enough that a response beyond it is sent at once.
BODY_LIMIT = 4096


def secrets_in(received):
    """The secrets that a request contains."""
    _, _, authorized = (received.header("Authorization") or "").rpartition(" ")
    fields = dict(parse_qsl(received.body.decode("latin-1")))
    return [secret for secret in (authorized, *map(fields.get, SECRET_FIELDS)) if secret]


def response(status=b"400 Bad Request", headers=(), body=b"", length=None):
    lines = [b"HTTP/1.1 " + status, *headers]
    lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*chunks, headers=(), end=b"0\r\n\r\n", status=b"200 OK"):
    head = b"\r\n".join([b"HTTP/1.1 " + status, b"Transfer-Encoding: chunked", *headers, b"", b""])
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def field_name(echo):
    return b"-".join(FIELD_NAME.findall(echo))


def repeated(echo):
    return (echo + b" ") * (BODY_LIMIT // (len(echo) + 1) + 2)


GZIP = b"Content-Encoding: gzip"
JSON = b'{"ret_code":1,"ret_msg":"%s","error":"%s","error_description":"%s"}'

# Each makes the bytes of a response from what it is to repeat.
ECHOES = {
    "status line": lambda echo: response(b"500 " + echo),
    "status line of a success": lambda echo: response(b"200 " + echo),
    "no status": lambda echo: b"HTTP/1.1 " + echo + b"\r\n\r\n",
    "no HTTP": lambda echo: echo + b"\r\n\r\n",
    "header": lambda echo: response(headers=[b"X-Echo: " + echo]),
    "name of a header": lambda echo: response(headers=[field_name(echo) + b": 1"]),
    "header without a colon": lambda echo: response(headers=[echo]),
    "invalid name of a header": lambda echo: response(headers=[b"x (" + echo + b"): 1"]),
    "length": lambda echo: response(headers=[b"Content-Length: " + echo]),
    "transfer coding": lambda echo: response(headers=[b"Transfer-Encoding: " + echo]),
    "content coding": lambda echo: response(headers=[b"Content-Encoding: " + echo], body=echo),
    "content type": lambda echo: response(headers=[b"Content-Type: " + echo], body=echo),
    "redirect": lambda echo: response(b"302 Found", [b"Location: https://x.example/?" + echo]),
    "challenge": lambda echo: response(b"401 No", [b'WWW-Authenticate: Bearer x="' + echo + b'"']),
    "wait": lambda echo: response(b"429 Slow down", [b"Retry-After: " + echo]),
    "message": lambda echo: response(body=JSON % (echo, echo, echo)),
    "rejected token": lambda echo: response(b"401 No", body=JSON % (echo, b"invalid_token", echo)),
    "page": lambda echo: response(b"502 Bad Gateway", body=b"<html>" + echo),
    "no JSON": lambda echo: response(b"200 OK", body=echo),
    "no UTF-8": lambda echo: response(b"200 OK", body=b"\xff" + echo),
    "no success mark": lambda echo: response(b"200 OK", body=b'{"x":"%s"}' % echo),
    "name of a member": lambda echo: response(b"200 OK", body=b'{"%s":{}}' % echo),
    "lone surrogate": lambda echo: response(
        b"200 OK", body=b'{"ret_code":0,"data":[{"%s":"\\ud800"}]}' % echo
    ),
    "announced too large": lambda echo: response(b"200 OK", body=echo, length=1 << 40),
    "too large": lambda echo: chunked(*[repeated(echo)[:1000]] * 6),
    "too large at once": lambda echo: chunked(repeated(echo)),
    "too large when decompressed": lambda echo: response(
        b"200 OK", [GZIP], gzip.compress(repeated(echo))
    ),
    "broken compression": lambda echo: response(b"200 OK", [GZIP], echo),
    "compression that breaks off": lambda echo: response(
        b"200 OK", [GZIP], gzip.compress(secrets.token_bytes(600) + echo)[:-4]
    ),
    "size of a chunk": lambda echo: chunked(echo, end=echo + b"\r\n"),
    "extension of a chunk": lambda echo: chunked(echo, end=b"5;" + echo + b"\r\n"),
    "trailer": lambda echo: chunked(b"{", end=b"0\r\nX-Echo: " + echo + b"\r\n\r\n"),
    "invalid trailer": lambda echo: chunked(b"{", end=b"0\r\n" + echo + b"\r\n\r\n"),
    "breaks off": lambda echo: response(b"200 OK", body=echo, length=3000),
    "two responses": lambda echo: response(b"200 OK", body=echo) * 2,
    "interim response": lambda echo: b"HTTP/1.1 103 " + echo + b"\r\nX: " + echo + b"\r\n\r\n",
    "upgrade": lambda echo: b"HTTP/1.1 101 " + echo + b"\r\nUpgrade: " + echo + b"\r\n\r\n",
}


class Witness:
    """All that can be seen of a client's requests: output, log, events, spans, a recording."""

    def __init__(self, folder, output):
        self.log, self.events, self.errors, self.output = LogCapture(), [], [], output
        self.cassette = folder / f"{secrets.token_hex(8)}.jsonl"
        self.spans = None

    def client(self, base_url, auth, **options):
        self.recorder = bl.Recorder(self.cassette)
        hooks = {"on_request": self.events.append, "on_response": self.events.append}
        options = {"max_retries": 0, "timeout": 5.0, "max_body_bytes": BODY_LIMIT, **options}
        client = bl.Client(base_url, auth=auth, cassette=self.recorder, **hooks, **options)
        self.spans = traced(client)
        return client

    def catch(self, work):
        try:
            return work()
        except bl.BoardlotError as error:
            self.errors.append(error)
            return None

    def seen(self):
        for error in self.errors:
            # The report has those that caused it, too.
            yield from appearances(error)
            yield "report", crash_report(error)
        for event in self.events:
            yield from appearances(event)
        yield "output", "".join(self.output.readouterr())
        yield from (("log", line) for line in self.log.lines)
        if self.spans is not None:
            yield from (("span", span.to_json()) for span in self.spans.get_finished_spans())
        if self.cassette.exists():
            yield "cassette", self.cassette.read_text("utf-8")

    def assert_silent(self, hidden):
        hidden = {secret for secret in hidden if secret}
        assert hidden
        for where, text in self.seen():
            assert not hits(hidden, text.replace("\\\\", "\\")), (where, text)
            # Names of headers arrive in lower case.
            assert not [one for one in hidden if one.lower() in text.lower()], (where, text)


def traced(client):
    """Spans of a client's requests, in memory."""
    otel = pytest.importorskip("boardlot.otel")
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    provider, spans = trace.TracerProvider(), memory.InMemorySpanExporter()
    provider.add_span_processor(export.SimpleSpanProcessor(spans))
    otel.instrument(client, tracer_provider=provider)
    return spans


@pytest.fixture
def witness(tmp_path, capfd):
    one = Witness(tmp_path, capfd)
    with one.log:
        yield one


# Where a text may have any words: a token that it makes up has no name there to be known by.
FREE_TEXTS = ("message", "rejected token", "wait", "page")


def echo_with(echo, hidden, fresh=(), spell=str):
    """Repeats the secrets of each request, with tokens of its own; adds them to `hidden`."""
    if echo in FREE_TEXTS:
        fresh = ()

    def respond(received):
        found = [*secrets_in(received), *fresh]
        hidden.update(found)
        echoed = ECHOES[echo](" ".join(map(spell, found)).encode())
        # As it is closed: another request could be sent on it in that moment, and be lost.
        return echoed.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)

    return respond


AUTH = {
    "a token": lambda: bl.BearerToken("canary+7f/1e~0c=55&d2.aA-bb_cc"),
    "a signature": lambda: bl.ApiKey("key-id", bl.generate_key().private_pem),
}


# One of each layer that can fail. Which secrets an exchange has makes no difference to it.
LAYERS = ["status line", "header", "wait", "message", "no JSON", "too large", "size of a chunk"]


@pytest.mark.parametrize(
    ("auth", "echo", "spelling"),
    [
        *product(["a token"], ECHOES, ["exactly"]),
        *product(["a signature"], LAYERS, ["exactly"]),
        *product(["a token"], LAYERS, sorted(SPELLINGS.keys() - {"exactly"})),
    ],
)
def test_security_47_a_call_that_fails_shows_no_secret(witness, echo, auth, spelling):
    hidden = set()
    respond = echo_with(echo, hidden, spell=SPELLINGS[spelling])
    with StandInService(lambda received: Response(raw=respond(received))) as service:
        client = witness.client(service.base_url, AUTH[auth]())
        witness.catch(lambda: quotes(client))
        witness.catch(lambda: list(client.plate_stocks("HK.BK1001")))
        witness.catch(lambda: repr(client.request("GET", "/api/v1.0/other")))
        own = {"X-Tenant-Key": "tenant-secret-0123456789"}
        other = bl.Client(service.base_url, auth=AUTH[auth](), headers=own, max_retries=0)
        witness.catch(lambda: quotes(other))
    assert witness.errors and witness.log.lines and witness.events
    witness.assert_silent(hidden)


@pytest.mark.parametrize("echo", LAYERS)
def test_security_47_a_refresh_or_a_login_that_fails_shows_no_secret(witness, server, echo):
    hidden, fresh = set(), "access-" + secrets.token_urlsafe(24)
    client = witness.client(server.base_url, sign_in(server, DictStore(), confidential=True))
    server.expire()
    for grant in ("refresh_token", "authorization_code"):
        server.faults[grant] = Fault(raw=echo_with(echo, hidden, [fresh]))
    witness.catch(lambda: quotes(client))
    assert witness.errors and witness.log.lines and len(hidden) > 1
    flow = begin(server, confidential=True)
    witness.catch(lambda: flow.finish(server.authorize(flow.url)))
    assert len(witness.errors) == 2 and len(hidden) > 3
    witness.assert_silent(hidden | server.secrets)


TOKENS = b'{"access_token":"%s","refresh_token":"%s",%s"token_type":"Bearer","expires_in":7200'
GRANTED = {
    "too large": lambda body: body + b',"x":"' + b"y" * BODY_LIMIT + b'"}',
    "not JSON": lambda body: body,
    "no scope": lambda body: body + b',"scope":7,"token_type":"MAC"}',
    "with an error": lambda body: body + b',"error":"server_error"}',
    "with a message": lambda body: body + b',"error":"no","error_description":"%s"}' % body[17:50],
}


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request", b"503 Busy"])
@pytest.mark.parametrize("way", GRANTED)
def test_security_47_new_tokens_of_a_response_that_is_rejected_are_not_shown(
    witness, server, way, status
):
    fresh = ["access-" + secrets.token_urlsafe(24), "refresh-" + secrets.token_urlsafe(24)]
    body = GRANTED[way](TOKENS % (fresh[0].encode(), fresh[1].encode(), b""))
    oauth = sign_in(server, DictStore())
    server.expire()
    server.faults["refresh_token"] = Fault(raw=lambda _: response(status, body=body))
    client = witness.client(server.base_url, oauth)
    witness.catch(lambda: quotes(client))
    server.faults["authorization_code"] = server.faults["refresh_token"]
    witness.catch(lambda: sign_in(server))
    assert witness.errors
    witness.assert_silent({*fresh, *server.secrets})


def test_security_47_the_debug_data_of_http2_is_not_shown(witness):
    authority = Authority()
    fresh = "access-" + secrets.token_urlsafe(24)
    token = "canary-" + secrets.token_urlsafe(24)
    http2 = Http2(debug_data=f"{token} {fresh}".encode())
    with StandInService(context=authority.context(), http2=http2) as service:
        client = witness.client(service.base_url, bl.BearerToken(token), ca_file=authority.ca_file)
        witness.catch(lambda: quotes(client))
    assert "connection error received" in str(witness.errors[0])
    witness.assert_silent({token, fresh})


@pytest.mark.parametrize("echo", LAYERS)
def test_security_47_a_proxy_that_repeats_its_password_is_not_quoted(witness, echo):
    password = "pa55-word/with+signs"
    hidden = [password, "bWU6cGE1NS13b3JkL3dpdGgrc2lnbnM"]
    refusal = ECHOES[echo](" ".join(hidden).encode())
    with Proxy(tunnels={}, refusal=refusal) as proxy:
        url = f"http://me:pa55-word%2Fwith+signs@127.0.0.1:{proxy.port}"
        client = witness.client("https://api.example.com", None, proxy=url)
        witness.catch(lambda: quotes(client))
        options = {"proxy": url}
        findings = list(doctor.examine("https://api.example.com", timeout=5.0, **options))
    assert witness.errors and proxy.authorizations
    witness.assert_silent(hidden)
    assert not hits(hidden, repr(findings))


@pytest.mark.parametrize("echo", LAYERS)
def test_security_47_the_doctor_shows_no_secret(echo):
    hidden = set()
    respond = echo_with(echo, hidden)
    with StandInService(lambda received: Response(raw=respond(received))) as service:
        for auth in AUTH.values():
            findings = list(doctor.examine(service.base_url, auth=auth(), timeout=5.0))
            assert not hits(hidden, repr(findings)), findings
