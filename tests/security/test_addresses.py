"""The address of the service as browsers and other clients read it: a URL that two programs read in
two ways may send credentials elsewhere."""

import random

import ada_url
import boardlot as bl
import pytest

from ..support.vectors import table

PARTS = table("addresses")
SCHEMES = ["https://"] * 20 + PARTS["schemes"]
# Others leave these to the system's resolver, or refuse them.
ODD_HOSTS = set(PARTS["odd hosts"])


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
    chance, places = random.Random(seed), [PARTS[name] for name in ("hosts", "ports", "paths")]
    tried = {True: 0, False: 0}
    for _ in range(1_000):
        scheme, host, port, path = map(chance.choice, (SCHEMES, *places))
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
