"""Responses as `json.loads` reads them: random ones, and such with a few bytes changed."""

import json
import random

import boardlot as bl
import pytest

from ..records.parsed import parser

NAMES = ["code", "stock_name", "lot_size", "x", "x", "é", "a b", ""]
TEXTS = ["", "a", "é", "\u2028", "\x7f", "𝄞", "\\", '"', "/", "null", "</script>", "\n\t\b\0", "中"]
NUMBERS = [
    *("0", "-0", "1", "1.0", "-0.0", "1E+5", "0.1e1", "1e-400", "1e400", "-1e999"),
    *("9007199254740993", "18446744073709551616", "-9223372036854775809"),
    *("123456789012345678901234567890", "0.30000000000000004"),
]
CHANGES = [
    *(b"[ ] { } , : \" \\ 0 - . e NaN Infinity tru // ' \xff \xc3 \xed\xa0\x80 \xa0".split()),
    *(b" ", b"\0", b"\x0b", b"\\ud800", b"\\uDC00", b"\xef\xbb\xbf"),
]


class Texts:
    """Random JSON, with the white space and the escapes that it may have."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def space(self):
        return self.random.choice(["", "", "", "", " ", "\n", "\t", "\r\n"])

    def joined(self, items):
        return f"{self.space()},{self.space()}".join(items)

    def string(self, text):
        if self.random.random() < 0.1:
            units = text.encode("utf-16-be").hex()
            return '"' + "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4)) + '"'
        return json.dumps(text, ensure_ascii=self.random.random() < 0.5)

    def value(self, depth=0):
        kind = self.random.random()
        if kind < 0.3:
            return self.string(self.random.choice(TEXTS) * self.random.randrange(1, 9))
        if kind < 0.6 or depth > 3:
            return self.random.choice(NUMBERS)
        if kind < 0.75:
            return self.random.choice(["true", "false", "null"])
        if kind < 0.87:
            items = (self.value(depth + 1) for _ in range(self.random.randrange(4)))
            return f"[{self.space()}{self.joined(items)}{self.space()}]"
        return self.object(self.random.choices(NAMES, k=self.random.randrange(4)), depth + 1)

    def object(self, names, depth=0):
        members = (
            f"{self.string(name)}{self.space()}:{self.space()}{self.value(depth)}" for name in names
        )
        return f"{{{self.space()}{self.joined(members)}{self.space()}}}"

    def body(self):
        names = [self.random.choices(NAMES, k=self.random.randrange(6)) for _ in range(4)]
        if self.random.random() < 0.5:  # Rows of one layout are read in a way of their own.
            names = names[:1] * 4
        rows = self.joined(map(self.object, names))
        text = f'{{"code":0,"message":"ok","data":{{"stock_list":[{rows}]}}}}'.encode()
        for _ in range(self.random.randrange(3)):
            at = self.random.randrange(len(text))
            after = at + self.random.randrange(3)
            text = text[:at] + self.random.choice([b"", *CHANGES]) + text[after:]
        return text


def refused(name):
    raise ValueError(name)


def expected(body):
    """The rows; an error of JSON; or `None` for another document, which is not the question."""
    text = body.decode("utf-8-sig")
    document = json.loads(text, parse_constant=refused)
    # What was decided: a surrogate without its other half is a character that cannot be decoded.
    document = json.loads(
        json.dumps(document, ensure_ascii=False)
        .encode("utf-16", "surrogatepass")
        .decode("utf-16", "replace")
    )
    try:
        rows = document["data"]["stock_list"]
        of_form = document["code"] == 0 and all(isinstance(row, dict) for row in rows)
        return rows if of_form and isinstance(rows, list) else None
    except (TypeError, LookupError):
        return None


@pytest.mark.parametrize("seed", [1, 2, pytest.param(0, marks=pytest.mark.slow)])
def test_the_same_rows_or_an_error(seed):
    texts = Texts(seed)
    read = parser("plate_stocks", [("plate_code", "HK.BK1001")])
    tried = {"rows": 0, "errors": 0}
    for _ in range(2_000 if seed else 1_000_000):
        body = texts.body()
        try:
            rows = expected(body)
        except ValueError:
            with pytest.raises(bl.ProtocolError):
                read(body)
            tried["errors"] += 1
            continue
        if rows is not None:
            assert json.dumps(read(body).to_dicts()) == json.dumps(rows), body
            tried["rows"] += 1
    assert min(tried.values()) > 200, tried
