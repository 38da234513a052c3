"""A service that answers what a test wants, over real HTTP."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Mapping[str, str], bytes]


@contextmanager
def answering(answer: Callable[[str], Answer]) -> Iterator[str]:
    """A server whose answer to each path with its query the function gives; yields its base URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def fills(*pages: str) -> Callable[[str], Answer]:
    """Answers of the fills endpoint: of each page the records as they are to be sent, in JSON."""

    def answer(path: str) -> Answer:
        place = int(parse_qs(urlsplit(path).query).get("page_flag", ["0"])[0] or 0)
        last = place == len(pages) - 1
        beside = json.dumps({"page_flag": "" if last else str(place + 1), "completed": last})
        body = f'{{"s":"ok","d":{{"order_fills":[{pages[place]}],{beside[1:]}}}'
        return 200, {"Content-Type": "application/json"}, body.encode()

    return answer
