"""The service once more, written from the service document and from nothing else.

Whatever the document leaves open is drawn by a seed: the order of members, white space, escapes,
the spellings of numbers, further members, HTTP statuses and headers, the sizes of pages, cursors,
the forms that are not shown. It knows which rows it has, and notes every request that is not as the
document says.
"""

import base64
import contextlib
import gzip
import hashlib
import json
import math
import random
import re
import socket
import threading
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

import boardlot as bl
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa

# Sections 2.5 to 2.11: the fields of each record with their kinds; a `us-text` has microseconds.
FIELDS = {
    "crypto_orders": """order_id text, version int, symbol_pair pair, side text, order_qty decimal,
        price decimal, order_amount decimal, cum_qty decimal, avg_px decimal, fill_amount decimal,
        ord_type text, time_in_force text, create_time int, update_time int, ord_status text,
        order_show_id text, is_close bool, trigger_price decimal?, trigger_time int0,
        cash_order_qty decimal?""",
    "sim_orders": """order_id text, side int, symbol text, stock_name text, order_type int,
        status int, qty decimal, cum_qty decimal, price decimal, avg_fill_price decimal,
        aux_price decimal-null, create_time us-text, update_time us-text, text text""",
    "sim_positions": """pstn_id text, pstn_type int, market int, symbol text, stock_name text,
        qty decimal, qty_avbl decimal, cost_price decimal, buy_avg_price decimal, cur_price decimal,
        mv decimal, profit decimal, profit_ratio decimal""",
    "fills_history": """trd_side text, deal_id text, order_id text, code text, stock_name text,
        qty decimal, price decimal, create_time us, updated_time us, counter_broker_id int,
        counter_broker_name text, status text""",
    "reference_futures": """code text, stock_name text, sc_name text, tc_name text, stock_type text,
        lot_size int, future_valid bool, future_main_contract bool, future_last_trade_time day?,
        list_time ms0""",
    "dividends": """fiscal_year text, statement text, dividend_per_share number, currency text,
        payout_ratio number, dividend_type text, process text, ex_date slashed, record_date free,
        dividend_payable_date free, pub_date free""",
    "ipo_list hk": """code text, name text, sc_name text, tc_name text, list_time day--,
        list_timestamp ms0, ipo_price_min number, ipo_price_max number, list_price number,
        lot_size int, entrance_price number, apply_start_timestamp ms, apply_end_time day,
        apply_end_timestamp ms, apply_countdown_secs int, is_apply_started bool,
        is_support_apply bool, is_subscribe_status bool, apply_multiple text, lucky_ratio text,
        win_ratio_msg text, lucky_time day, lucky_timestamp ms, margin_fee_ratio number,
        margin_fee_ratio_min number, margin_fee_ratio_max number, margin_lever_ratio number,
        real_margin_lever_ratio number, margin_rate number, dark_trade_date free,
        dark_trade_timestamp ms0, dark_trade_period text, dark_trade_start_timestamp ms0,
        dark_trade_end_timestamp ms0, is_support_dark_trade bool, is_support_intl_placing bool,
        show_intl_placing_info bool, intl_placing_apply_start_timestamp ms0,
        intl_placing_apply_end_timestamp ms0, intl_placing_apply_limit number,
        intl_placing_apply_limit_str text, placing_countdown_secs int, offer_type text,
        security_type text, etf_distributors text, etf_ipo_price_display text, apply_status text,
        placing_apply_status text, etf_apply_status text""",
    "ipo_list us": """code text, name text, sc_name text, tc_name text, list_time day,
        list_timestamp ms0, ipo_price_min number, ipo_price_max number, issue_size int,
        apply_limit number, apply_start_timestamp ms, apply_end_timestamp ms, lucky_timestamp ms,
        stock_status text, is_user_applied bool, offer_type text""",
    "ipo_list cn": """code text, name text, sc_name text, tc_name text, list_time day--,
        list_timestamp ms0, apply_code text, apply_upper_limit int, ipo_price number,
        winning_ratio number, issue_pe_rate number, apply_timestamp ms, winning_time day,
        winning_timestamp ms, is_has_won bool""",
    "ipo_list sg": """code text, name text, sc_name text, tc_name text, list_time day,
        list_timestamp ms0, ipo_price_min number, ipo_price_max number, offer_price_display text,
        issue_size_display text, apply_limit_display text, market_cap_display text,
        fund_amount_display text, industry_display text, managers_display text, apply_limit number,
        ipo_book_link text, security_type text, apply_start_timestamp ms, apply_end_timestamp ms,
        is_subscribe_status bool, is_user_applied bool""",
    "ipo_list my": """code text, name text, sc_name text, tc_name text, list_time day,
        list_timestamp ms0, ipo_price number, issue_size int, fund_amount number, market_cap int,
        currency text, manager text, industry_plate text, business text, ipo_book_link text,
        security_type text, apply_start_timestamp ms, apply_end_timestamp ms, draw_timestamp ms,
        lucky_timestamp ms, apply_limit number, is_subscribe_status bool, is_user_applied bool,
        support_leverage bool""",
}
FIELDS = {
    name: dict(pair.rsplit(" ", 1) for pair in re.split(r",\s*", " ".join(text.split())))
    for name, text in FIELDS.items()
}
# The first field of each kind of row identifies it; those of the others are not shown.
LISTS = {
    "reference_futures": "reference_list",
    "ipo_list": "list",
    "dividends": "dividend_list",
    "crypto_orders": "orders",
    "sim_orders": "orders",
    "sim_positions": "positions",
    "fills_history": "order_fills",
}
# Section 7: the codes of each endpoint.
INVALID, UNKNOWN, INTERNAL = "invalid_parameter", "invalid_symbol", "internal_error"
CODES = {
    "reference_futures": {-3: INVALID, -7: UNKNOWN},
    "ipo_list": {-3: INVALID, -5: INTERNAL},
    "dividends": {-3: INVALID, -7: UNKNOWN, -2: INTERNAL, -4: INTERNAL, -6: INTERNAL},
}
CLASSES = {INVALID: bl.InvalidParameter, UNKNOWN: bl.InvalidSymbol, INTERNAL: bl.ServiceError}
BY_STATUS = {401: bl.AuthenticationError, 403: bl.PermissionDenied, 429: bl.RateLimited}
MARKETS = ("hk", "us", "cn", "sg", "my")
START, END = 1_780_000_000_000_000, 1_787_000_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NONCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


