"""Owners that refer to an object of the library which refers back to them.

Each function takes an owner and a sandbox and closes the cycle; the owner is then dropped, and has
to be collected. Every class that holds objects of Python's is here: `grep -r "Py<" src`.
"""

import asyncio
import contextlib
import gc
import inspect

import boardlot as bl

from ..support.stores import DictStore

ACCOUNT = "281756"


class Owner:
    """An object of an application, with what it hands to the library."""

    def __init__(self):
        self.calls = 0

    def seen(self, _event):
        self.calls += 1

    def let_go(self):
        """Forgets all but what its hook needs, which may still be called."""
        self.__dict__ = {"calls": self.calls}

    def ask(self):
        return "correct-horse-battery-staple"


class OwnedStore(DictStore):
    """A custom store that knows its application."""

    def __init__(self, owner):
        super().__init__()
        self.owner = owner


class FailingStore(OwnedStore):
    def load(self, key):
        mine = self.owner  # In the frame, and so in the traceback.
        raise OSError(f"{key} of {mine} is out of reach")


class OwnedDict(dict):
    """A mapping with an attribute."""


def collect():
    """Releases what nobody can reach.

    What a thread of the runtime has dropped, PyO3 releases at the next call of the library.
    """
    bl.signature_payload(1, "GET", "/")
    gc.collect()


def hooked(owner, sandbox, kind=bl.Client, **options):
    options = {"on_request": owner.seen, "on_response": owner.seen, **options}
    return kind(sandbox.base_url, auth=sandbox.api_key(), **options)


async def settled(call):
    return await call()


def fills(client):
    return client.fills_history(ACCOUNT, "HK", page_size=10)


def client_that_has_made_requests(owner, sandbox):
    owner.client = hooked(owner, sandbox)
    owner.client.server_time()
    assert owner.calls == 2


def client_that_is_closed(owner, sandbox):
    with hooked(owner, sandbox) as owner.client:
        owner.client.server_time()


def client_with_headers_of_an_owner(owner, sandbox):
    headers = OwnedDict({"X-Client": "1"})
    headers.owner = owner
    owner.client = bl.Client(sandbox.base_url, headers=headers)


def client_of_a_subclass(owner, sandbox):
    owner.client = hooked(owner, sandbox, type("Mine", (bl.Client,), {}))
    owner.client.owner = owner


def async_client_that_has_made_requests(owner, sandbox):
    owner.client = hooked(owner, sandbox, bl.AsyncClient)
    asyncio.run(settled(owner.client.server_time))
    assert owner.calls == 2


def login_with_an_own_store(owner, sandbox):
    owner.auth = bl.OAuth("client-1", store=OwnedStore(owner), base_url=sandbox.base_url)


def login_whose_store_has_failed(owner, sandbox):
    owner.auth = bl.OAuth("client-1", store=FailingStore(owner), base_url=sandbox.base_url)
    client = bl.Client(sandbox.base_url, auth=owner.auth)
    for call in (lambda: owner.auth.scopes, lambda: client.dividends("HK.00700")):
        with contextlib.suppress(bl.StoreError, OSError):
            call()


def store_that_has_asked(owner, _sandbox, path):
    owner.store = bl.EncryptedFileStore(path / "tokens", owner.ask)
    owner.store.save("key", b"value")
    assert owner.store.load("key") == b"value"


def login_that_is_finished(owner, sandbox):
    flow = bl.begin_login(sandbox.base_url, store=OwnedStore(owner))
    owner.flow, owner.auth = flow, flow.finish(sandbox.authorize_demo_user(flow.url))
    owner.client = bl.Client(sandbox.base_url, auth=owner.auth, on_request=owner.seen)
    assert owner.client.dividends("HK.00700")


def pager_half_read(owner, sandbox):
    owner.pager = fills(hooked(owner, sandbox))
    next(owner.pager)


def pages(owner, sandbox):
    owner.pages = fills(hooked(owner, sandbox)).pages()
    next(owner.pages)


def batches(owner, sandbox):
    owner.batches = fills(hooked(owner, sandbox)).record_batches()
    next(owner.batches)


def async_pager_half_read(owner, sandbox):
    async def use():
        owner.pager = fills(hooked(owner, sandbox, bl.AsyncClient))
        owner.pages = owner.pager.pages()
        await anext(owner.pager)

    asyncio.run(use())


def awaitables_that_nobody_awaits(owner, sandbox):
    async def use():
        client = hooked(owner, sandbox, bl.AsyncClient)
        pager = fills(client)
        owner.held = [pager.__anext__(), pager.pages().__anext__(), fills(client).all()]

    asyncio.run(use())


def cancelled_task(owner, sandbox):
    async def use():
        client = hooked(owner, sandbox, bl.AsyncClient)
        owner.task = asyncio.ensure_future(settled(client.server_time))
        await asyncio.sleep(0)
        owner.task.cancel()

    asyncio.run(use())


def records_with_errors(owner, sandbox):
    with sandbox.client() as client:
        codes = ["HK.00700", "HK.99999"]
        owner.records = client.fetch_many("dividends", codes, on_error="collect")
    assert list(owner.records.errors) == ["HK.99999"]
    owner.records.errors["owner"] = owner
    owner.records.errors["HK.99999"].owner = owner


def records_iterator(owner, sandbox):
    records_with_errors(owner, sandbox)
    owner.iterator = iter(owner.records)
    owner.row = next(owner.iterator)
    owner.row["owner"] = owner
    del owner.records


def error_of_a_call(owner, sandbox):
    client = hooked(owner, sandbox)
    try:
        client.dividends("HK.99999")
    except bl.InvalidSymbol as error:
        error.owner, owner.error, owner.client = owner, error, client


def recorder(owner, sandbox, path):
    owner.recorder = bl.Recorder(path / "cassette.jsonl")
    owner.client = hooked(owner, sandbox, cassette=owner.recorder)
    owner.client.server_time()


NO_CYCLES = {"collect", "hooked", "fills", "settled"}
CYCLES = [
    tie
    for name, tie in list(globals().items())
    if inspect.isfunction(tie) and tie.__module__ == __name__ and name not in NO_CYCLES
]
