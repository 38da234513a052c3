"""The kinds of fault, each an object: what it does to an exchange, and what may come of it."""

import functools
import json
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

import boardlot as bl

from ..support.bombs import bomb
from ..support.certificates import bad_contexts
from ..support.service import Response, head, response, wire

ROWS = ("orders", "order_fills", "stock_list", "kline_list")
HTML = b"<!doctype html><html><body>Sign in to the Wi-Fi</body></html>"
BROKEN = (bl.TransportError, bl.ProtocolError)
# A name server may be silent, and so may an address whose packets get lost.
NOBODY = (bl.TransportError, bl.RequestTimeout)


@dataclass(frozen=True)
class Kind:
    """One kind of fault; `fail` is its work, `errors` the very classes that may come of it."""

    name: str
    fail: object
    errors: tuple
    auth: str = "Ed25519"
    certificate: str | None = None
    unresolved: bool = False

    def __str__(self):
        return self.name

    @property
    def delays(self):
        """True if a time-out may come of it."""
        return bl.RequestTimeout in self.errors

    @property
    def context(self):
        return contexts()[self.certificate]


contexts = functools.cache(bad_contexts)


def refused(exchange):
    return exchange.service.go_away(0.1, silent=False)


def lost_packets(exchange):
    return exchange.service.go_away(0.4, silent=True)


def bad_certificate(exchange):
    exchange.service.bad_handshakes = exchange.dice.randint(1, 3)
    return Response(drop=True)


def reset_before(exchange):
    if exchange.dice.random() < 0.5:
        exchange.real()  # The work was done; only its response is lost.
    return Response(drop=True)


def reset_within(exchange):
    right = exchange.real()
    return replace(right, truncate=cut(exchange, right), drop=True)


def stall(exchange):
    right = exchange.real()
    return replace(right, stall=cut(exchange, right), delay=600.0)


def drip(exchange):
    whole = b"".join(wire(exchange.real()))
    return Response(raw=[bytes([byte]) for byte in whole], pause=0.1)


def short_length(exchange):
    """Announces fewer bytes than it sends, or more: the rest is not a response."""
    right = exchange.real()
    length, whole = cut(exchange, right), len(right.body)
    if exchange.dice.random() < 0.5:
        exchange.mutated(replace(right, body=right.body[:length]))
        return announced(right, length)
    return replace(announced(right, whole + 1 + length), truncate=whole)


def announced(right, length):
    return replace(right, headers={**right.headers, "Content-Length": str(length)})


def bad_chunk(exchange):
    right = exchange.real()
    size = exchange.dice.choice([b"zz", b"-1", b"fffffffffffffffff", b"", b"5;\x00"])
    half = cut(exchange, right)
    first = b"%x\r\n%s\r\n" % (half, right.body[:half]) if half else b""
    rest = size + b"\r\n" + right.body[half:] + b"\r\n0\r\n\r\n"
    return Response(raw=head(replace(right, chunks=[])) + first + rest)


def bad_json(exchange):
    right = exchange.real()
    place = cut(exchange, right)
    broken = exchange.dice.choice(
        [right.body[:place], right.body + b"}", b"", right.body[:-1] + b',"a":NaN}']
    )
    return exchange.mutated(replace(right, body=broken))


def html(exchange):
    return exchange.mutated(response(HTML, headers={"Content-Type": "text/html"}))


def no_mark(exchange):
    """Looks like the end of every list, but nothing says that it is a success."""
    envelope = json.loads(exchange.real().body)
    for mark in ("code", "ret_code", "s", "server_time_ms"):
        envelope.pop(mark, None)
    without_rows(envelope)["completed"] = True
    envelope["pagination"] = {"has_more": False, "next_key": "-1"}
    return exchange.mutated(response(envelope))


def too_many(exchange):
    after = {"Retry-After": "0"} if exchange.dice.random() < 0.3 else {}
    forms = [
        response(refusal(exchange, -11), 429, after),
        response({"ret_code": -11, "error": {"code": "rate_limited"}}, 200, after),
    ]
    first = exchange.request.path.startswith(("/api/v1/crypto", "/api/v1.0/accounts"))
    return exchange.mutated(forms[0] if first else exchange.dice.choice(forms))


def server_error(exchange):
    status = exchange.dice.choice([500, 502, 503, 504])
    return exchange.mutated(response(exchange.dice.choice([HTML, b"", b"{}"]), status))


def unauthorized(exchange):
    return exchange.mutated(response(refusal(exchange, -1), 401))


def skewed(exchange):
    if exchange.request.path.endswith("/server-time"):
        return exchange.real()
    status = exchange.dice.choice([200, 401, 403])
    return exchange.mutated(response(refusal(exchange, -12006), status))


def repeated_cursor(exchange):
    """The cursor for the next page is one that was already used."""
    right = exchange.real()
    envelope = json.loads(right.body)
    seen = exchange.service.cursors.setdefault(exchange.request.path, [])
    cursor = cursor_of(exchange.request)
    if cursor not in seen:
        seen.append(cursor)
    if not has_more(envelope):
        return right
    # One of before: a page that was only prefetched would be a jump that nobody can see.
    set_cursor(envelope, exchange.dice.choice(seen[: seen.index(cursor) + 1]))
    return response(envelope, right.status)


