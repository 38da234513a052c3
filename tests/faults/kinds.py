"""The kinds of fault, each an object: what it does to an exchange, and what may come of it."""

import asyncio
import functools
import json
from dataclasses import dataclass
from urllib.parse import parse_qsl

import boardlot as bl

from ..support.bombs import bomb
from ..support.certificates import bad_contexts
from ..support.service import wire
from .exchanges import Response, json_response

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

    async def apply(self, exchange):
        """Responds, wrongly; false if the connection is not to be used again."""
        return await self.fail(exchange)

    @property
    def delays(self):
        """True if a time-out may come of it."""
        return bl.RequestTimeout in self.errors

    @property
    def context(self):
        return contexts()[self.certificate]


contexts = functools.cache(bad_contexts)


async def refused(exchange):
    exchange.proxy.go_away(0.1, silent=False)
    return exchange.reset()


async def lost_packets(exchange):
    exchange.proxy.go_away(0.4, silent=True)
    return exchange.reset()


async def bad_certificate(exchange):
    exchange.proxy.bad_handshakes = exchange.dice.randint(1, 3)
    exchange.writer.transport.abort()
    return False


async def reset_before(exchange):
    if exchange.dice.random() < 0.5:
        await exchange.real()  # The work was done; only its response is lost.
    return exchange.reset()


async def reset_within(exchange):
    response = await exchange.real()
    await exchange.write(response.encode() + response.body[: cut(exchange, response)])
    return exchange.reset()


async def stall(exchange):
    response = await exchange.real()
    await exchange.write((response.encode() + response.body)[: -1 - cut(exchange, response)])
    await asyncio.sleep(600)  # time: a service that is silent, to the end of its connection
    return False


async def drip(exchange):
    response = await exchange.real()
    for byte in response.encode() + response.body:
        await exchange.write(bytes([byte]))
        await asyncio.sleep(0.1)  # time: a service that is slow
    return False


async def short_length(exchange):
    """Announces fewer bytes than it sends, or more: the rest is not a response."""
    response = await exchange.real()
    length = cut(exchange, response)
    if exchange.dice.random() < 0.5:
        exchange.proxy.mutated.append((response.status, response.body[:length]))
        await exchange.write(response.encode(length) + response.body)
        return True
    await exchange.write(response.encode(len(response.body) + 1 + length) + response.body)
    return False


async def bad_chunk(exchange):
    response = await exchange.real()
    head = response.encode().replace(b"Content-Length", b"Transfer-Encoding: chunked\r\nX-Length")
    size = exchange.dice.choice([b"zz", b"-1", b"fffffffffffffffff", b"", b"5;\x00"])
    half = cut(exchange, response)
    first = b"%x\r\n%s\r\n" % (half, response.body[:half]) if half else b""
    await exchange.write(head + first + size + b"\r\n" + response.body[half:] + b"\r\n0\r\n\r\n")
    return False


async def bad_json(exchange):
    response = await exchange.real()
    place = cut(exchange, response)
    broken = exchange.dice.choice(
        [response.body[:place], response.body + b"}", b"", response.body[:-1] + b',"a":NaN}']
    )
    return await exchange.send_mutated(Response(response.status, response.headers, broken))


async def html(exchange):
    response = Response(200, [("Content-Type", "text/html")], HTML)
    return await exchange.send_mutated(response)


async def no_mark(exchange):
    """Looks like the end of every list, but nothing says that it is a success."""
    response = await exchange.real()
    envelope = json.loads(response.body)
    for mark in ("code", "ret_code", "s", "server_time_ms"):
        envelope.pop(mark, None)
    inner = envelope.get("data") or envelope.get("d") or {}
    for name in ROWS:
        if name in inner:
            inner[name] = []
    inner["completed"] = True
    envelope["pagination"] = {"has_more": False, "next_key": "-1"}
    return await exchange.send_mutated(json_response(200, json.dumps(envelope).encode()))


