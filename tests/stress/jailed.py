"""Operations, each in a process that lacks one resource: `python -m tests.stress.jailed`.

Prints how each ends there, and how it ends once the resource is back: "done", or the error with its
hint. The service is in the process that runs this one. The processes are forks of one that has
imported all modules and used none.
"""

import asyncio
import contextlib
import ctypes
import errno
import json
import os
import resource
import struct
import sys
import tempfile
import traceback
from functools import partial
from pathlib import Path

import boardlot as bl

from ..records.parsed import pager_over

# It loads on first use, which takes files.
bl.Sandbox  # noqa: B018

# `linux/capability.h`, `linux/prctl.h`, `linux/seccomp.h`
CAP_SYS_ADMIN, CAP_SYS_RESOURCE, CAPABILITIES_3 = 21, 24, 0x20080522
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
# The number of `getrandom` by architecture.
GETRANDOM = {"x86_64": 318, "aarch64": 278}


@contextlib.contextmanager
def limited(kind, value):
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def obey_limits():
    """A user other than root, whose limits hold, and who may still read the files of this one."""
    if os.getuid() == 0:
        os.setresuid(os.getpid() + 100_000, 0, 0)
        capabilities = (ctypes.c_uint32 * 6)()
        header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.capget(header, capabilities) == 0
        for bit in (CAP_SYS_ADMIN, CAP_SYS_RESOURCE):
            capabilities[0] &= ~(1 << bit)
        assert libc.capset(header, capabilities) == 0


@contextlib.contextmanager
def threads(left):
    """So many more threads may be started."""
    obey_limits()
    with limited(resource.RLIMIT_NPROC, len([*Path("/proc/self/task").iterdir()]) + left):
        yield


@contextlib.contextmanager
def files(left):
    """So many more files may be opened."""
    last = os.open(os.devnull, os.O_RDONLY)
    os.close(last)
    with limited(resource.RLIMIT_NOFILE, last + left):
        yield


@contextlib.contextmanager
def disk(left):
    """No file grows beyond so many bytes."""
    with limited(resource.RLIMIT_FSIZE, left):
        yield


@contextlib.contextmanager
def memory(left):
    """The process may use so many more megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    with limited(resource.RLIMIT_AS, pages * resource.getpagesize() + (left << 20)):
        yield


@contextlib.contextmanager
def entropy(_left):
    """The system refuses random numbers for good: a filter of system calls cannot be taken back."""
    instructions = [
        (0x20, 0, 0, 0),  # load the number of the system call
        (0x15, 0, 1, GETRANDOM[os.uname().machine]),  # if it is another one, skip the next line
        (0x06, 0, 0, 0x00050000 | errno.EPERM),  # refuse
        (0x06, 0, 0, 0x7FFF0000),  # allow
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    assert libc.prctl(SET_SECCOMP, FILTER, program, 0, 0) == 0
    yield


class EmptyStore:
    """A store of a user's own. (The one of `support.stores` would load pytest in each child.)"""

    def load(self, key):
        return None

    def save(self, key, value): ...

    def delete(self, key): ...


class Operations:
    """Each is prepared while nothing is missing; what it returns is the operation."""

    def __init__(self, base_url, account, key_id, key_file, folder):
        self.base_url, self.account, self.folder = base_url, account, Path(folder)
        self.options = {
            "auth": bl.ApiKey(key_id, key_file),
            "max_retries": 0,
            "timeout": 20.0,
        }

    def client(self, **options):
        return bl.Client(self.base_url, **{**self.options, **options})

    def call(self):
        client = self.client()
        return client.server_time

    def call_to_a_name(self):
        client = bl.Client("https://localhost:1", max_retries=0)

        def ask():
            # Nobody listens there, once the name is looked up.
            try:
                client.server_time()
            except bl.TransportError as error:
                if "Connection refused" not in str(error):
                    raise

        return ask

    def awaited_call(self):
        return self._awaited(lambda client: client.server_time())

    def call_with_a_hook(self):
        client = self.client(on_request=lambda event: {"x-hook": "1"})
        return client.server_time

    def list_in_pages(self):
        client = self.client()
        return lambda: client.fills_history(self.account, "HK", page_size=50).all()

    def awaited_list_in_pages(self):
        return self._awaited(
            lambda client: client.fills_history(self.account, "HK", page_size=50).all()
        )

    def many_keys(self):
        client = self.client()
        return lambda: client.fetch_many("dividends", ["HK.00700", "HK.00005"])

    def frame(self):
        rows = [{"code": f"HK.{number:05}", "name": "x" * 1000} for number in range(2_000)]
        records = pager_over(rows).all()
        # pyarrow starts threads of its own.
        return records.__arrow_c_stream__

    def archive_update(self):
        client = self.client()
        bl.Archive(self.folder / "fills.db").close()
        archive = bl.Archive(self.folder / "fills.db")
        return lambda: archive.update(client, fills=[(self.account, "HK")])

    def archive_opened(self):
        bl.Archive(self.folder / "old.db").close()  # what it imports is Python's
        return lambda: bl.Archive(self.folder / "new.db").close()

    def store_of_a_user(self):
        client = self.client(auth=bl.OAuth("client", store=EmptyStore()))

        def ask():
            # What the store says: nobody has logged in.
            with contextlib.suppress(bl.LoginRequired):
                client.server_time()

        return ask

    def new_key(self):
        return bl.generate_key

    def shared_limit(self):
        client = self.client(rate_limit=bl.RateLimit(100, name="machines"))
        return client.server_time

    def sandbox(self):
        def start():
            with bl.Sandbox(seed=1):
                pass

        return start

    def encrypted_store(self):
        store = bl.EncryptedFileStore(self.folder / "tokens", "a passphrase")
        return lambda: store.save("key", b"{}")

    def _awaited(self, use):
        async def run():
            async with bl.AsyncClient(self.base_url, **self.options) as client:
                return await use(client)

        # What a loop needs is asyncio's.
        loop = asyncio.new_event_loop()
        return lambda: loop.run_until_complete(run())


def outcome(operation):
    try:
        operation()
    except bl.BoardlotError as error:
        return {"error": type(error).__name__, "text": str(error), "hint": error.hint or ""}
    except BaseException as error:
        return {"raw": f"{type(error).__name__}: {error}"}
    return {"done": True}


def outcomes(kind, left, name, service):
    """Without the resource, and with it again."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        operation = getattr(Operations(*service, folder), name)()
        with globals()[kind](left):
            missing = outcome(operation)
        return [missing, outcome(operation)]


def of_a_fork(work):
    """What a child returns, and its status."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as file:
                json.dump(work(), file)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    return json.loads(said or "null"), status


def main(tries, *service):
    """Tries the operations of each `[kind, left, names]`."""
    for kind, left, names in json.loads(tries):
        for name in names:
            ends, status = of_a_fork(partial(outcomes, kind, left, name, service))
            print(json.dumps([kind, left, name, status, ends]))


if __name__ == "__main__":
    main(*sys.argv[1:])
