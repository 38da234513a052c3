"""Addresses at which something is wrong, and their ports."""

import contextlib
import socket
import sys


def port_of(base_url):
    return int(base_url.rsplit(":", 1)[1])


@contextlib.contextmanager
def held_port(port=0):
    """A port of this test alone; nothing listens on it until the test starts a server there.

    A port that was merely found free may be another process's a moment later.
    """
    with socket.socket() as holder:
        # On Linux, a server that sets this option, too, as servers do, can listen although the port
        # is bound.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        port = holder.getsockname()[1]
        if sys.platform != "linux":  # Elsewhere the port is only found free.
            holder.close()
        yield port


class Untouched:
    """A listening address to which nobody may even connect."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        return self

    def __exit__(self, kind, *_):
        with self._listener:
            if kind is None:
                self.assert_untouched()

    def assert_untouched(self):
        try:
            self._listener.accept()[0].close()
        except BlockingIOError:
            return
        raise AssertionError("something connected")


class Unanswering:
    """An address whose packets get lost: its queue of connections is full (Linux)."""

    def __init__(self, port=0):
        self.port = port

    def __enter__(self):
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", self.port))
            self._waiting.append(one)
        return self

    def __exit__(self, *_):
        for one in (*self._waiting, self._listener):
            one.close()
