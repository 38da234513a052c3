"""What the tests share: logins by hand, raw callbacks, children, and stores to look into."""

import base64
import contextlib
import json
import math
import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import boardlot as bl

ROOT = Path(__file__).parent.parent.parent
PASSPHRASE = "correct-horse-battery-staple"
SYMBOL = "HK.HSImain"
KEY = "http://127.0.0.1:1 client-1"
OPENERS = [
    *("xdg-open", "x-www-browser", "www-browser", "sensible-browser", "gnome-open", "kde-open"),
    *("gio", "wslview", "firefox", "chromium", "chromium-browser", "google-chrome", "open"),
    *("gvfs-open", "exo-open", "kfmclient", "w3m", "lynx", "links"),
]


class Shelf:
    """A user's own store: the three methods of the interface, and what it was asked."""

    def __init__(self):
        self.kept = {}
        self.saves = 0

    def load(self, key):
        return self.kept.get(key)

    def save(self, key, value):
        assert isinstance(value, bytes)
        self.saves += 1
        self.kept[key] = value

    def delete(self, key):
        self.kept.pop(key, None)


def begin(server, store=None, **options):
    """A login that has been begun and waits for its callback."""
    options = {"timeout": 30.0, **options}
    store = bl.MemoryStore() if store is None else store
    return bl.begin_login(getattr(server, "base_url", server), store=store, **options)


def sign_in(server, store=None, scopes=None, **options):
    """A whole login by pasted callback; gives the credential."""
    flow = begin(server, store, **options)
    return flow.finish(server.authorize(flow.url, scopes))


def client_of(server, oauth, **options):
    options = {"timeout": 20.0, "max_retries": 0, **options}
    return bl.Client(server.base_url, auth=oauth, **options)


def quotes(client):
    return client.reference_futures(SYMBOL)


def query_of(url):
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), url
    return dict(pairs)


def place_of(flow):
    """Port and path that the flow listens on, from the redirect URI in its URL."""
    uri = urlsplit(query_of(flow.url)["redirect_uri"])
    assert (uri.scheme, uri.hostname) == ("http", "127.0.0.1")
    return uri.port, uri.path or "/"


class Waiting:
    """`flow.wait()` in a thread of its own, so that the test can play the browser."""

    def __init__(self, wait):
        self._wait = wait
        self.result = self.error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self.result = self._wait()
        except BaseException as error:
            self.error = error

    def over(self, seconds=20.0):
        """Waits for the end; true where there was one."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def get(self, seconds=20.0):
        assert self.over(seconds), f"wait() did not end within {seconds} s"
        if self.error is not None:
            raise self.error
        return self.result


def waiting(flow):
    return Waiting(flow.wait)


class Reply:
    """A raw HTTP answer."""

    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.raw = raw
        self.status = int(lines[0].split(" ")[1]) if raw else 0
        pairs = [line.partition(":") for line in lines[1:]]
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}


def send_raw(port, data, seconds=15.0, host="127.0.0.1"):
    """Sends bytes and reads to the end; an empty `Reply` where the other side hung up."""
    raw = b""
    connection = socket.create_connection((host, port), timeout=seconds)
    with connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)
        while part := connection.recv(65536):
            raw += part
            head, found, body = raw.partition(b"\r\n\r\n")
            if found and len(body) >= length_of(head):
                break
    return Reply(raw)


def length_of(head):
    for line in head.decode("latin-1").lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line.partition(":")[2])
    return math.inf


def call(flow, target=None, *, method="GET", host=None, headers=(), query=None):
    """One request to the flow's listener; `query` goes to its own path."""
    port, path = place_of(flow)
    target = target if target is not None else f"{path}?{query}"
    host = f"Host: {host or f'127.0.0.1:{port}'}"
    lines = [f"{method} {target} HTTP/1.1", host, *headers, "Connection: close"]
    return send_raw(port, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def visit(callback_url):
    """The browser follows the redirect to the callback URL."""
    with urllib.request.urlopen(callback_url, timeout=20) as reply:
        return reply.status, reply.headers, reply.read()


def finish_for_real(server, flow, login):
    """The real callback still works, whatever came before it."""
    status, _, _ = visit(server.authorize(flow.url))
    assert status == 200
    oauth = login.get()
    assert list(quotes(client_of(server, oauth))) == []
    assert server.counts["authorization_code"] == 1
    return oauth


def callback_query(server, flow):
    return server.authorize(flow.url).partition("?")[2]


def listens(port, host="127.0.0.1"):
    try:
        socket.create_connection((host, port), timeout=3).close()
    except OSError:
        return False
    return True


def closed(port, seconds=3.0):
    """Whether the port is closed, or will be in a moment."""
    end = time.monotonic() + seconds
    while listens(port):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def python(code, *args, env=None, **options):
    """A child that runs `code`; its pipes are text."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
    environment = {**os.environ, **(env or {})}
    return subprocess.Popen(command, env=environment, text=True, cwd=ROOT, **options)


def run_python(code, *args, env=None, seconds=60.0, status=0):
    """Runs a child to its end; gives stdout and stderr."""
    with python(code, *args, env=env, stderr=subprocess.PIPE) as child:
        try:
            out, err = child.communicate(timeout=seconds)
        finally:
            child.kill()
    assert child.returncode == status, f"status {child.returncode}\n{out}\n{err}"
    return out, err


def files_of(folder):
    """Every regular file below a folder, with its bytes."""
    found = [path for path in sorted(Path(folder).rglob("*")) if stat.S_ISREG(path.lstat().st_mode)]
    return {path: path.read_bytes() for path in found}


def data_files(folder):
    """The files that hold something: the lock file is empty or named as one."""
    found = files_of(folder).items()
    return {path: data for path, data in found if data and "lock" not in path.name}


def open_bits(folder):
    """What others may do anything with, below a folder and the folder itself."""
    places = [Path(folder), *Path(folder).rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in places}
    return {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}


def scopes_of(oauth):
    scopes = oauth.scopes
    return set(scopes.split()) if isinstance(scopes, str) else set(scopes)


def secret_of(pem):
    """The 32 secret bytes of an Ed25519 key (RFC 8410), and the text in the PEM that is theirs."""
    body = "".join(pem.splitlines()[1:-1])
    der = base64.b64decode(body)
    assert der[12:16] == b"\x04\x22\x04\x20", "the key is not where RFC 8410 puts it"
    text = base64.b64encode(der[18:48]).decode()
    assert text in body
    return der[16:48], text


def tells_to_log_in(error):
    """Whether an error's words send the user to a new login."""
    text = f"{error} {getattr(error, 'hint', '')}".lower()
    return any(words in text for words in ("log in", "login", "sign in"))


def write_opener(path, noted, interpreter):
    """A program in place of a browser: notes its arguments and does nothing else."""
    script = f"""\
        #!{interpreter} -I
        import json, os, sys, time
        place = os.path.join({str(noted)!r}, f"{{time.time_ns()}}-{{os.getpid()}}")
        with open(place + ".part", "w") as out:
            json.dump(sys.argv, out)
        os.rename(place + ".part", place)
        """
    path.write_text(textwrap.dedent(script))
    path.chmod(0o755)


def opened_with(noted, seconds=10.0):
    """The arguments of every opened browser, waiting for the first; [] after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        files = [path for path in sorted(noted.iterdir()) if path.suffix != ".part"]
        if files or time.monotonic() > end:
            return [json.loads(path.read_text())[1:] for path in files]
        time.sleep(0.02)
