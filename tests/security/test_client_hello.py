"""The first message of a TLS connection, as RFC 8446 section 4.1.2 defines it."""

import socket
from concurrent.futures import ThreadPoolExecutor

import boardlot as bl
import pytest

KEY_SHARE = 51
# The number of the hybrid of X25519 and ML-KEM-768 in IANA's registry of TLS groups.
X25519_MLKEM768 = 0x11EC


def number(data, start, size):
    return int.from_bytes(data[start : start + size], "big")


def exactly(connection, size):
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data)) or pytest.fail("the connection ended")
    return data


def client_hello(listener):
    """The message without its header: version, random bytes, and lists behind their lengths."""
    connection, _ = listener.accept()
    with connection:
        message = b""
        while len(message) < 4 or len(message) < 4 + number(message, 1, 3):
            record = exactly(connection, 5)
            message += exactly(connection, number(record, 3, 2))
    return message[4:]


def extension(hello, wanted):
    position = 34
    for size in (1, 2, 1):  # Of the lists of session ids, cipher suites and compressions.
        position += size + number(hello, position, size)
    position += 2
    while position < len(hello):
        kind, size = number(hello, position, 2), number(hello, position + 2, 2)
        position += 4
        if kind == wanted:
            return hello[position : position + size]
        position += size
    raise AssertionError(f"no extension {wanted}")


def test_security_20_a_post_quantum_key_is_offered_first():
    """As browsers do: what is recorded today is not read by a later quantum computer."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        listener.settimeout(60)
        hello = pool.submit(client_hello, listener)
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with bl.Client(address, max_retries=0) as client, pytest.raises(bl.TransportError):
            client.server_time()
    shares = extension(hello.result(), KEY_SHARE)
    assert number(shares, 2, 2) == X25519_MLKEM768