@lru_cache(1)
def rsa_key():
    return rsa.generate_private_key(65537, 2048)


def escaped(char):
    """A character as the units of UTF-16."""
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class Writer:
    """JSON in any notation: white space, escapes and the spellings of numbers are drawn."""

    def __init__(self, dice):
        self.dice = dice
        self.spaces = dice.choice([("",), ("", "", " "), ("", " ", "\n", "\t", "\r\n  ")])
        self.escapes = dice.choice([0.0, 0.1, 0.5])

    def text(self, value):
        """Some texts are escaped wholly, some in one character, most only where they must be."""
        draw = self.dice.random()
        if draw < self.escapes / 8:
            return f'"{"".join(map(escaped, value)).upper().replace("U", "u")}"'
        written = json.dumps(value, ensure_ascii=draw > 0.7)
        if draw < self.escapes and value and value.isalnum():
            at = int(draw * 1e9) % len(value)
            return f'"{value[:at]}{escaped(value[at])}{value[at + 1 :]}"'
        return written.replace("/", "\\/") if draw < self.escapes else written

    def number(self, value):
        """The same number in another spelling, if it is a small whole one."""
        draw = self.dice.random()
        if isinstance(value, int) and abs(value) < 1 << 50 and draw < 0.15:
            spellings = [f"{value}.0", f"{value}e0", f"{value}.00E+0"]
            if value == 0:
                spellings += ["-0", "0e7"]
            return spellings[int(draw * 1e9) % len(spellings)]
        return repr(value)

    def space(self):
        return self.spaces[int(self.dice.random() * len(self.spaces))]

    def value(self, value, shuffled=True):
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, (int, float)):
            return self.number(value)
        if isinstance(value, Literal):
            return value.json
        space = self.space
        if isinstance(value, list):
            items = [f"{space()}{self.value(item, shuffled)}{space()}" for item in value]
            return f"[{','.join(items)}]"
        members = list(value.items())
        if shuffled:
            self.dice.shuffle(members)
        pairs = [
            f"{space()}{self.text(name)}{space()}:{space()}{self.value(item, shuffled)}"
            for name, item in members
        ]
        return f"{{{','.join(pairs)}{space()}}}"