async def too_many(exchange):
    after = [("Retry-After", "0")] if exchange.dice.random() < 0.3 else []
    forms = [
        json_response(429, refusal(exchange, -11), *after),
        json_response(200, b'{"ret_code":-11,"error":{"code":"rate_limited"}}', *after),
        json_response(403, refusal(exchange, -12006, "request frequency is too high"), *after),
    ]
    first = exchange.request.path.startswith(("/api/v1/crypto", "/api/v1.0/accounts"))
    return await exchange.send_mutated(forms[0] if first else exchange.dice.choice(forms))


async def server_error(exchange):
    status = exchange.dice.choice([500, 502, 503, 504])
    return await exchange.send_mutated(
        Response(status, [], exchange.dice.choice([HTML, b"", b"{}"]))
    )


async def unauthorized(exchange):
    return await exchange.send_mutated(json_response(401, refusal(exchange, -1)))


async def skewed(exchange):
    status = exchange.dice.choice([200, 401, 403])
    if exchange.request.path.endswith("/server-time"):
        return await exchange.send(await exchange.real())
    return await exchange.send_mutated(json_response(status, refusal(exchange, -12006)))


async def repeated_cursor(exchange):
    """The cursor for the next page is one that was already used."""
    response = await exchange.real()
    envelope = json.loads(response.body)
    seen = exchange.proxy.cursors.setdefault(exchange.request.path, [])
    cursor = cursor_of(exchange.request)
    if cursor not in seen:
        seen.append(cursor)
    if not has_more(envelope):
        return await exchange.send(response)
    # One of before: a page that was only prefetched would be a jump that nobody can see.
    set_cursor(envelope, exchange.dice.choice(seen[: seen.index(cursor) + 1]))
    return await exchange.send(json_response(response.status, json.dumps(envelope).encode()))


async def empty_page(exchange):
    """No rows, more to come: the page itself comes with the next cursor."""
    response = await exchange.real()
    envelope = json.loads(response.body)
    if not has_more(envelope) or "extra" in envelope:
        return await exchange.send(response)
    cursor = f"held-{len(exchange.proxy.held)}-{exchange.dice.getrandbits(32)}"
    exchange.proxy.held[cursor] = response
    set_cursor(envelope, cursor)
    inner = envelope.get("data") or envelope.get("d")
    for name in ROWS:
        if name in inner:
            inner[name] = []
    return await exchange.send(json_response(response.status, json.dumps(envelope).encode()))


async def large_body(exchange):
    for piece in wire(bomb(4 << 20, exchange.dice.choice(["gzip", "plain"]))):
        await exchange.write(piece)
    return False


async def huge_headers(exchange):
    response = await exchange.real()
    size = 1 << 20
    many = [(f"X-{n}", "y" * 100) for n in range(size // 100)]
    response.headers = response.headers + exchange.dice.choice([many, [("X-Long", "y" * size)]])
    await exchange.send(response)
    return False


async def redirect(exchange):
    status = exchange.dice.choice([301, 302, 303, 307, 308])
    place = exchange.dice.choice([exchange.proxy.base_url, ""]) + "/followed"
    return await exchange.send(Response(status, [("Location", place)], b""))


async def invalid_grant(exchange):
    exchange.proxy.refuses_grants = True
    return await exchange.send_mutated(json_response(401, refusal(exchange, -1)))


async def store_unwritable(exchange):
    exchange.proxy.store.unwritable = True
    return await exchange.send_mutated(json_response(401, refusal(exchange, -1)))


def cut(exchange, response):
    """Some place within a body."""
    return exchange.dice.randrange(max(1, len(response.body) - 1))


def refusal(exchange, code, words="refused"):
    """A refusal in the form of the path that it is for."""
    path = exchange.request.path
    if "/fills_history" in path:
        return json.dumps({"s": "error", "errcode": code, "errmsg": words}).encode()
    if "/crypto/" in path or "/plate/" in path:
        return json.dumps({"code": code, "msg": words}).encode()
    return json.dumps({"ret_code": code, "ret_msg": words}).encode()


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


async def unreachable(_):
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
