"""Promise 14: a secret is redacted in every spelling in which a service may repeat it."""

import base64
import contextlib
import html.entities
import json
import random
import time
from urllib.parse import quote, quote_plus, unquote

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.logins import begin, quotes, sign_in
from ..support.secret_search import LogCapture, appearances, crash_report
from ..support.service import Fault, StandInService, response
from ..support.stores import DictStore

TOKEN = "canary+7f/1e~0c=55&d2.aa-bb_cc"
LOW = "/api/v1.0/server-time"


def each(text, way):
    return "".join(way(c) for c in text)


def mixed(text):
    ways = [
        lambda c: c,
        lambda c: f"%{ord(c):02x}",
        lambda c: f"%{ord(c):02X}",
        lambda c: f"\\u{ord(c):04X}",
        lambda c: f"\\u{ord(c):04x}",
        lambda c: f"&#{ord(c)};",
        lambda c: f"&#x{ord(c):X};",
    ]
    draw = random.Random(5)
    return each(text, lambda c: draw.choice(ways)(c))


NAMES = {char: f"&{name}" for name, char in html.entities.html5.items() if name.endswith(";")}


def named(c):
    return NAMES.get(c, c)


def lines(text, size):
    return "\r\n".join(text[at : at + size] for at in range(0, len(text), size))


SPELLINGS = {
    "as it is": str,
    "percent-encoded": lambda text: quote(text, safe=""),
    "in lower case": lambda text: each(text, lambda c: c if c.isalnum() else f"%{ord(c):02x}"),
    "percent-encoded throughout": lambda text: each(text, lambda c: f"%{ord(c):02X}"),
    "as a form": quote_plus,
    "twice percent-encoded": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON escapes": lambda text: each(text, lambda c: c if c.isalnum() else f"\\u{ord(c):04X}"),
    "JSON escapes throughout": lambda text: each(text, lambda c: f"\\u{ord(c):04x}"),
    "JSON in JSON": lambda text: each(text, lambda c: f"\\\\u{ord(c):04x}"),
    "an escaped slash": lambda text: text.replace("/", "\\/"),
    "HTML": lambda text: text.replace("&", "&amp;").replace("+", "&#43;").replace("=", "&#x3D;"),
    "HTML throughout": lambda text: each(text, lambda c: f"&#{ord(c)};"),
    "HTML in hexadecimal": lambda text: each(text, lambda c: f"&#X{ord(c):x};"),
    "Base64": lambda text: base64.b64encode(text.encode()).decode(),
    "Base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "Base64 in lines of MIME": lambda text: base64.encodebytes(text.encode() * 4).decode(),
    "Base64 in lines of PEM": lambda text: lines(base64.b64encode(text.encode() * 4).decode(), 64),
    "names of HTML": lambda text: each(text, named),
    "escape() of JavaScript": lambda text: each(text, lambda c: f"%u{ord(c):04X}"),
    "UTF-16": lambda text: text.encode("utf-16-le").decode(),
    "UTF-16, big-endian": lambda text: text.encode("utf-16-be").decode(),
    "UTF-16 in percent-encoding": lambda text: quote(text.encode("utf-16-le"), safe=""),
    "UTF-16 with JSON escapes": lambda text: json.dumps(text.encode("utf-16-le").decode())[1:-1],
    "percent-encoded in UTF-16": lambda text: quote(text, safe="").encode("utf-16-le").decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "mixed": mixed,
}
spellings = pytest.mark.parametrize("spelling", SPELLINGS)


