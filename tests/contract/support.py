"""What the contract tests share: the vectors, the test key, and one face over both clients."""

import asyncio
import base64
import hashlib
import inspect
import json
from pathlib import Path

import boardlot as bl
from boardlot._endpoints import ENDPOINTS
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from .scripted import answer

VECTORS = Path(__file__).parent.parent / "vectors"
KEYS = json.loads((VECTORS / "signing.json").read_text("utf-8"))["keys"]
PRIVATE_PEM = KEYS["ed25519"]["private_pem"]
PUBLIC_PEM = KEYS["ed25519"]["public_pem"]

PAGERS = {endpoint.method for endpoint in ENDPOINTS if endpoint.paged}
FACES = ["sync", "async"]


def api_key(name="ed25519"):
    return bl.ApiKey("key-1", KEYS[name]["private_pem"])


def endpoint_vectors():
    """(endpoint, case) for every case of every file."""
    pairs = []
    for path in sorted((VECTORS / "endpoints").glob("*.json")):
        vector = json.loads(path.read_text("utf-8"))
        pairs += [(vector["endpoint"], case) for case in vector["cases"]]
    return pairs


def vector_case(endpoint, name):
    """One case by its name, so that other tests can use its answers."""
    (case,) = [c for e, c in endpoint_vectors() if e == endpoint and c["name"] == name]
    return case


def scripted_answers(case):
    """The answers of a case, as the scripted server plays them."""
    told = [exchange["answer"] for exchange in case["exchanges"]]
    return [answer(one["body"], one["status"], one.get("headers")) for one in told]


def client_of(server, **options):
    """A client for a scripted server: signs with the test key, tries nothing twice."""
    options = {"auth": api_key(), "max_retries": 0, "timeout": 10.0, **options}
    return bl.Client(getattr(server, "base_url", server), **options)


async def settled(value):
    return await value if inspect.isawaitable(value) else value


async def walk(result):
    """Awaits a call of `AsyncClient`; a pager is left as it is."""
    return result if hasattr(result, "__aiter__") else await settled(result)


def run(face, server, use, **options):
    """Runs `use(client)`, a coroutine function, with a client of the given face.

    The coroutine takes the client as a `Face`, whose methods hide which of the two it is; so each
    behaviour is written once and shown for both.
    """
    options = {"auth": api_key(), "max_retries": 0, "timeout": 10.0, **options}
    base_url = getattr(server, "base_url", server)

    async def with_async():
        async with bl.AsyncClient(base_url, **options) as client:
            return await use(Face(client))

    if face == "async":
        return asyncio.run(with_async())
    with bl.Client(base_url, **options) as client:
        # No loop is needed: with a sync client nothing in `use` ever waits.
        coroutine = use(Face(client))
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("a sync client gave something that has to be awaited")


class Face:
    """A client of either kind, with the calls written as for the asynchronous one."""

    def __init__(self, client):
        self.client = client

    def pager(self, method, *args, **kwargs):
        return getattr(self.client, method)(*args, **kwargs)

    async def call(self, method, *args, **kwargs):
        return await walk(getattr(self.client, method)(*args, **kwargs))

    async def rows(self, pager, limit=None):
        """The rows of a pager from where it stands, at most `limit`."""
        taken = []
        if limit == 0:
            return taken
        if hasattr(pager, "__aiter__"):
            async for row in pager:
                taken.append(row)
                if len(taken) == limit:
                    break
        else:
            for row in pager:
                taken.append(row)
                if len(taken) == limit:
                    break
        return taken

    async def pages(self, pager):
        pages = pager.pages()
        if hasattr(pages, "__aiter__"):
            return [page async for page in pages]
        return list(pages)

    async def everything(self, method, *args, **kwargs):
        """The result of any method as plain rows (or the value of `server_time`)."""
        if method in PAGERS:
            return await self.rows(self.pager(method, *args, **kwargs))
        result = await self.call(method, *args, **kwargs)
        return result if method == "server_time" else list(result)


def same(left, right):
    """Equality in which 1, 1.0 and True are three things, and so are 0.0 and -0.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


def payload_of(received):
    """The five lines of section 5.2, from the raw request line and the raw body."""
    body = hashlib.sha256(received.body).hexdigest() if received.body else ""
    stamp = received.header("X-Timestamp")
    lines = [stamp, received.method, received.path, received.query, body]
    return "\n".join(lines).encode("latin-1")


def verify(signature, payload, public_pem=PUBLIC_PEM):
    """Raises unless the Base64 signature is the key's over the payload (OpenSSL's verdict)."""
    raw = base64.b64decode(signature, validate=True)
    key = load_pem_public_key(public_pem.encode())
    if isinstance(key, Ed25519PublicKey):
        key.verify(raw, payload)
    else:
        key.verify(raw, payload, padding.PKCS1v15(), SHA256())


def assert_signed(received, public_pem=PUBLIC_PEM):
    assert received.header("X-Api-Key") == "key-1"
    verify(received.header("Authorization"), payload_of(received), public_pem)
