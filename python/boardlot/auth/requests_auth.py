"""Authorization of `requests`."""

from __future__ import annotations

from typing import Any

from requests.auth import AuthBase
from urllib3.util import parse_url

from boardlot import ConfigError

from .authorizer import STREAMED, Authorizer


def adapter(authorizer: Authorizer) -> Any:
    return RequestsAuth(authorizer)


class RequestsAuth(AuthBase):
    """Authorizes prepared requests, and once more if the service rejects them.

    requests asks for authorization when it prepares a request. After a retry of urllib3, a redirect
    or a later change of the request, the signature has been used or is for another request. A hook
    then authorizes the request that was really sent, as in `requests.auth.HTTPDigestAuth`.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self.authorizer = authorizer

    def __repr__(self) -> str:
        return f"boardlot.auth.requests({self.authorizer!r})"

    def __call__(self, request: Any) -> Any:
        if self.authorizer.has_key:
            self.sign(request)
        else:
            self.authorizer.set_token(request, request.url)
        if self.again not in request.hooks["response"]:
            request.register_hook("response", self.again)
        return request

    def sign(self, request: Any) -> None:
        request.url = as_sent(request.url)
        if isinstance(request.body, str):
            # Releases of urllib3 encode text differently.
            request.body = request.body.encode()
        if not isinstance(request.body, (bytes, bytearray, type(None))):
            raise ConfigError(STREAMED)
        self.authorizer.sign(request, request.url, bytes(request.body or b""))

    def again(self, response: Any, **options: Any) -> Any:
        """The response to a second attempt, if the service rejected the first.

        Without the header, requests has followed a redirect to another service.
        """
        if response.status_code != 401 or "Authorization" not in response.request.headers:
            return response
        # The connection returns to its pool, even if the renewal of the token raises.
        _ = response.content
        response.close()
        request = response.request.copy()
        if self.authorizer.has_key:
            self.sign(request)
        elif not self.authorizer.set_token(request, request.url, is_rejected=True):
            return response
        second = response.connection.send(request, **options)
        second.history.append(response)
        second.request = request
        return second


def as_sent(url: str) -> str:
    """A prepared request's URL in the form in which urllib3 sends it."""
    parts = parse_url(url)
    path = parts.path or "/"
    if path.startswith("//"):
        # `requests.adapters.HTTPAdapter.request_url` sends one slash.
        path = "/" + path.lstrip("/")
    return str(parts._replace(path=path, fragment=None).url)
