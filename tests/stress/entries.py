"""Every entry of the compiled module: each constructor, method and attribute of its classes, and
each public function; with objects and arguments to call them with."""

import asyncio
import contextlib
import inspect
import itertools
import tempfile
import time
from pathlib import Path

import boardlot as bl
from boardlot import _core as core

ACCOUNT = "281756"
CALLBACK = "https://app.example.com/callback"
TIME = "/api/v1.0/server-time"
ENDPOINT = bl.Endpoint("flow", "GET", "/flow", record={"time": "seconds"})
# How often an object is used before another one is made.
CALLS_OF_ONE_OBJECT = 20
# Attributes that all classes inherit or have without a function of the module.
NOT_OWN = set(dir(type("Plain", (), {}))) - {
    "__repr__",
    "__eq__",
    "__hash__",
    "__reduce__",
    "__lt__",
} | {"__class_getitem__", "__match_args__"}

# One of two parts of a range.
PART = (
    "fills_history",
    [("acc_id", "281756"), ("trd_market", "HK"), ("start", 10**15), ("end", 10**15 + 9)],
    (0, 2),
)


class Row:
    """A row whose constructor is code of the caller's, and lets other threads run."""

    code: str = ""
    statement: str = ""

    def __init__(self, **values):
        self.values = values
        time.sleep(0)


def entries():
    """The names of all entries."""
    found = []
    for name, thing in vars(core).items():
        if name.startswith("__") or isinstance(thing, dict):
            continue
        if not inspect.isclass(thing):
            # The others have the same gate, which the package's own calls enter.
            found += [] if name.startswith("_") else [name]
            continue
        found.append(f"{name}()")
        found += [f"{name}.{own}" for own in vars(thing) if own not in NOT_OWN]
    return sorted({*found})