def empty_page(exchange):
    """No rows, more to come: the page itself comes with the next cursor."""
    right = exchange.real()
    envelope = json.loads(right.body)
    if not has_more(envelope) or "extra" in envelope:
        return right
    cursor = f"held-{len(exchange.service.held)}-{exchange.dice.getrandbits(32)}"
    exchange.service.held[cursor] = right
    set_cursor(envelope, cursor)
    without_rows(envelope)
    return response(envelope, right.status)


def large_body(exchange):
    return bomb(4 << 20, exchange.dice.choice(["gzip", "plain"]))


def huge_headers(exchange):
    right, size = exchange.real(), 1 << 20
    many = {f"X-{n}": "y" * 100 for n in range(size // 100)}
    headers = right.headers | exchange.dice.choice([many, {"X-Long": "y" * size}])
    return replace(right, headers=headers)


def redirect(exchange):
    status = exchange.dice.choice([301, 302, 303, 307, 308])
    place = exchange.dice.choice([exchange.service.base_url, ""]) + "/followed"
    return response(b"", status, {"Location": place})


def invalid_grant(exchange):
    exchange.service.refuses_grants = True
    return unauthorized(exchange)


def store_unwritable(exchange):
    exchange.service.store.unwritable = True
    return unauthorized(exchange)


def cut(exchange, right):
    """Some place within a body."""
    return exchange.dice.randrange(max(1, len(right.body) - 1))


def without_rows(envelope):
    """Empties the list of a response; returns the object that has it."""
    inner = envelope.get("data") or envelope.get("d") or {}
    inner |= {name: [] for name in ROWS if name in inner}
    return inner


def refusal(exchange, code, words="refused"):
    """A refusal in the form of the path that it is for."""
    path = exchange.request.path
    if "/fills_history" in path:
        return {"s": "error", "errcode": code, "errmsg": words}
    if "/crypto/" in path or "/plate/" in path:
        return {"code": code, "msg": words}
    return {"ret_code": code, "ret_msg": words}


def has_more(envelope):
    """True if a response is a page with another after it."""
    inner = envelope.get("data") or envelope.get("d") or {}
    pagination = envelope.get("pagination") or {}
    return pagination.get("has_more") is True or (
        isinstance(inner, dict) and inner.get("completed") is False
    )


def cursor_of(request):
    if request.method == "POST":
        return json.loads(request.body).get("next_key", "")
    query = dict(parse_qsl(request.query, keep_blank_values=True))
    return query.get("page_flag", query.get("end", ""))


def set_cursor(envelope, cursor):
    if "extra" in envelope:
        envelope["extra"]["next_time"] = cursor
    elif "pagination" in envelope:
        envelope["pagination"]["next_key"] = cursor
    else:
        (envelope.get("data") or envelope.get("d"))["page_flag"] = cursor


def unreachable(_):
    raise AssertionError("a name that nobody has was found")


THROTTLED = (bl.RateLimited,)
KINDS = [
    Kind("DNS", unreachable, NOBODY, unresolved=True),
    Kind("refused", refused, (bl.TransportError,)),
    Kind("connect timeout", lost_packets, NOBODY),
    *[
        Kind(f"TLS {name}", bad_certificate, (bl.TransportError,), certificate=name)
        for name in ("expired", "self-signed", "wrong host")
    ],
    Kind("reset before a body", reset_before, (bl.TransportError,)),
    Kind("reset within a body", reset_within, (bl.TransportError,)),
    Kind("stall", stall, (bl.RequestTimeout,)),
    Kind("drip", drip, (bl.RequestTimeout,)),
    Kind("short length", short_length, BROKEN),
    Kind("bad chunk", bad_chunk, BROKEN),
    Kind("bad JSON", bad_json, (bl.ProtocolError,)),
    Kind("HTML with 200", html, (bl.ProtocolError,)),
    Kind("no success mark", no_mark, (bl.ProtocolError,)),
    Kind("429", too_many, THROTTLED),
    Kind("5xx", server_error, (bl.ServiceError,)),
    Kind("401", unauthorized, (bl.AuthenticationError,)),
    Kind("-12006", skewed, (bl.ClockSkewError,)),
    Kind("repeated cursor", repeated_cursor, (bl.PaginationError,)),
    # The position of a checkpoint within the page that is empty now.
    Kind("empty page", empty_page, (bl.PaginationError,)),
    Kind("bomb", large_body, (bl.ProtocolError,)),
    Kind("huge headers", huge_headers, BROKEN),
    Kind("redirect", redirect, (bl.ProtocolError,)),
    Kind("invalid_grant", invalid_grant, (bl.LoginRequired,), auth="oauth"),
    Kind(
        "store unwritable", store_unwritable, (bl.StoreError, bl.AuthenticationError), auth="oauth"
    ),
]
