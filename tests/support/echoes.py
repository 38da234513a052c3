"""Ways in which a broken or hostile service repeats secrets: in every part of a response."""

import gzip
import re
import secrets
from urllib.parse import parse_qsl

SECRET_FIELDS = ("refresh_token", "client_secret", "code", "code_verifier")
# What may be the name of a header: RFC 9110, section 5.6.2.
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


def field_name(told):
    return b"-".join(FIELD_NAME.findall(told))


def repeated(told):
    return (told + b" ") * (BODY_LIMIT // (len(told) + 1) + 2)


GZIP = b"Content-Encoding: gzip"
JSON = b'{"ret_code":1,"ret_msg":"%s","error":"%s","error_description":"%s"}'

# Each makes the bytes of a response from what it is to repeat.
ECHOES = {
    "status line": lambda told: response(b"500 " + told),
    "status line of a success": lambda told: response(b"200 " + told),
    "no status": lambda told: b"HTTP/1.1 " + told + b"\r\n\r\n",
    "no HTTP": lambda told: told + b"\r\n\r\n",
    "header": lambda told: response(headers=[b"X-Echo: " + told]),
    "name of a header": lambda told: response(headers=[field_name(told) + b": 1"]),
    "header without a colon": lambda told: response(headers=[told]),
    "invalid name of a header": lambda told: response(headers=[b"x (" + told + b"): 1"]),
    "length": lambda told: response(headers=[b"Content-Length: " + told]),
    "transfer coding": lambda told: response(headers=[b"Transfer-Encoding: " + told]),
    "content coding": lambda told: response(headers=[b"Content-Encoding: " + told], body=told),
    "content type": lambda told: response(headers=[b"Content-Type: " + told], body=told),
    "redirect": lambda told: response(b"302 Found", [b"Location: https://x.example/?" + told]),
    "challenge": lambda told: response(b"401 No", [b'WWW-Authenticate: Bearer x="' + told + b'"']),
    "wait": lambda told: response(b"429 Slow down", [b"Retry-After: " + told]),
    "message": lambda told: response(body=JSON % (told, told, told)),
    "rejected token": lambda told: response(b"401 No", body=JSON % (told, b"invalid_token", told)),
    "page": lambda told: response(b"502 Bad Gateway", body=b"<html>" + told),
    "no JSON": lambda told: response(b"200 OK", body=told),
    "no UTF-8": lambda told: response(b"200 OK", body=b"\xff" + told),
    "no success mark": lambda told: response(b"200 OK", body=b'{"x":"%s"}' % told),
    "name of a member": lambda told: response(b"200 OK", body=b'{"%s":{}}' % told),
    "lone surrogate": lambda told: response(
        b"200 OK", body=b'{"ret_code":0,"data":[{"%s":"\\ud800"}]}' % told
    ),
    "announced too large": lambda told: response(b"200 OK", body=told, length=1 << 40),
    "too large": lambda told: chunked(*[repeated(told)[:1000]] * 6),
    "too large at once": lambda told: chunked(repeated(told)),
    "too large when decompressed": lambda told: response(
        b"200 OK", [GZIP], gzip.compress(repeated(told))
    ),
    "broken compression": lambda told: response(b"200 OK", [GZIP], told),
    "compression that breaks off": lambda told: response(
        b"200 OK", [GZIP], gzip.compress(secrets.token_bytes(600) + told)[:-4]
    ),
    "size of a chunk": lambda told: chunked(told, end=told + b"\r\n"),
    "extension of a chunk": lambda told: chunked(told, end=b"5;" + told + b"\r\n"),
    "trailer": lambda told: chunked(b"{", end=b"0\r\nX-Echo: " + told + b"\r\n\r\n"),
    "invalid trailer": lambda told: chunked(b"{", end=b"0\r\n" + told + b"\r\n\r\n"),
    "breaks off": lambda told: response(b"200 OK", body=told, length=3000),
    "two responses": lambda told: response(b"200 OK", body=told) * 2,
    "interim response": lambda told: b"HTTP/1.1 103 " + told + b"\r\nX: " + told + b"\r\n\r\n",
    "upgrade": lambda told: b"HTTP/1.1 101 " + told + b"\r\nUpgrade: " + told + b"\r\n\r\n",
}