class Workplace:
    """Makes objects of all classes, and knows the arguments of all calls."""

    def __init__(self, folder=None):
        self.folder = folder

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        if self.folder is None:
            self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.numbers = itertools.count()
        sandbox = bl.Sandbox(seed=7, fills=120, orders=5, plate_stocks=60)
        self.sandbox = self.stack.enter_context(sandbox)
        self.url = self.sandbox.base_url
        self.key = bl.generate_key()
        # Its hooks let other threads run.
        hooks = dict.fromkeys(("on_request", "on_response"), lambda _event: time.sleep(0))
        self.client = self.stack.enter_context(self.sandbox.client(**hooks))
        self.async_client = self.sandbox.async_client()
        self.stack.callback(lambda: asyncio.run(self.async_client.close()))
        self.records = self.client.dividends("HK.00700")
        self.rows, self.login_url = self.fills().all(max_items=3), self.flow().url
        return self

    def __exit__(self, *_):
        self.stack.close()

    def path(self):
        return self.folder / str(next(self.numbers))

    def fills(self, client=None):
        return (client or self.client).fills_history(ACCOUNT, "HK")

    def event(self, hook):
        seen = []
        with self.sandbox.client(**{hook: seen.append}) as client:
            client.server_time()
        return seen[0]

    def app(self, kind):
        return kind(self.url, "client", redirect_uri=CALLBACK, store=bl.MemoryStore())

    def flow(self):
        return bl.begin_login(self.url, store=bl.MemoryStore(), timeout=0.05)

    def replay(self):
        path = self.path()
        with bl.Recorder(path) as recorder, self.sandbox.client(cassette=recorder) as client:
            client.server_time()
        return bl.Replay(path)

    def pages(self):
        given = [("acc_id", ACCOUNT), ("trd_market", "HK")]
        core = self.client._boardlot_core
        return core.pages(self.client, "fills_history", given, None, None)

    def page(self):
        return self.pages().after(None)

    def view(self):
        return self.pages().view()

    def stream(self):
        return core._PageStream(self.view(), self.page(), 0)

    def instance(self, name):
        """A new object of a class; of one that callers build, its core."""
        made = {
            "ApiKey": lambda: bl.ApiKey("key", self.key.private_pem),
            "ArrowStream": lambda: self.records._arrow("float64", "raise", "utf8"),
            "AuthorizationRequest": lambda: self.app(bl.OAuthApp).authorization_url(),
            "Batch": lambda: self.stream().pages(self.page(), 0)[0],
            "BearerToken": lambda: bl.BearerToken("token"),
            "ClientCore": lambda: self.sandbox.client()._boardlot_core,
            "DateRange": lambda: bl.DateRange("end", before="time"),
            "EncryptedFileStore": lambda: bl.EncryptedFileStore(self.path(), lambda: "words"),
            "Endpoint": lambda: ENDPOINT,
            "Explanation": lambda: self.client.explain("GET", TIME),
            "Faults": bl.Faults,
            "GeneratedKey": bl.generate_key,
            "KeyringStore": bl.KeyringStore,
            "LoginFlow": self.flow,
            "MemoryStore": bl.MemoryStore,
            "TokenStoreBase": bl.MemoryStore,
            "OAuth": lambda: bl.OAuth("client", store=bl.MemoryStore()),
            "OAuthApp": lambda: self.app(bl.OAuthApp),
            "Page": self.page,
            "Pages": self.pages,
            "PageStream": self.stream,
            "RateLimit": lambda: bl.RateLimit(1_000),
            "RecordBatches": lambda: core._RecordBatches(self.view(), "float64", "raise"),
            "RecordedRequest": lambda: self.sandbox.requests[0],
            "Recorder": lambda: bl.Recorder(self.path()),
            "Registration": lambda: bl.register_client(self.url, redirect_uris=[CALLBACK]),
            "Replay": self.replay,
            "RequestEvent": lambda: self.event("on_request"),
            "Response": lambda: self.client.request("GET", TIME),
            "ResponseEvent": lambda: self.event("on_response"),
            "RowView": self.view,
            "Rows": lambda: self.records._rows(),
            "Sandbox": lambda: bl.Sandbox(fills=50, orders=5, plate_stocks=5),
            "SchemaField": lambda: self.records.schema[0],
            "Shape": lambda: self.records._rows().shape,
            "FileLock": lambda: core._FileLock(self.path()),
        }[name.removeprefix("_")]()
        return getattr(made, "_boardlot_core", made)

    def arguments(self, entry):
        """The arguments of a call: by position, and by name."""
        name = entry.rpartition(".")[2]
        stored = {"load": (), "save": (b"secret",), "delete": ()}
        if entry.split(".")[0].endswith(("Store", "StoreBase")) and name in stored:
            return ("http://127.0.0.1 client", *stored[name]), {}
        if name in {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}:
            return (self.records,), {}
        dividend, row = ("dividends", [("symbol", "HK.00700")]), dict(self.records[0])
        return {
            "signature_payload": ((1, "GET", "/"), {}),
            "ApiKey.sign": ((b"payload",), {}),
            "OAuth._set_profile": (("live",), {}),
            "OAuthApp.auth": (("alice",), {}),
            "OAuthApp.fetch_token": ((f"{CALLBACK}?code=1&state=1", "1", "2" * 43, "alice"), {}),
            "GeneratedKey._encrypted_pem": (("words",), {}),
            "ClientCore.instrument": ((None, None), {}),
            "ClientCore.call": (dividend, {}),
            "ClientCore.pages": (
                (self.client, "plate_stocks", [("plate_code", "HK.BK1001")], None, None),
                {},
            ),
            "ClientCore.request": (("GET", TIME, None, None, None), {}),
            "ClientCore.paginate": (
                (self.client, "GET", TIME, "next_key", "data", None, None, None),
                {},
            ),
            "ClientCore.explain": (("GET", TIME, None, None, []), {}),
            "ClientCore.fetch_many": (
                ("dividends", ["HK.00700"], 2, "raise", None, False, []),
                {},
            ),
            "ClientCore.pages_many": (
                (
                    self.client,
                    "fills_history",
                    [281756],
                    2,
                    "raise",
                    None,
                    None,
                    [("trd_market", "HK")],
                ),
                {},
            ),
            "ClientCore.part_of_pages": ((self.client, *PART), {}),
            "LoginFlow.offer": ((f"{CALLBACK}?code=1&state=1",), {}),
            "LoginFlow.wait": ((None,), {}),
            "RateLimit.is_same": ((self.instance("RateLimit"),), {}),
            "LoginFlow.finish": ((f"{CALLBACK}?code=1&state=1",), {}),
            "PageStream.capsule": ((iter(()),), {}),
            "PageStream.pages": ((self.page(), 0), {}),
            "Pages.after": ((None,), {}),
            "Pages.all": ((self.view(), None, 0, None, None, False), {}),
            "Pages.checkpoint": ((None, 0), {}),
            "Pages.frame": ((self.view(), None, 0, "to_arrow", "float64", "raise", False), {}),
            "RecordBatches.pages": ((self.page(), 0), {}),
            "RowView.as_type": ((Row,), {}),
            "RowView.pages": ((self.page(), 0), {}),
            "RowView.rows": ((self.page(), 0), {}),
            "RowView.select": ((("code",), False), {}),
            "Rows._arrow": (("float64", "raise", "utf8"), {}),
            "Rows.instances": ((Row,), {}),
            "Rows.of_dicts": (([row], self.instance("Shape")), {}),
            "Rows.select": (("statement",), {}),
            "Rows.slice": ((0, 2), {}),
            "Rows.take": (([0],), {}),
            "Rows.texts": ((["statement"],), {}),
            "Shape.select": ((("statement",), None, False), {}),
            "Sandbox.authorize_demo_user": ((self.login_url, None), {}),
            "Sandbox.fail_next": ((None, 1, None, None, None), {}),
            "Sandbox.set_faults": ((None,), {}),
            "Sandbox.put": (("dividends", [row], None, {"symbol": "HK.00700"}), {}),
            "Sandbox.serve": ((ENDPOINT, [{"time": 1}], {}), {}),
            "Sandbox.upload_key": ((self.key.public_pem,), {}),
        }.get(entry.removeprefix("_"), ((), {}))

    def caller(self, entry):
        """A function that calls an entry once, of the same object for some times."""
        kind, _, name = entry.partition(".")
        if entry.endswith("()"):
            return lambda: self.instance(entry[:-2])
        positional, named = self.arguments(entry)
        if not name:
            return lambda: getattr(core, entry)(*positional, **named)
        uses, held = itertools.count(), []

        def call():
            if next(uses) % CALLS_OF_ONE_OBJECT == 0:
                held[:] = [self.instance(kind)]
            attribute = getattr(held[0], name)
            result = attribute(*positional, **named) if callable(attribute) else attribute
            if inspect.isawaitable(result):
                result = asyncio.run(awaited(result))
            return result

        return call


async def awaited(awaitable):
    return await awaitable
