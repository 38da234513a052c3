"""Sections 4 and 5.2, what they rule out: refused with a `ConfigError` before anything is sent."""

from datetime import date, datetime, timezone

import boardlot as bl
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from ..support.clients import MODES, run
from ..support.keys import KEYS, PRIVATE_PEM, PUBLIC_PEM, api_key
from ..support.service import StandInService, response

UTC = timezone.utc
MICRO = 1780000000000000

BAD_SEGMENTS = [
    "",
    ".",
    "..",
    "../HK.00700",
    "HK.00700/..",
    "HK/00700",
    "/HK.00700",
    "HK\\00700",
    "HK%2F00700",
    "%2e%2e",
    "HK.\n00700",
    "HK.\r\n00700",
    "HK.00\x00700",
    "HK.00700\x7f",
    "HK.00700\t",
]

# (method, arguments, options, the argument that is named)
CALLS = [
    *[("reference_futures", [text], {}, "symbol") for text in BAD_SEGMENTS],
    ("reference_futures", ["HK." + "0" * 30], {}, "symbol"),
    ("reference_futures", ["HK." + "0" * 5000], {}, "symbol"),
    *[("dividends", [text], {}, "symbol") for text in BAD_SEGMENTS],
    *[("plate_stocks", [text], {}, "plate_code") for text in BAD_SEGMENTS],
    ("plate_stocks", ["HK.00700"], {}, "plate_code"),
    ("plate_stocks", ["BK1001"], {}, "plate_code"),
    ("plate_stocks", ["HK.BK"], {}, "plate_code"),
    ("plate_stocks", ["HK.BK10x"], {}, "plate_code"),
    *[("crypto_orders", [-1], {}, "acc_id"), ("crypto_orders", [2**64], {}, "acc_id")],
    *[
        ("crypto_orders", [text], {}, "acc_id")
        for text in ("", "abc", "-1", "1.5", "1/2", "..", "18446744073709551616", "٣")
    ],
    *[
        (method, [text, *rest], {}, "acc_id")
        for method, rest in (("sim_orders", []), ("sim_positions", []), ("fills_history", ["HK"]))
        for text in ("", "1/2", "..", ".", "1\\2", "1%2f2", "1\n2", "1\x002", -1)
    ],
    *[("ipo_list", [market], {}, "market") for market in ("", "jp", "xx", "hk/..", "../hk", "h k")],
    *[
        ("trading_days", [market, "2026-10-01", "2026-10-07"], {}, "market")
        for market in ("", "ATLANTIS", "H/K", "HK\n")
    ],
    *[("ipo_list", ["cn"], {"request_type": n}, "request_type") for n in (0, 6, 9, 10, 11, -1)],
    *[
        ("ipo_list", [market], {"request_type": n}, "request_type")
        for market in ("hk", "us", "sg", "my")
        for n in (1, 4, 8, 12)
    ],
    *[("crypto_orders", [1], {"page_size": n}, "page_size") for n in (0, -1, 51, 2**32)],
    *[
        (
            "fills_history",
            ["1", "HK"],
            {"start": MICRO, "end": MICRO + 1, "page_size": n},
            "page_size",
        )
        for n in (0, 9, 51, -1, 2**32)
    ],
    ("trading_days", ["HK", "2026-02-30", "2026-03-05"], {}, "start"),
    ("trading_days", ["HK", "2026-02-01", "2026-13-01"], {}, "end"),
    ("trading_days", ["HK", "yesterday", "2026-10-07"], {}, "start"),
    ("trading_days", ["HK", "2026-10-01", ""], {}, "end"),
    ("fills_history", ["1", "HK"], {"start": "2026-02-30T00:00:00Z"}, "start"),
    ("fills_history", ["1", "HK"], {"end": "2026-13-01T00:00:00Z"}, "end"),
    ("fills_history", ["1", "HK"], {"end": "soon"}, "end"),
    ("fills_history", ["1", "HK"], {"start": -1, "end": MICRO}, "start"),
    ("fills_history", ["1", "HK"], {"start": MICRO, "end": 2**64}, "end"),
]


def label(call):
    method, args, kwargs, argument = call
    value = kwargs.get(argument, args[0] if args else "")
    return f"{method}-{argument}-{ascii(value)[:24]}-{len(str(value))}"


def refused(mode, method, args, kwargs):
    """The `ConfigError` of a call; fails where anything reached the server."""
    with StandInService(lambda _: response(b"{}")) as server:
        with pytest.raises(bl.ConfigError) as caught:
            run(mode, server, lambda client: client.everything(method, *args, **kwargs))
        assert server.received == []
    assert isinstance(caught.value, bl.BoardlotError) and isinstance(caught.value, ValueError)
    assert caught.value.hint and caught.value.retryable is False
    return caught.value


