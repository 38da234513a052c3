"""The address of the service as browsers and other clients read it: a URL that two programs read in
two ways may send credentials elsewhere."""

import random

import ada_url
import boardlot as bl
import pytest

SCHEMES = ["https://"] * 20 + [
    *("HTTPS://", "http://", "https:", "https:/", "https:///", "https:\\\\", "//", "", "ftp://"),
    *("wss://", "https ://", " https://", "https://\t", "\nhttps://", "\x00https://"),
]
HOSTS = [
    *("example.com", "EXAMPLE.com", "ex%61mple.com", "münchen.example", "xn--mnchen-3ya.example"),
    *("127.0.0.1", "0x7f.1", "2130706433", "127.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"),
    *("a_b.example", "a..b", "ex ample.com", "example.com.", "256.1.1.1", "127.0.0.1"),
    *("a%00b", "", "a@evil.example", "a:b@evil.example", "a\u00adb.example", "[::1", "[v1.x]"),
]
# Others leave these to the system's resolver, or refuse them.
ODD_HOSTS = {
    *("a\u00adb.example", "ex%61mple.com", "0x7f.1", "2130706433", "127.1", "a%00b"),
    "[::ffff:127.0.0.1]",
}
PORTS = ["", "", "", ":", ":443", ":0", ":80", ":65535", ":65536", ":08443", ":-1", ":8443", ":x"]
PATHS = [
    *("", "", "/", "/a", "/a/", "//a", "/a/../b", "/%2e%2e/x", "/é", "/a b"),
    *("/a\\b", "\\a", "/a;b"),
    *("/a%zz", "/a\tb", "?x", "#x", "/a?", "/|^", "/\u202e", "/%00", "\\@evil.example", "/@x"),
]


def as_browsers_do(text):
    try:
        url = ada_url.URL(text)
    except ValueError:
        return None
    return url.protocol, url.hostname, url.port, url.pathname.rstrip("/")


def accepted(text):
    try:
        with bl.Client(text) as client:
            return client.base_url
    except bl.ConfigError:
        return None


@pytest.mark.parametrize("seed", [1, 2])
def test_an_address_is_read_as_browsers_read_it_or_refused(seed):
    chance = random.Random(seed)
    tried = {True: 0, False: 0}
    for _ in range(1_000):
        scheme, host, port, path = map(chance.choice, (SCHEMES, HOSTS, PORTS, PATHS))
        text = scheme + host + port + path
        base_url = accepted(text)
        tried[base_url is None] += 1
        read = as_browsers_do(text)
        if base_url:
            assert as_browsers_do(base_url) == read, text
            assert base_url.isascii(), text
        elif read and host and scheme.lower() == "https://" and host not in ODD_HOSTS:
            # Nothing that browsers accept is refused, but for what boardlot says that it refuses.
            assert set("@?# \t\n\\").intersection(text), text
    assert min(tried.values()) > 200, tried