class Literal:
    """A part of a response that is JSON already, such as a row, and what Python reads of it."""

    def __init__(self, text):
        self.json, self.value = text, json.loads(text)


class Data:
    """The rows of one service, by the name of the endpoint and the key that is asked for."""

    def __init__(self, seed):
        self.dice = random.Random(f"rows {seed}")
        self.rows = {}

    def of(self, kind, key):
        if (kind, key) not in self.rows:
            self.rows[kind, key] = self._made(kind, random.Random(f"{self.dice.random()}"))
        return self.rows[kind, key]

    def _made(self, kind, dice):
        writer = Writer(dice)
        fields = FIELDS.get(kind)
        # Pages have 10 rows at least, so fills need more for several pages.
        count = dice.choice([0, 9, 25, 41] if kind == "fills_history" else [0, 1, 2, 5, 12])
        if fields is None:
            return self._unknown(kind, dice, writer, count)
        fields = dict(fields)
        first = next(iter(fields))
        names = [name for name in fields if name == first or dice.random() < 0.95]
        if kind == "fills_history":
            first = "deal_id"
            names = list(fields)
        dice.shuffle(names)
        # Nothing is known of them, so a stream of pages takes their kinds from the first page.
        others = {
            f"x_{dice.randrange(99)}": dice.choice(OTHERS) for _ in range(dice.choice([0, 1, 3]))
        }
        time, rows = END - 1_000_000, []
        for number in range(count):
            row = {name: value(dice, fields[name]) for name in names}
            row[first] = f"{kind[:2]}.{number}-{dice.randrange(10**6)}"
            if kind == "fills_history":
                # Latest first; several of one time.
                time -= dice.choice([0, 1, 10**6, 10**10])
                row["create_time"] = row["updated_time"] = time
            row.update((name, dice.choice(values)) for name, values in others.items())
            rows.append(Literal(writer.value(row, shuffled=dice.random() < 0.1)))
        return rows

    @staticmethod
    def _unknown(kind, dice, writer, count):
        """The fields of trading days and of a plate's constituents are not shown."""
        form = dice.choice(["objects", "texts"])
        rows = []
        for number in range(count):
            text = f"2026-01-{number + 1:02}" if kind == "trading_days" else f"HK.{number:05}"
            row = {
                "time": text,
                "n": Literal(str(number)),
                "type": dice.choice(["WHOLE", "", None]),
            }
            rows.append(Literal(writer.value(text if form == "texts" else row)))
        return rows


OTHERS = (
    [True, False, None],
    # In one spelling: another would be a number of another kind, of which nothing is known.
    [Literal("0"), Literal("1099511627776"), Literal("-7")],
    [Literal("1180591620717411303424")],
    [-1.5, 1e300, 0.1],
    ["x", "", "é😀"],
    [[1, {"a": None}], []],
    [{"b": [2]}, {"b": [], "c": "x"}],
)
WORDS = ("HK.00700", "", "腾讯控股", 'a"b\\c', "😀 é\n", "x" * 70, "</script>", "null", "0")


