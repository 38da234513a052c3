"""A sandbox behind a service of HTTP/1.1 that is wrong where a plan says so."""

import contextlib
import http.client
import socket
import threading

from ..support.addresses import Unanswering
from ..support.service import Response, StandInService, response, shut_down

OF_A_CONNECTION = {"connection", "content-length", "transfer-encoding"}


class FaultyService(StandInService):
    """Passes requests on to the sandbox; those that `plan` picks go through `kind` instead.

    `plan(request)` tells whether this one is to fail. `mutated` are the changed responses,
    `followed` tells whether a redirect was.
    """

    def __init__(self, target, kind, plan, dice, context=None):
        super().__init__(self._respond, context=context)
        self.target, self.kind, self.plan, self.dice = target, kind, plan, dice
        self.mutated, self.cursors, self.held = [], {}, {}
        self.followed = self.refuses_grants = False
        self.bad_handshakes = 0
        self._here = threading.Event()
        if context is not None:
            context.sni_callback = self._choose_certificate

    def _choose_certificate(self, connection, _name, _context):
        if self.bad_handshakes > 0:
            self.bad_handshakes -= 1
            connection.context = self.kind.context

    def listen(self, port=0):
        # Bound from begin to end, never listening: while the service is away, nobody gets its port,
        # not even a login that comes back to the port which it was registered with.
        if port == 0:
            self._holder = self.stack.enter_context(socket.socket())
            self._holder.bind(("127.0.0.1", 0))
            port = self._holder.getsockname()[1]
        with self._sharing_the_port():
            super().listen(port)
        self._here.set()

    @contextlib.contextmanager
    def _sharing_the_port(self):
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)

    def __exit__(self, *_):
        self._here.wait()
        super().__exit__()

    def _respond(self, request):
        self.followed |= request.path.startswith("/followed")
        exchange = Exchange(self, request)
        refreshes = request.path == "/oauth2/token" and b"grant_type=refresh_token" in request.body
        if refreshes and self.refuses_grants:
            return response({"error": "invalid_grant"}, 400)
        if not request.path.startswith("/oauth2/") and self.plan(request):
            return self.kind.fail(exchange)
        return exchange.real()

    @property
    def is_away(self):
        return not self._here.is_set()

    def go_away(self, seconds, silent):
        """The address refuses connections for a while, or loses their packets."""
        if not self.is_away:
            self._here.clear()
            threading.Thread(target=self._stay_away, args=(seconds, silent)).start()
        return Response(drop=True)

    def _stay_away(self, seconds, silent):
        self.stop_listening()
        with self._lock:
            for connection in self.connections:
                shut_down(connection)
        with contextlib.ExitStack() as stack:
            if silent:
                stack.enter_context(self._sharing_the_port())
                stack.enter_context(Unanswering(self.port))
            self._closing.wait(seconds)
        self.listen(self.port)


class Exchange:
    """The means that a kind of fault has for one request."""

    def __init__(self, service, request):
        self.service, self.request, self.dice = service, request, service.dice

    def real(self):
        """The sandbox's own response."""
        places = (self.request.query.encode(), self.request.body)
        for cursor, held in self.service.held.items():
            if any(cursor.encode() in place for place in places):
                return held
        connection = http.client.HTTPConnection("127.0.0.1", self.service.target)
        with contextlib.closing(connection):
            words = {"skip_host": True, "skip_accept_encoding": True}
            connection.putrequest(self.request.method, self.request.target, **words)
            for header in self.request.headers:
                connection.putheader(*header)
            connection.endheaders(self.request.body)
            found = connection.getresponse()
            kept = (pair for pair in found.getheaders() if pair[0].lower() not in OF_A_CONNECTION)
            return Response(found.status, found.read(), dict(kept))

    def mutated(self, changed):
        self.service.mutated.append((changed.status, changed.body))
        return changed
