"""Authorization of `requests`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from requests.auth import AuthBase
from requests.structures import CaseInsensitiveDict
from urllib3.util import parse_url

from boardlot import ConfigError
from boardlot._support.hidden import HiddenHeader

from .authorizer import STREAMED, Authorizer, redirected


def adapter(authorizer: Authorizer) -> Any:
    return RequestsAuth(authorizer)


class RequestsAuth(AuthBase):
    """Authorizes prepared requests."""

    def __init__(self, authorizer: Authorizer) -> None:
        self.authorizer = authorizer

    def __repr__(self) -> str:
        return f"boardlot.auth.requests({self.authorizer!r})"

    def __call__(self, request: Any) -> Any:
        request.url = as_sent(request.url)
        if isinstance(request.body, str):
            # Releases of urllib3 encode text differently.
            request.body = request.body.encode()
        if not isinstance(request.body, (bytes, bytearray, type(None))):
            raise ConfigError(STREAMED)
        if self.authorizer.has_key:
            request.headers = SignedHeaders(request, self.authorizer)
            request.register_hook("response", refuse_redirect)
        else:
            request.headers["Authorization"] = self.authorizer.token(request.url)
            request.register_hook("response", self.refreshed)
        return request

    def refreshed(self, response: Any, **options: Any) -> Any:
        """The response to a second attempt with a new token, if the service rejected the first."""
        sent = response.request.headers.get("Authorization")
        if response.status_code != 401 or not isinstance(sent, HiddenHeader):
            return response
        # As `requests.auth.HTTPDigestAuth`: the connection returns to its pool, even if the renewal
        # of the token raises.
        _ = response.content
        response.close()
        header = self.authorizer.token(response.request.url, sent)
        if header == sent:
            return response
        again = response.request.copy()
        again.headers["Authorization"] = header
        second = response.connection.send(again, **options)
        second.history.append(response)
        second.request = again
        return second


def as_sent(url: str) -> str:
    """A prepared request's URL in the form in which urllib3 sends it."""
    parts = parse_url(url)
    path = parts.path or "/"
    if path.startswith("//"):
        # `requests.adapters.HTTPAdapter.request_url` sends one slash.
        path = "/" + path.lstrip("/")
    return str(parts._replace(path=path, fragment=None).url)


def refuse_redirect(response: Any, **_: Any) -> None:
    """Stops these headers from being sent to the target of a redirect."""
    headers = response.request.headers
    if response.is_redirect and isinstance(headers, SignedHeaders):
        headers.redirected = True


class SignedHeaders(CaseInsensitiveDict[Any]):
    """The headers of a request, signed each time that they are written.

    urllib3 writes the same headers again when it tries again, and a nonce is good for one attempt.
    """

    def __init__(self, request: Any, authorizer: Authorizer, headers: Any = None) -> None:
        super().__init__(request.headers if headers is None else headers)
        self.request: Any = request
        self.authorizer: Authorizer = authorizer
        self.redirected: bool = False
        self.update(dict.fromkeys(("X-Api-Key", "X-Timestamp", "X-Nonce", "Authorization"), "***"))

    def items(self) -> Any:
        if self.redirected:
            raise redirected(self.request.url)
        body = bytes(self.request.body or b"")
        signed = self.authorizer.signed(self.request.method, self.request.url, body)
        return [(name, signed.get(name, value)) for name, value in self._shown()]

    def _shown(self) -> Iterator[tuple[str, Any]]:
        return ((name, self[name]) for name in self)

    def copy(self) -> SignedHeaders:
        copy = SignedHeaders(self.request, self.authorizer, list(self._shown()))
        copy.redirected = self.redirected
        return copy

    def __repr__(self) -> str:
        return repr(dict(self._shown()))
