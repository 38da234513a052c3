"""Signing as a careful user would write it by hand, for the peers."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.serialization import load_pem_private_key


class Signer:
    def __init__(self, key_id: str, private_pem: str) -> None:
        self.key_id = key_id
        self.sign = load_pem_private_key(private_pem.encode(), None).sign

    def headers(self, method: str, path: str, query: str = "", body: bytes = b"") -> dict[str, str]:
        timestamp = str(time.time_ns() // 1_000_000)
        digest = hashlib.sha256(body).hexdigest() if body else ""
        payload = f"{timestamp}\n{method}\n{path}\n{query}\n{digest}".encode()
        return {
            "X-Api-Key": self.key_id,
            "X-Timestamp": timestamp,
            "X-Nonce": secrets.token_hex(16),
            "Authorization": base64.b64encode(self.sign(payload)).decode(),
        }

    def of(self, url: str) -> dict[str, str]:
        """The headers of a GET of that address."""
        parts = urlsplit(url)
        return self.headers("GET", parts.path, parts.query)
