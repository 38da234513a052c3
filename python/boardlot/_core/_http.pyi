"""Requests and responses: recorded, observed and explained."""

from os import PathLike
from typing import Any, final

from typing_extensions import Self

@final
class Recorder:
    """Records the traffic of clients in a new file, for tests and bug reports.

    Pass it as `Client(..., cassette=Recorder(path))`. Any number of clients of one service can share it.
    The file has one JSON object per line, written when each request ends, and only its owner can read
    it. It contains no key, signature, token or client secret, but it does contain account ids, symbols
    and responses. Use it in a `with` block, or call `close()`. Raises `ConfigError` if the file exists
    or cannot be written.
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def close(self) -> None:
        """Ends the recording. Clients that still use it raise `ConfigError`."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __getnewargs__(self) -> None: ...

@final
class Replay:
    """Replays recorded traffic from a file, without a network or credentials.

    Pass it as `Client(cassette=Replay(path))`. A request gets the response that was recorded for the
    same method, path, query and body. If there are several, they are returned in order, and then the
    last one repeatedly. Retries do not wait. Any other request raises `ConfigError`, and so does a file
    that is not a recording; an empty file is one: its recorder was not used.
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    @property
    def base_url(self) -> str | None:
        """The base URL of the recorded service; `None` if nothing was recorded."""
    def __getnewargs__(self) -> tuple[str]: ...

@final
class RequestEvent:
    """A request that is about to be sent: the argument of `Client(on_request=...)`."""

    @property
    def id(self) -> int:
        """A number that identifies the attempt in this process: its two events have the same number."""
    @property
    def endpoint(self) -> str:
        """The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request of
        your own.
        """
    @property
    def route(self) -> str | None:
        """The endpoint's path with its placeholders, of which there are few:
        `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your own.
        """
    @property
    def method(self) -> str:
        """The HTTP method."""
    @property
    def host(self) -> str:
        """The host, with the port if it is not 443 (80 for `http`)."""
    @property
    def path(self) -> str:
        """The path, without the query."""
    @property
    def attempt(self) -> int:
        """1 when a call is first sent, and one more for each retry."""

@final
class ResponseEvent:
    """A request that has ended: the argument of `Client(on_response=...)`."""

    @property
    def id(self) -> int:
        """A number that identifies the attempt in this process: its two events have the same number."""
    @property
    def endpoint(self) -> str:
        """The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request of
        your own.
        """
    @property
    def route(self) -> str | None:
        """The endpoint's path with its placeholders, of which there are few:
        `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your own.
        """
    @property
    def method(self) -> str:
        """The HTTP method."""
    @property
    def host(self) -> str:
        """The host, with the port if it is not 443 (80 for `http`)."""
    @property
    def path(self) -> str:
        """The path, without the query."""
    @property
    def attempt(self) -> int:
        """1 when a call is first sent, and one more for each retry."""
    @property
    def status(self) -> int | None:
        """The HTTP status; None if there was no response."""
    @property
    def duration(self) -> float:
        """Seconds from sending the first byte to receiving the last."""
    @property
    def error(self) -> str | None:
        """Why there was no response; None if there was one, whatever its status."""
    @property
    def error_type(self) -> str | None:
        """The class of `error`: `"TransportError"`, `"RequestTimeout"` or `"ProtocolError"`, or
        `"cancelled"` if the call ended before the request.
        """

@final
class Response:
    """A response as it was received; the envelope is not checked."""

    @property
    def status(self) -> int:
        """The HTTP status."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers, with names in lower case; the values of a repeated header are joined by commas."""
    @property
    def content(self) -> bytes:
        """The body as bytes, decompressed."""
    def json(self) -> Any:
        """The body parsed as JSON; raises `ProtocolError` if it is not valid."""

@final
class Explanation:
    """A request as it would be sent: signed, but without secrets."""

    @property
    def method(self) -> str:
        """The HTTP method."""
    @property
    def url(self) -> str:
        """The whole URL, encoded as it is sent."""
    @property
    def payload_lines(self) -> list[str]:
        """The five lines of the canonical request; empty if the client has no `ApiKey`."""
    @property
    def payload(self) -> bytes:
        """The signed bytes."""
    @property
    def body_hash(self) -> str:
        """The lowercase hex SHA-256 of the body; empty without a body."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers that authorize and describe the request; tokens are redacted."""