def traces(secret, spelling):
    """What of a spelled secret must not be found: more than a quarter of it in one piece."""
    spelled = SPELLINGS[spelling](secret)
    size = max(12, len(spelled) // 4)
    return {secret, *(spelled[n : n + size] for n in range(len(spelled) - size))}


def found(secret, spelling, text):
    # A repr doubles what is a backslash in the text.
    return [
        one for one in traces(secret, spelling) if one in text or one in text.replace("\\\\", "\\")
    ]


def echoes(text):
    """Responses that repeat a text, by where they have it."""
    # A header cannot have NUL.
    plain, in_line = text.encode(), " ".join(text.replace("\0", "%00").split())
    return {
        "message": (400, {}, {"ret_code": 1, "ret_msg": f"no: {text}"}),
        "raw message": (200, {}, b'{"ret_code":1,"ret_msg":"no: ' + plain + b'"}'),
        "error": (401, {}, {"error": text, "error_description": text}),
        "error.code": (400, {}, {"error": {"code": text, "message": text}}),
        "header": (403, {"X-Echo": in_line, "WWW-Authenticate": f'Bearer x="{in_line}"'}, b"{}"),
        "page": (502, {}, b"<html>no: " + plain + b"</html>"),
        "no JSON": (200, {}, b"no: " + plain),
        "no mark": (200, {}, b'{"a":"' + plain + b'"}'),
        "at the cut": (400, {}, b'{"ret_code":1,"x":"' + b"y" * 2020 + in_line.encode() + b'"}'),
        "many at the cut": (500, {}, (plain + b" ") * 400),
    }


@spellings
def test_security_14_a_bearer_token_is_redacted_in_every_spelling(spelling):
    with LogCapture() as log:
        for place, (status, headers, body) in echoes(SPELLINGS[spelling](TOKEN)).items():
            echo = response(body, status, headers)
            with StandInService(lambda _, echo=echo: echo) as service:
                client = bl.Client(service.base_url, auth=bl.BearerToken(TOKEN), max_retries=1)
                with pytest.raises(bl.BoardlotError) as caught:
                    quotes(client)
            error = caught.value
            for how, text in (*appearances(error), ("report", crash_report(error))):
                assert not found(TOKEN, spelling, text), (place, how)
            texts = [str(error), *(str(value) for value in vars(error).values())]
            assert any("***" in text for text in texts), place
    assert log.lines and not any(found(TOKEN, spelling, line) for line in log.lines)


@spellings
def test_security_14_a_cassette_has_a_token_in_no_spelling(spelling, tmp_path):
    spelled = SPELLINGS[spelling](TOKEN)
    cases = [*echoes(spelled).values(), (200, {}, b"\xff\xfe" + spelled.encode())]
    for n, (status, headers, body) in enumerate(cases):
        path = tmp_path / f"{n}.jsonl"
        with (
            StandInService(lambda _, s=status, h=headers, b=body: response(b, s, h)) as service,
            bl.Recorder(path) as recorder,
        ):
            auth = bl.BearerToken(TOKEN)
            client = bl.Client(service.base_url, auth=auth, cassette=recorder, max_retries=0)
            with contextlib.suppress(bl.ApiError):
                client.request("GET", LOW, query={"echo": TOKEN}, headers={"X-Echo": TOKEN})
        text = path.read_text("utf-8")
        assert not found(TOKEN, spelling, text), body
        for line in map(json.loads, text.splitlines()):
            sent = line.get("exchange", {}).get("response", {}).get("received", {}).get("body", {})
            if "base64" in sent:
                raw = base64.b64decode(sent["base64"]).decode("latin-1")
                assert not found(TOKEN, spelling, raw)


@spellings
def test_security_14_what_a_login_and_a_refresh_send_is_redacted_in_every_spelling(
    server, spelling
):
    def spell(text):
        sent = [secret for secret in server.secrets if secret and secret in unquote(text)]
        return " ".join(map(SPELLINGS[spelling], sent))

    echo = Fault(echo=True, spell=spell)
    errors = []
    oauth = sign_in(server, DictStore())
    server.expire()
    for name in ("refresh_token", "api"):
        server.faults = {name: echo}
        with pytest.raises(bl.BoardlotError) as caught:
            quotes(client_of(server, oauth))
        errors.append(caught.value)
        server.faults = {"authorization_code": Fault(change={"scope": None})}
        oauth = sign_in(server, DictStore())
    server.faults = {"authorization_code": echo}
    with pytest.raises(bl.BoardlotError) as caught:
        flow = begin(server)
        flow.finish(server.authorize(flow.url))
    errors.append(caught.value)
    secrets = {secret for secret in server.secrets if secret}
    assert len(secrets) > 5
    for error in errors:
        assert "***" in "".join(map(str, vars(error).values()))
        for how, text in (*appearances(error), ("report", crash_report(error))):
            assert not [one for secret in secrets for one in found(secret, spelling, text)], how


def test_security_14_base64_of_a_whole_request_hides_the_secrets_within(server):
    server.faults["api"] = Fault(echo=True, spell=SPELLINGS["Base64"])
    oauth = sign_in(server)
    with pytest.raises(bl.BoardlotError) as caught:
        quotes(client_of(server, oauth))
    (token,) = server.access
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + token.encode()).decode()[4:-4]
        assert encoded not in str(caught.value) + caught.value.body + caught.value.message
    assert "***" in caught.value.message


