"""A proxy between client and service, which passes bytes on."""

import selectors
import socket

from .service import StandInService, reset, shut_down


class Proxy(StandInService):
    """Listens on 127.0.0.1 and passes each connection on to the port `target`.

    With a TLS `context`, the proxy ends TLS. `host` is the name in `base_url`. With `tunnels`,
    which map `host:port` to a local port, it is a CONNECT proxy for these names; `asked` are the
    request lines that it received, and `authorizations` their Proxy-Authorization headers. If
    `refusal` is set, it is sent instead of a tunnel.
    """

    def __init__(self, target=None, context=None, *, host="127.0.0.1", tunnels=None, refusal=None):
        super().__init__(context=context)
        self.target, self.host = target, host
        self.tunnels, self.refusal = tunnels, refusal
        self.asked, self.authorizations, self._silenced = [], [], set()

    def __enter__(self):
        super().__enter__()
        self.base_url = self.base_url.replace("127.0.0.1", self.host)
        return self

    def end_connections(self, way):
        """Ends the open connections ("closed", "reset" or "silent"); returns their number."""
        with self._lock:
            ended = self.connections - self._silenced
            for connection in ended:
                if way == "silent":
                    self._silenced.add(connection)
                elif way == "closed":
                    shut_down(connection)
                else:
                    reset(connection)
                    socket.socket.shutdown(connection, socket.SHUT_RD)
        return len(ended)

    def _converse(self, connection):
        target = self.target if self.tunnels is None else self._tunnel(connection)
        if target is not None:
            with socket.create_connection(("127.0.0.1", target)) as upstream:
                self._pipe(connection, upstream)

    def _tunnel(self, connection):
        """The port that a CONNECT request leads to; None if it is refused."""
        head = b""
        while part := connection.recv(1):
            head += part
            if head.endswith(b"\r\n\r\n"):
                break
        lines = head.decode("latin-1").split("\r\n")
        self.asked.append(lines[0])
        headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
        self.authorizations.append(headers.get("proxy-authorization"))
        method, name, _ = lines[0].split(" ")
        if self.refusal is None and method == "CONNECT" and name in self.tunnels:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return self.tunnels[name]
        refusal = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(self.refusal or refusal)
        return None

    def _pipe(self, connection, upstream):
        """Passes bytes both ways until one side ends."""
        ways = {connection: upstream, upstream: connection}
        with selectors.DefaultSelector() as selector:
            for end in ways:
                selector.register(end, selectors.EVENT_READ)
            while True:
                # TLS may have read more than was received.
                has_rest = self.context is not None and connection.pending()
                found = [] if has_rest else [key.fileobj for key, _ in selector.select()]
                for source in found or [connection]:
                    data = source.recv(65536)
                    if connection not in self._silenced:
                        if not data:
                            return
                        ways[source].sendall(data)
                    elif not data:
                        selector.unregister(source)
                        if source is connection:
                            return
