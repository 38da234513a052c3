"""Requests and responses: recorded, observed and explained."""

from os import PathLike
from typing import Any, final

from typing_extensions import Self

@final
class Recorder:
    """Records the traffic of clients in a new file at `path`, for tests and bug reports.

    Pass it as `Client(..., cassette=Recorder(path))`. Any number of clients of one service can share it.
    The file has one JSON object per line, written when each request ends, and only its owner can read
    it. It contains no key, signature, token or client secret of its clients. Other secrets are masked by
    their names, in members of JSON, forms, URLs and headers. It does contain account ids, symbols and
    responses. Use it in a `with` block, or call `close()`. Raises `ConfigError` if the file exists
    or cannot be written.

    >>> recorder = bl.Recorder(folder / "traffic.jsonl")
    >>> with sandbox.client(cassette=recorder) as client:
    ...     len(client.dividends("HK.00700"))
    21
    >>> recorder.close()
    >>> with bl.Client(cassette=bl.Replay(folder / "traffic.jsonl")) as client:
    ...     len(client.dividends("HK.00700"))
    21
    """

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def close(self) -> None:
        """Ends the recording. Clients that still use it raise `ConfigError`. Raises `ConfigError` if the file
        cannot be stored, such as on a full disk.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __getnewargs__(self) -> None: ...

@final
class Replay:
    """Replays recorded traffic from the file at `path`, without a network or credentials. For an example, see
    `Recorder`.

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
class RateLimit:
    """A rate limit that several clients share.

    Without a name, the clients of this process that are given it share it. With a name, all processes
    of this user on this machine do, by a small file. With a database, all processes do that use it, by
    the clock of its server.

    Requests are evenly spaced, first come, first served within a process, and processes take turns.
    What the service says to one of them, by `Retry-After` or by throttling its requests, holds for all.
    Three percent of the rate are not used: so no second has more requests than the rate and `burst`,
    although some arrive at the service later than others.

    `rate` is in requests per second, from 0.001 to 1,000,000. `burst` is how many requests may be sent
    at once after a pause. `name` is any text. `database` is the URL of a PostgreSQL database (extra
    `postgres`), and needs a name; the table `boardlot_rate_limits` is created in it. Raises
    `ConfigError` if an argument is invalid, or the state folder or the driver is missing; a call of a
    client raises `StoreError` if the file cannot be used, and `TransportError` if the database cannot.

    >>> limit = bl.RateLimit(50, burst=5)
    >>> with sandbox.client(rate_limit=limit) as client:
    ...     len(client.dividends("HK.00700"))
    21
    >>> limit.rate, limit.burst, limit.free <= 50
    (50.0, 5, True)
    """

    def __new__(
        cls,
        rate: float,
        *,
        burst: int = 1,
        name: str | None = None,
        database: str | None = None,
    ) -> Self: ...
    @property
    def rate(self) -> float:
        """Requests per second."""
    @property
    def burst(self) -> int:
        """How many requests may be sent at once after a pause."""
    @property
    def name(self) -> str | None:
        """The name by which processes share it; None: those clients that are given it."""
    @property
    def used(self) -> float | None:
        """About how many requests all who share it have sent in the last second; None if that is not
        known, since this process has not used the database yet.
        """
    @property
    def free(self) -> float | None:
        """About how many more requests per second could be sent now: less while the service throttles.
        None like `used`.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]: ...

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
    def rate_limit_wait(self) -> float:
        """Seconds that the request waited for `rate_limit` before that, in which it was not sent."""
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
    """A response as it was received; the envelope is not checked.

    >>> path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
    >>> response = client.request("GET", path)
    >>> response.status, response.headers["content-type"], response.json()["ret_code"]
    (200, 'application/json', 0)
    """

    @property
    def status(self) -> int:
        """The HTTP status."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers by their names in any case, listed in lower case; the values of a repeated header are
        joined by commas.
        """
    @property
    def content(self) -> bytes:
        """The body as bytes, decompressed."""
    def json(self) -> Any:
        """The body parsed as JSON. Raises `ProtocolError` if it is not valid."""

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
    @property
    def rate_limit(self) -> str | None:
        """Which rate limit applies to the request, and how much of it is free now; None without a limit."""
