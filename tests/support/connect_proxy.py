"""A small CONNECT proxy: knows which local port stands for which name."""

from .relay import Relay, pipe_to


class ConnectProxy(Relay):
    """`known` maps `host:port` to a local port; `asked` are the request lines that came in.

    `answers` is sent instead of a tunnel if it is set; `authorizations` are the values of their
    Proxy-Authorization headers.
    """

    def __init__(self, known, answers=None, context=None):
        super().__init__(context=context)
        self.known, self.answers = known, answers
        self.asked, self.authorizations = [], []

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.asked.append(head[0])
        headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head}
        self.authorizations.append(headers.get("proxy-authorization"))
        method, target, _ = head[0].split(" ")
        if self.answers is not None or method != "CONNECT" or target not in self.known:
            writer.write(self.answers or b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await pipe_to(self.known[target], reader, writer)