@pytest.mark.parametrize("unit", ["x", "%25", "%2525", "&amp;", "aaaa"])
def test_security_40_an_error_message_without_end_costs_no_more_than_its_parsing(unit):
    resource = pytest.importorskip("resource")
    token = "a" * 4000 + "b"
    body = json.dumps({"ret_code": 1, "ret_msg": unit * ((24 << 20) // len(unit))}).encode()
    started = time.process_time()
    for _ in range(3):
        json.loads(body)
    parsed = (time.process_time() - started) / 3
    with StandInService(lambda _: response(body, 400)) as service:
        client = bl.Client(service.base_url, auth=bl.BearerToken(token), max_retries=0)
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.process_time()
            with pytest.raises(bl.ApiError) as caught:
                quotes(client)
            spent = time.process_time() - started
    assert len(caught.value.message) <= 2048
    # Both ends of the connection are in this process, which copies the body a few times.
    assert spent < 5 * parsed + 0.5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


@pytest.mark.parametrize("token", ["a", "t0", "secret"])
def test_a_short_token_is_redacted_without_spoiling_the_words_around_it(token):
    message = f"a bat said that Bearer {token} is not a token at all: '{token}'"
    with StandInService(lambda _: response({"ret_code": 1, "ret_msg": message}, 400)) as service:
        client = bl.Client(service.base_url, auth=bl.BearerToken(token))
        with pytest.raises(bl.ApiError) as caught:
            quotes(client)
    assert f"Bearer {token}" not in str(caught.value) and f"'{token}'" not in str(caught.value)
    for word in ("bat", "said", "that", "token", "at"):
        assert word in str(caught.value)


HOSTILE = "no\x1b]0;title\x07\x1b[2J\r\nforged line\x7f\x9b1m\u202egnp.exe\u2028x\u2066"


def assert_harmless(text):
    assert not [c for c in text if c not in "\n" and not c.isprintable()], text


@pytest.mark.parametrize("key", ["ret_msg", "error"])
def test_security_14_a_service_cannot_write_to_the_terminal_by_an_error(key):
    body = {"ret_code": 1, key: HOSTILE, "error_description": HOSTILE}
    with StandInService(lambda _: response(body, 400)) as service:
        client = bl.Client(service.base_url, max_retries=0)
        with pytest.raises(bl.ApiError) as caught:
            quotes(client)
    assert_harmless(str(caught.value))
    assert "\n" not in str(caught.value) and "\\x1b[2J" in str(caught.value)
    # As sent: for programs.
    assert caught.value.message == HOSTILE


def test_security_14_an_authorization_server_cannot_write_to_the_terminal(server):
    oauth = sign_in(server)
    server.expire()
    for fault in (
        Fault(error="server_error", description=HOSTILE),
        Fault(error="invalid_grant", description=HOSTILE),
    ):
        server.faults["refresh_token"] = fault
        with pytest.raises(bl.OAuthError) as caught:
            quotes(client_of(server, oauth))
        for text in (str(caught.value), caught.value.error, caught.value.description):
            assert_harmless(text)
            assert "\n" not in text
        assert "\\x1b[2J" in str(caught.value)
    with StandInService(lambda _: response(HOSTILE.encode(), 200)) as service:
        with pytest.raises(bl.ProtocolError) as caught:
            quotes(bl.Client(service.base_url))
        assert_harmless(str(caught.value))


@pytest.mark.parametrize(
    ("step", "change"),
    [
        ("authorization_code", {"scope": "quote:read \x1b[2J"}),
        ("authorization_code", {"scope": "quote:\u202eread"}),
        ("register", {"client_id": "client\u202e"}),
        ("register", {"client_id": "client\x9b1m"}),
    ],
)
def test_security_14_what_a_login_shows_of_the_service_is_harmless(server, step, change):
    server.faults[step] = Fault(change=change)
    with pytest.raises((bl.ProtocolError, bl.LoginRequired), match="valid") as caught:
        sign_in(server)
    assert_harmless(str(caught.value))
