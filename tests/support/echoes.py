"""Ways in which a broken or hostile service repeats secrets: in every part of a response."""

import gzip
import re
import secrets
from urllib.parse import parse_qsl

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
