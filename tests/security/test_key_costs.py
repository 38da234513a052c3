"""Keys that take long to make or to read: their costs are bounded, and Ctrl-C ends the wait."""

import boardlot as bl
import pytest

from ..support.interrupts import ends_at_once

PASSWORD = "correct horse"


def der(tag, *parts):
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x81, size])
    return bytes([tag]) + length + content


def integer(number):
    return der(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


PBES2 = bytes.fromhex("06092a864886f70d01050d")
PBKDF2 = bytes.fromhex("06092a864886f70d01050c")
SCRYPT = bytes.fromhex("06092b06010401da47040b")
HMAC_SHA256 = bytes.fromhex("300c06082a864886f70d02090500")
AES_256_CBC = bytes.fromhex("060960864801650304012a")
SALT = b"saltsalt"


def encrypted(derivation):
    """A PKCS#8 key under costs that its author chose; its content is of no importance."""
    scheme = der(0x30, derivation, der(0x30, AES_256_CBC, der(4, bytes(16))))
    return der(0x30, der(0x30, PBES2, scheme), der(4, bytes(64)))


def pbkdf2(iterations):
    return der(0x30, PBKDF2, der(0x30, der(4, SALT), integer(iterations), HMAC_SHA256))


def scrypt(n, r, p):
    return der(0x30, SCRYPT, der(0x30, der(4, SALT), integer(n), integer(r), integer(p)))


@pytest.mark.parametrize(
    "derivation",
    [
        *(pbkdf2(6_000_001), scrypt(1 << 20, 8, 3), scrypt(1 << 14, 8, 200), scrypt(1 << 40, 1, 1)),
        *(scrypt(0, 8, 1), scrypt(3, 8, 1), scrypt(2, 0, 1), scrypt(2, 1, 0)),
    ],
    ids=bytes.hex,
)
def test_the_costs_of_an_encrypted_key_are_bounded(derivation):
    # The costs are checked before they are paid: otherwise the password would be wrong.
    with pytest.raises(
        bl.ConfigError, match=r"encrypted with .* expected at most|cannot be"
    ) as caught:
        bl.ApiKey("k", encrypted(derivation), password=PASSWORD)
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("derivation", [pbkdf2(100_000), scrypt(1 << 12, 8, 1)], ids=bytes.hex)
def test_usual_costs_are_read(derivation):
    with pytest.raises(bl.ConfigError, match="the password is wrong"):
        bl.ApiKey("k", encrypted(derivation), password=PASSWORD)


def test_ctrl_c_ends_the_wait_for_a_key_that_is_read():
    ends_at_once(lambda: bl.ApiKey("k", encrypted(pbkdf2(2_000_000)), password=PASSWORD))


def test_ctrl_c_ends_the_wait_for_a_key_that_is_made():
    ends_at_once(lambda: bl.generate_key("RSA-SHA256", bits=8192))