def shown(value):
    """The part of a value that an error is to show as it is: long or unprintable ones may vary."""
    text = str(value)
    return text[:8] if text.isascii() and text.isprintable() and "\\" not in text else ""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", CALLS, ids=label)
def test_what_the_document_rules_out_is_rejected_by_name_and_value(call, mode):
    method, args, kwargs, argument = call
    text = str(refused(mode, method, args, kwargs))
    if argument in kwargs:
        value = kwargs[argument]
    else:
        value = args[{"end": 2, "start": 1}.get(argument, 0)]
    assert argument in text
    assert shown(value) in text
    assert "\n" not in text.strip("\n") and "\x00" not in text and "\r" not in text


def test_the_reason_names_the_limit():
    assert "32" in str(refused("sync", "reference_futures", ["HK." + "0" * 30], {}))
    assert "50" in str(refused("sync", "crypto_orders", [1], {"page_size": 51}))
    text = str(refused("sync", "fills_history", ["1", "HK"], {"page_size": 9}))
    assert "10" in text and "50" in text
    text = str(refused("sync", "ipo_list", ["cn"], {"request_type": 9}))
    assert all(str(n) in text for n in (1, 2, 3, 4, 5))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("argument", ["start", "end"])
def test_a_naive_datetime_is_rejected_with_what_to_write(argument, mode):
    given = {argument: datetime(2026, 6, 1, 9, 30)}
    error = refused(mode, "fills_history", ["1", "HK"], given)
    text = f"{error} {error.hint}"
    assert argument in text
    assert "tzinfo" in text or "timezone" in text or "ZoneInfo" in text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("start", "end"),
    [
        (MICRO, MICRO),
        (MICRO + 1, MICRO),
        (datetime(2026, 6, 2, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)),
        ("2026-06-01T00:00:00Z", "2026-06-01T08:00:00+08:00"),
    ],
    ids=["equal", "reversed", "datetimes", "equal in two zones"],
)
def test_a_range_must_end_after_its_start(start, end, mode):
    error = refused(mode, "fills_history", ["1", "HK"], {"start": start, "end": end})
    assert "start" in str(error) and "end" in str(error)


@pytest.mark.parametrize(
    "value", ["a\rb", "a\nb", "a\r\nX-Evil: 1", "a\x00b", "\x7f", "\x1b[31m", "é", "中"]
)
def test_header_values_outside_visible_ascii_are_rejected(value):
    with StandInService(lambda _: response({"server_time_ms": "1790000000123"})) as server:
        with pytest.raises(bl.ConfigError) as caught:
            run(
                "sync",
                server,
                lambda client: client.call("server_time"),
                headers={"X-Service-Client-Nnid": value},
            )
        with pytest.raises(bl.ConfigError):
            run(
                "sync",
                server,
                lambda client: client.call("request", "GET", "/x", headers={"X-Extra": value}),
            )
        assert server.received == []
    assert "X-Service-Client-Nnid" in str(caught.value) or "headers" in str(caught.value)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://api.example.com",
        "http://192.0.2.7:8080",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "ftp://api.example.com",
        "api.example.com",
        "",
        "https://",
        "https://user@api.example.com",
        "https://user:hunter2@api.example.com",
        "http://user:hunter2@127.0.0.1:1",
        "https://api.example.com/#part",
    ],
)
@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_a_base_url_is_https_or_loopback_with_no_user_and_no_fragment(base_url, kind):
    with pytest.raises(bl.ConfigError) as caught:
        getattr(bl, kind)(base_url, auth=api_key())
    assert "base_url" in str(caught.value)
    assert "hunter2" not in f"{caught.value!r} {caught.value} {caught.value.hint}"


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1", "http://[::1]:1", "https://a.example"])
def test_loopback_and_https_are_accepted(base_url):
    with bl.Client(base_url, auth=api_key()):
        pass


