"""Responses of the service's OAuth endpoints (section 4.1), and of three that a token opens.

The server issues and recognizes codes and tokens, and checks nothing else: the sandbox checks
requests, and security/test_exchange.py looks at the requests that are sent.
"""

import base64
import hashlib
import json
import re
import secrets
import time
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from .callbacks import query_of
from .service import StandInService, response

SCOPES = "quote:read quote:write trade:read trade:write accid:*"
KINDS = {
    ("POST", "/oauth2/register"): "register",
    ("GET", "/oauth2/authorize/confirm"): "authorize",
    ("GET", "/api/v1.0/server-time"): "clock",
}
LISTS = {
    "reference-future": ("quote:read", {"reference_list": []}),
    "orders": ("trade:read", {"orders": []}),
    "stock": ("quote:read", {"stock_list": []}),
}


@dataclass
class Client:
    client_id: str
    secret: str | None


class AuthorizationServer(StandInService):
    """A server of OAuth endpoints, with requests of the kinds `register`, `authorize`,
    `authorization_code`, `refresh_token`, `clock` and `api`. All attributes may be set while it
    runs. `clients`, `codes`, `access` and `refresh` are those that it has issued, the last three
    with their scopes, and `secrets` are all texts that nobody may show. `rejection` is the response
    to an access token that is not valid.
    """

    def __init__(self):
        super().__init__(self._respond)
        self.token_lifetime = 7200
        self.scopes = SCOPES
        self.rejection = 401, {}, {"ret_code": 401, "ret_msg": "no valid token"}
        self.client_id = lambda: "client-" + secrets.token_hex(8)
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.secrets = set()

    def kind_of(self, request):
        if request.path == "/oauth2/token":
            return dict(parse_qsl(request.body.decode("latin-1"))).get("grant_type")
        other = "api" if request.path.startswith("/api/") else "elsewhere"
        return KINDS.get((request.method, request.path), other)

    def expire(self):
        """Ends all access tokens, before the time that they were issued for."""
        self.access.clear()

    def authorize(self, url, scopes=None):
        """The user agrees to what `url` requests; returns the callback URL."""
        query = query_of(url)
        code = self._secret("code-")
        self.codes[code] = " ".join(scopes) if scopes is not None else self.scopes
        return query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"]})

    def _secret(self, prefix):
        secret = prefix + secrets.token_urlsafe(24)
        self.secrets.add(secret)
        return secret

    def _respond(self, request):
        kind = self.kind_of(request)
        if kind == "authorize":
            return response(b"", 302, {"Location": self.authorize(self.base_url + request.target)})
        if kind == "clock":
            return response({"server_time_ms": str(int(time.time() * 1000))})
        if kind == "register":
            return response(self._registered(json.loads(request.body)), 201)
        if kind in ("authorization_code", "refresh_token"):
            return self._token(request.form)
        return self._list(request)

    def _registered(self, asked):
        method = asked["token_endpoint_auth_method"]
        secret = self._secret("secret-") if method == "client_secret_post" else None
        client = Client(self.client_id(), secret)
        self.clients[client.client_id] = client
        return {
            **asked,
            "client_id": client.client_id,
            "client_id_issued_at": int(time.time()),
            "registration_access_token": self._secret("management-"),
            "registration_client_uri": f"{self.base_url}/oauth2/register/{client.client_id}",
            "scope": SCOPES,
            "pkce_required": True,
            **({"client_secret": secret} if secret else {}),
        }

    def _token(self, form):
        client = self.clients.get(form["client_id"])
        if client is None or client.secret not in (None, form.get("client_secret")):
            return response({"error": "invalid_client"}, 401)
        if form["grant_type"] == "authorization_code":
            self.secrets.add(form["code_verifier"])
            scopes, refresh_token = self.codes.pop(form["code"], None), self._secret("refresh-")
            more = {"refresh_token": refresh_token}
        else:
            refresh_token = form["refresh_token"]
            scopes, more = self.refresh.get(refresh_token), {}
        if scopes is None:
            return response({"error": "invalid_grant"}, 400)
        token = self._secret("access-")
        self.access[token] = self.refresh[refresh_token] = scopes
        life = {"token_type": "Bearer", "expires_in": self.token_lifetime, "scope": scopes}
        return response({"access_token": token, **life, **more})

    def _list(self, request):
        scopes = self.access.get((request.header("Authorization") or "").removeprefix("Bearer "))
        if scopes is None:
            status, headers, body = self.rejection
            return response(body, status, headers)
        found = re.search(r"/(reference-future|orders|stock)$", request.path)
        if found is None:
            return response({"ret_code": 404, "ret_msg": "no such path"}, 404)
        needed, data = LISTS[found[1]]
        if needed not in scopes.split():
            return response({"ret_code": 403, "ret_msg": f"needs {needed}"}, 403)
        last = {"has_more": False, "next_key": "-1", "total": 0}
        envelope = {"ret_code": 0, "code": 0, "ret_msg": "success"}
        return response({**envelope, "data": data, "pagination": last})


def challenge_of(verifier):
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