def value(dice, kind):
    """A value of a field of this kind."""
    quantity = dice.choice(["0", "1", "100.50", "-3.25", "12345678901234.123456", "0.00000001"])
    made = {
        "text": lambda: dice.choice(WORDS),
        "int": lambda: dice.choice([0, 1, 2, -5, 10**12, 2**63 - 1]),
        "int0": lambda: dice.choice([0, 1787000000]),
        "number": lambda: dice.choice([0, 1, 1.23, -0.5, 1e-7, 123456789.125]),
        "bool": lambda: dice.random() < 0.5,
        "decimal": lambda: quantity,
        "decimal?": lambda: dice.choice(["", quantity]),
        "decimal-null": lambda: dice.choice([None, quantity]),
        "us": lambda: dice.randrange(START, END),
        "us-text": lambda: str(dice.randrange(START, END)),
        "ms": lambda: dice.randrange(START, END) // 1000,
        "ms0": lambda: dice.choice([0, dice.randrange(START, END) // 1000]),
        "day": lambda: str(date(2026, 1, 1) + timedelta(dice.randrange(900))),
        "slashed": lambda: str(date(2026, 1, 1) + timedelta(dice.randrange(900))).replace("-", "/"),
        "free": lambda: dice.choice(["待定", "20260507", "", "2026/05/07", "07 May 2026", "--"]),
        "pair": lambda: {"symbol": "BTC/USD", "base": "BTC", "quote": dice.choice(WORDS)},
    }
    made["day?"] = lambda: dice.choice(["", made["day"]()])
    made["day--"] = lambda: dice.choice(["--", made["day"]()])
    return made[kind]()


def typed(kind, sent):
    """The meaning of a value, as sections 2.5 to 2.11 say it."""
    if sent is None:
        return None
    kind = kind.rstrip("?-0").removesuffix("-null")
    if kind == "decimal":
        return Decimal(sent) if sent else None
    if kind in ("us", "us-text", "ms"):
        micros = int(sent) * (1000 if kind == "ms" else 1)
        return EPOCH + timedelta(microseconds=micros) if micros else None
    if kind in ("day", "slashed"):
        return date.fromisoformat(sent.replace("/", "-")) if sent not in ("", "--") else None
    return sent


class Service:
    """A service of one seed: its rows, its forms, and what was wrong with requests."""

    def __init__(self, seed, *, signed=None):
        self.seed, self.dice = seed, random.Random(f"service {seed}")
        self.data = Data(seed)
        self.problems, self.nonces, self.cursors, self.sent = [], set(), {}, {}
        self.requests = 0
        # What is planted: a change of the rows that are sent, of the bytes that arrive, a failure.
        self.change_rows = self.change_request = None
        self.failure = None
        self.lock = threading.RLock()
        self.key = None
        is_signed = self.dice.random() < 0.7 if signed is None else signed
        if is_signed:
            self.key = self._key()
            self.key_id = f"app-{self.dice.randrange(10**9)}"
        self.token = base64.urlsafe_b64encode(self.dice.randbytes(24)).decode()
        self.account = str(self.dice.randrange(1, 2**40))
        self.limit = self.dice.choice([None, 1, 5, 50])
        self.page_size = self.dice.choice([None, 10, 13, 50])
        self.markets = self.dice.sample(MARKETS, 2)
        self.request_type = self.dice.choice([None, "default"])
        self.bare = self.dice.choice(["bare", "ret_code", "code", "s", "beside"])
        self.plate = self.dice.choice(["list", "member", "deep"])
        self.last = {
            "next_key": self.dice.choice(["-1", ""]),
            "page_flag": self.dice.choice(["", "end"]),
        }

    def _key(self):
        if self.dice.random() < 0.2:
            return rsa_key()
        return ed25519.Ed25519PrivateKey.from_private_bytes(self.dice.randbytes(32))

    def credential(self):
        if self.key is None:
            return bl.BearerToken(self.token)
        form = serialization.PrivateFormat.PKCS8
        unencrypted = serialization.NoEncryption()
        pem = self.key.private_bytes(serialization.Encoding.PEM, form, unencrypted)
        return bl.ApiKey(self.key_id, pem)

    # Requests.

    def respond(self, method, target, headers, body):
        """The status, headers and bytes of the response to a request."""
        with self.lock:
            self.requests += 1
            if self.change_request is not None:
                method, target, headers, body = self.change_request(method, target, headers, body)
            try:
                return self._response(method, target, headers, body)
            except Exception as error:
                self.problems.append(f"{method} {target}: {type(error).__name__} {error}")
                return 599, {}, b"the request is not as the document says"

    def _response(self, method, target, headers, body):
        path, _, query = target.partition("?")
        assert not urlsplit(target).fragment and "//" not in path, target
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        parameters = dict(pairs)
        assert len(parameters) == len(pairs), "a parameter came twice"
        if path == "/api/v1.0/server-time":
            assert (method, query, body) == ("GET", "", b"")
            now = str(int(datetime.now(timezone.utc).timestamp() * 1000))
            return 200, {}, json.dumps({"server_time_ms": now}).encode()
        self._check_credential(method, path, query, headers, body)
        kind, key, dice = self._route(method, path, parameters, headers, body)
        if self.failure is not None:
            return self.failure
        rows = self.data.of(kind, key)
        asked = (target, body) if self.change_rows is None else None
        if asked in self.sent:
            return self.sent[asked]
        if self.change_rows is not None:
            rows = self.change_rows(list(rows))
        document = self._document(kind.split(" ")[0], rows, parameters, body, dice)
        text = Writer(dice).value(document)
        space = dice.choice(["", "\n", " \r\n"])
        response = self._written((space + text + space).encode(), headers, dice)
        if asked is not None:
            self.sent[asked] = response
        return response

    def _check_credential(self, method, path, query, headers, body):
        """Section 5."""
        authorization = headers["authorization"]
        if self.key is None:
            assert authorization == f"Bearer {self.token}", "another token"
            assert not {"x-api-key", "x-timestamp", "x-nonce"} & set(headers)
            return
        assert headers["x-api-key"] == self.key_id
        stamp, nonce = headers["x-timestamp"], headers["x-nonce"]
        assert stamp.isdecimal() and NONCE.fullmatch(nonce) and nonce not in self.nonces
        self.nonces.add(nonce)
        digest = hashlib.sha256(body).hexdigest() if body else ""
        payload = "\n".join([stamp, method, path, query, digest]).encode()
        signature = base64.b64decode(authorization, validate=True)
        public = self.key.public_key()
        if isinstance(public, ed25519.Ed25519PublicKey):
            public.verify(signature, payload)
        else:
            public.verify(signature, payload, padding.PKCS1v15(), hashes.SHA256())

    def _route(self, method, path, parameters, headers, body):
        """Section 4: the kind of rows, their key, and the dice for everything else."""
        names = set(parameters)
        dice = random.Random(f"{self.seed} {path} {sorted(parameters.items())} {body}")
        if path == "/api/v1.0/quote/trading-days":
            assert method == "GET" and not body and names == {"market", "start", "end"}
            for name in ("start", "end"):
                date.fromisoformat(parameters[name])
            return "trading_days", tuple(parameters.values()), dice
        routes = [
            (r"/api/v1\.0/quote/([^/]{1,32})/reference-future", "reference_futures", set()),
            (r"/api/v1\.0/quote/ipo-list/(hk|us|cn|sg|my)", "ipo_list", {"request_type"}),
            (r"/api/v1\.0/quote/([^/]+)/corporate-actions/dividends", "dividends", set()),
            (r"/api/v1\.0/quote/plate/([A-Z]+\.BK\d+)/stock", "plate_stocks", set()),
            (r"/api/v1/crypto/accounts/(\d+)/orders", "crypto_orders", {"page_size", "page_flag"}),
            (r"/api/v1\.0/sim-trade/([^/]+)/orders", "sim_orders", set()),
            (r"/api/v1\.0/sim-trade/([^/]+)/positions", "sim_positions", {"market"}),
            (
                r"/api/v1\.0/accounts/([^/]+)/fills_history",
                "fills_history",
                {"trd_market", "code", "start", "end", "page_flag", "page_size"},
            ),
        ]
        found = ((re.fullmatch(pattern, path), kind, known) for pattern, kind, known in routes)
        key, kind, known = next((m[1], kind, known) for m, kind, known in found if m)
        assert names <= known, names - known
        if kind == "plate_stocks":
            sent = json.loads(body)
            assert method == "POST" and headers["content-type"] == "application/json"
            wanted = {"next_key"} | ({"limit"} if self.limit is not None else set())
            assert set(sent) == wanted and isinstance(sent["next_key"], str)
            assert sent.get("limit") == self.limit
        else:
            assert method == "GET" and not body
        if kind in ("crypto_orders", "fills_history"):
            assert parameters.get("page_size") == (self.page_size and str(self.page_size))
        if kind == "fills_history":
            assert {"trd_market", "page_flag", "start", "end"} <= names
            assert parameters["trd_market"] == "HK" and "code" not in names
            assert START <= int(parameters["start"]) <= int(parameters["end"]) <= END
        if kind == "ipo_list":
            kind = f"ipo_list {key}"
        return kind, key, dice

    # Responses.

    def _document(self, kind, rows, parameters, body, dice):
        extra = {}
        for _ in range(dice.choice([0, 0, 1, 2])):
            extra[f"z_{dice.randrange(99)}"] = dice.choice([None, 1, "x", {"a": True}])
        if kind == "trading_days":
            return self._days(rows, extra)
        if kind == "plate_stocks":
            cursor = json.loads(body)["next_key"]
            page, more, following = self._page(kind, rows, cursor, self.limit or 20, dice, body)
            pagination = {
                "has_more": more,
                "next_key": following if more else self.last["next_key"],
            }
            if dice.random() < 0.7:
                pagination["total"] = len(rows)
            data = {"list": page, "member": {"stock_list": page}, "deep": {"page": {"codes": page}}}
            return {"code": 0, "data": data[self.plate], "pagination": pagination, **extra}
        inner = {LISTS[kind]: rows, **extra}
        if kind in ("crypto_orders", "fills_history"):
            if kind == "fills_history":
                bounds = (int(parameters["start"]), int(parameters["end"]))
                rows = [row for row in rows if bounds[0] <= row.value["updated_time"] <= bounds[1]]
            cursor, size = parameters.get("page_flag", ""), self.page_size or 50
            asked = sorted((name, item) for name, item in parameters.items() if name != "page_flag")
            page, more, following = self._page(kind, rows, cursor, size, dice, asked)
            flag = following if more else self.last["page_flag"]
            inner.update({LISTS[kind]: page, "page_flag": flag, "completed": not more})
        if kind == "dividends":
            inner.update(total_dividend_count=len(rows), total_dividend_money=12.5)
        if kind == "fills_history":
            return {"s": "ok", "d": inner, **extra}
        if kind == "crypto_orders":
            return {"code": 0, "msg": dice.choice(["success", "", "ok"]), "data": inner, **extra}
        message = {} if kind.startswith("sim") else {"ret_msg": "success"}
        return {"ret_code": 0, **message, "data": inner, **extra}

    def _days(self, rows, extra):
        """Its response is not shown: a list, or one of the four envelopes."""
        forms = {
            "bare": rows,
            "ret_code": {"ret_code": 0, "ret_msg": "success", "data": {"days": rows, "n": 1}},
            "code": {"code": 0, "msg": "success", "data": rows},
            "s": {"s": "ok", "d": {"days": rows}},
            "beside": {"ret_code": 0, "days": rows},
        }
        form = forms[self.bare]
        return form if isinstance(form, list) else {**form, **extra}

    def _page(self, kind, rows, cursor, most, dice, asked):
        """The rows after a cursor, if there are more, and the next cursor. Pages may be empty."""
        at = 0
        if cursor:
            at, known = self.cursors[cursor]
            assert kind == "plate_stocks" or known == asked, "a cursor of another list"
        size = dice.choice([0, 1, most // 2, most, most, most])
        page = rows[at : at + max(min(size, most), 0)]
        after = at + len(page)
        more = after < len(rows) or dice.random() < 0.2
        # Opaque: of any characters, and never the same again.
        odd = dice.choice(["", "=", "&a=b", "+/", " ", "é", "%41", '"\\'])
        following = f"c{len(self.cursors)}{odd}{dice.randrange(10**9)}"
        self.cursors[following] = (after, asked)
        return page, more, following

    @staticmethod
    def _written(body, headers, dice):
        status = dice.choice([200, 200, 201, 202])
        sent = {"X-Odd": "é".encode().decode("latin-1")} if dice.random() < 0.2 else {}
        kind = dice.choice(
            ["application/json", "text/plain; charset=utf-8", "Application/JSON;x=1", None]
        )
        if kind:
            sent["Content-Type"] = kind
        if "gzip" in headers.get("accept-encoding", "") and dice.random() < 0.3:
            sent["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 1)
        return status, sent, body

    # Failures.

    def written(self, body):
        """The bytes of a failure: JSON in any notation, or a text as it is."""
        return (body if isinstance(body, str) else Writer(self.dice).value(body)).encode()

    def failures(self):
        """Ways in which each endpoint fails, each with the class of the error and what it has."""
        dice = self.dice
        for kind in ("trading_days", "plate_stocks", *LISTS):
            for code, name in CODES.get(kind, {}).items():
                body = {"ret_code": code, "ret_msg": "no", "error": {"code": name}}
                status = dice.choice([200, 400, 404, 422, 500])
                yield kind, status, body, CLASSES[name], code
            status = dice.choice([200, 400, 404, 401, 403, 503])
            by_status = BY_STATUS.get(status, bl.ServiceError if status == 503 else bl.ApiError)
            if kind == "fills_history":
                words = {"s": "error", "errcode": -1200, "errmsg": "invalid token BTCX"}
                yield kind, status, words, by_status, -1200
            elif kind == "crypto_orders":
                yield kind, status, {"code": 1, "msg": "invalid token BTCX"}, by_status, 1
            elif kind == "plate_stocks":
                yield kind, status, {"code": dice.randrange(2, 99)}, by_status, None
            else:
                yield kind, status, {"ret_code": -11, "ret_msg": "frozen"}, by_status, -11
            status = dice.choice([400, 401, 403, 404, 405, 409, 410, 422, 429, 500, 502, 503])
            forms = [{"message": "no"}, {"title": "no"}, "<html>no</html>", "no", "", {"data": []}]
            default = bl.ServiceError if status >= 500 else bl.ApiError
            yield kind, status, dice.choice(forms), BY_STATUS.get(status, default), None
            wrong = [
                {},
                {"message": "no"},
                {"data": {"list": []}},
                {"errors": ["x"]},
                "",
                "no",
                "<p>",
            ]
            yield kind, 200, dice.choice(wrong), bl.ProtocolError, None


class Server:
    """Serves one service at a time over loopback, with connections that stay open."""

    def __init__(self):
        self.service = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections, self.threads = [], []

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        for open_socket in (self.listener, *self.connections):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            open_socket.close()
        for thread in self.threads:
            thread.join(timeout=60)

    def _start(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                self._start(self._serve, connection)

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                method, target, _ = line.decode("latin-1").split(" ")
                headers = {}
                while (header := stream.readline().decode("latin-1").strip()) != "":
                    name, _, text = header.partition(":")
                    headers[name.lower()] = text.strip()
                body = stream.read(int(headers.get("content-length", 0)))
                status, sent, body = self.service.respond(method, target, headers, body)
                sent = {**sent, "Content-Length": str(len(body))}
                head = "".join(f"{name}: {text}\r\n" for name, text in sent.items())
                connection.sendall(f"HTTP/1.1 {status} x\r\n{head}\r\n".encode("latin-1") + body)


# Comparing what a client returns with the rows.


def same(ours, theirs):
    """Equal, and of the same types down to the last value."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, dict):
        return list(ours) == list(theirs) and all(same(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float):
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    return ours == theirs


class Truth:
    """The rows that a call should return."""

    def __init__(self, kind, rows):
        name = "date" if kind == "trading_days" else "value"
        values = (row.value for row in rows)
        self.rows = [row if isinstance(row, dict) else {name: row} for row in values]
        self.fields = FIELDS.get(kind, {})

    def check(self, rows):
        rows = [dict(row) for row in rows]
        assert len(rows) == len(self.rows), f"{len(rows)} rows; expected {len(self.rows)}"
        for number, (ours, theirs) in enumerate(zip(rows, self.rows, strict=True)):
            assert same(ours, theirs), f"row {number} is {ours}; expected {theirs}"

    def check_typed(self, rows):
        assert len(rows) == len(self.rows)
        for ours, theirs in zip(rows, self.rows, strict=True):
            for name, kind in self.fields.items():
                if name in theirs:
                    self._check_value(name, ours[name], typed(kind, theirs[name]), kind)

    @staticmethod
    def _check_value(name, ours, theirs, kind):
        if kind == "int0" and theirs == 0:
            theirs = None
        if theirs is None:
            assert ours is None, (name, ours)
        elif kind == "pair":
            assert dict(ours) == theirs
        elif isinstance(theirs, float) or kind == "number":
            assert float(ours) == float(theirs), (name, ours, theirs)
        else:
            assert ours == theirs, (name, ours, theirs)
            assert isinstance(ours, type(theirs)), (name, ours, theirs)

    def check_columns(self, table):
        """An Arrow table with every declared column, and typed values in it."""
        assert table.num_rows == len(self.rows)
        for name, kind in self.fields.items():
            for ours, row in zip(table[name].to_pylist(), self.rows, strict=True):
                theirs = typed(kind, row.get(name))
                if isinstance(theirs, Decimal):
                    theirs = float(theirs)
                self._check_value(
                    name, ours, theirs, "number" if kind == "decimal" and ours else kind
                )