@pytest.mark.parametrize("value", [0, 0.0, -1, -0.5, float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("argument", ["timeout", "connect_timeout"])
@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_times_are_positive_and_finite(argument, value, kind):
    with pytest.raises(bl.ConfigError) as caught:
        getattr(bl, kind)("http://127.0.0.1:1", auth=api_key(), **{argument: value})
    assert argument in str(caught.value)


def pem_of(key, kind=PrivateFormat.PKCS8):
    return key.private_bytes(Encoding.PEM, kind, NoEncryption()).decode()


def weak_rsa():
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)


BAD_KEYS = {
    "an elliptic curve key": lambda: pem_of(ec.generate_private_key(ec.SECP256R1())),
    "RSA of 1024 bits, PKCS#8": lambda: pem_of(weak_rsa()),
    "RSA of 1024 bits, PKCS#1": lambda: pem_of(weak_rsa(), PrivateFormat.TraditionalOpenSSL),
    "a public key": lambda: PUBLIC_PEM,
    "an encrypted key with no password": lambda: KEYS["ed25519_encrypted"]["private_pem"],
    "a cut-off key": lambda: PRIVATE_PEM[:60] + "\n-----END PRIVATE KEY-----\n",
    "a certificate": lambda: PRIVATE_PEM.replace("PRIVATE KEY", "CERTIFICATE"),
    "an empty file": lambda: "\n",
    "no PEM": lambda: "hello\n",
}


def use_key(private_key, **options):
    """Makes the key and signs a call with it; nothing may arrive where that fails."""
    with StandInService(lambda _: response({"ret_code": 0, "data": {"orders": []}})) as server:
        try:
            key = bl.ApiKey("key-1", private_key, **options)
            run("sync", server, lambda client: client.call("sim_orders", "1"), auth=key)
        except bl.BoardlotError:
            assert server.received == []
            raise
        return key


@pytest.mark.parametrize("name", BAD_KEYS)
def test_a_key_file_that_cannot_sign_is_rejected(name, tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(BAD_KEYS[name]())
    path.chmod(0o600)
    with pytest.raises(bl.ConfigError) as caught:
        use_key(path)
    assert caught.value.hint


@pytest.mark.parametrize("name", BAD_KEYS)
def test_a_key_as_bytes_that_cannot_sign_is_rejected(name):
    with pytest.raises(bl.ConfigError):
        use_key(BAD_KEYS[name]().encode())


def test_the_reason_for_a_weak_key_names_its_size():
    with pytest.raises(bl.ConfigError) as caught:
        use_key(pem_of(weak_rsa()))
    assert "1024" in str(caught.value) or "2048" in str(caught.value)


def test_a_missing_key_file_is_rejected_by_its_path(tmp_path):
    with pytest.raises(bl.ConfigError) as caught:
        use_key(tmp_path / "nowhere.pem")
    assert "nowhere.pem" in str(caught.value)


def test_an_unreadable_key_file_is_rejected_by_its_path(tmp_path):
    folder = tmp_path / "folder.pem"
    folder.mkdir()
    with pytest.raises(bl.ConfigError) as caught:
        use_key(folder)
    assert "folder.pem" in str(caught.value)


def test_a_wrong_password_is_rejected_and_shown_nowhere():
    with pytest.raises(bl.ConfigError) as caught:
        use_key(KEYS["ed25519_encrypted"]["private_pem"], password="wrong donkey")
    assert "password" in str(caught.value)
    assert "wrong donkey" not in f"{caught.value!r} {caught.value} {caught.value.hint}"


@pytest.mark.parametrize("name", ["ed25519", "rsa2048_pkcs8", "rsa2048_pkcs1", "ed25519_encrypted"])
@pytest.mark.parametrize("form", ["text", "bytes", "path", "path text"])
def test_keys_of_every_form_are_read(name, form, tmp_path):
    pem, password = KEYS[name]["private_pem"], KEYS[name].get("password")
    path = tmp_path / "key.pem"
    path.write_text(pem)
    path.chmod(0o600)
    given = {"text": pem, "bytes": pem.encode(), "path": path, "path text": str(path)}[form]
    key = use_key(given, **({"password": password} if password else {}))
    assert key.algorithm == KEYS[name]["algorithm"]
    assert key.public_key_pem().split() == KEYS[name]["public_pem"].split()


def test_nothing_can_be_called_without_an_address():
    with pytest.raises(bl.ConfigError) as caught:
        bl.Client(auth=api_key())
    assert "base_url" in str(caught.value)


class Whole:
    """What other libraries' whole numbers look like."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        if self.number is None:
            raise TypeError("only a single number can be an index")
        return self.number


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("argument", ["start", "end"])
@pytest.mark.parametrize(
    "value", [True, Whole(-1), Whole(2**64), Whole(None), 1.5, b"1", "1", "19691231", object()]
)
def test_an_invalid_time_is_rejected(argument, value, mode):
    assert argument in str(refused(mode, "fills_history", ["1", "HK"], {argument: value}))


@pytest.mark.parametrize("argument", ["start", "end"])
@pytest.mark.parametrize(
    "value",
    [
        date(1969, 12, 31),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc),
        "1969-12-31",
        "1970-01-01T00:00:00+00:01",
        -1,
    ],
    ids=str,
)
def test_a_time_before_1970_is_rejected(argument, value):
    text = str(refused("sync", "fills_history", ["1", "HK"], {argument: value}))
    assert argument in text and "since 1970" in text
