"""The service's OAuth endpoints, written by hand from section 4.1 of the document.

They hold the client to the document's rules: exact redirect URI, PKCE with S256, codes that work
once, the named parameters and no others twice.
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from .service import StandInService, response

SCOPES = ("quote:read", "quote:write", "trade:read", "trade:write", "accid:*")
AUTHORIZE = {
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_type",
    "state",
}
CODE_GRANT = {"grant_type", "code", "client_id", "redirect_uri", "code_verifier"}
REFRESH_GRANT = {"grant_type", "refresh_token", "client_id", "client_secret"}
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
FUTURES = re.compile(r"/api/v1\.0/quote/([^/]+)/reference-future")
PLATE = re.compile(r"/api/v1\.0/quote/plate/([^/]+)/stock")
SIM_ORDERS = re.compile(r"/api/v1\.0/sim-trade/([^/]+)/orders")


@dataclass
class Registered:
    client_id: str
    redirect_uris: list
    secret: str | None


@dataclass
class Code:
    client_id: str
    redirect_uri: str
    challenge: str
    scopes: str
    expires: float
    tokens: list | None = None


@dataclass
class Token:
    client_id: str
    scopes: str
    expires: float


class Refused(Exception):
    """A request that breaks the document's rules: status and OAuth error."""

    def __init__(self, error, description="", status=400):
        super().__init__(error, description)
        self.error, self.description, self.status = error, description, status


class AuthorizationServer(StandInService):
    """The service's OAuth endpoints, and three endpoints that a token opens.

    The kinds of its requests are `register`, `authorize`, `authorization_code`, `refresh_token`,
    `clock` and `api`. All attributes may be set while it runs. `rejection` is the response to an
    access token that is not valid: status, headers and body.
    """

    def __init__(self):
        super().__init__(self._respond)
        self.token_lifetime = 7200
        self.scopes = " ".join(SCOPES)
        self.rejection = 401, {}, {"ret_code": 401, "ret_msg": "no valid token"}
        self.client_id = lambda: "client-" + secrets.token_hex(8)
        self.complaints = []
        self.clients = {}
        self.codes = {}
        self.access = {}
        self.refresh = {}
        self.secrets = set()

    def kind_of(self, request):
        if request.path == "/oauth2/token" and request.method == "POST":
            grants = dict(parse_qsl(request.body.decode("latin-1")))
            return grants.get("grant_type", "token without grant")
        known = {
            ("POST", "/oauth2/register"): "register",
            ("GET", "/oauth2/authorize/confirm"): "authorize",
            ("GET", "/api/v1.0/server-time"): "clock",
        }
        other = "api" if request.path.startswith("/api/") else "elsewhere"
        return known.get((request.method, request.path), other)

    # What a test does by hand.

    def expire(self):
        """All access tokens run out at once, before the time that they were issued for."""
        with self._lock:
            for token in self.access.values():
                token.expires = 0.0

    def register(self, redirect_uri, method="none"):
        """Registers a client by hand; returns its record."""
        request = {"redirect_uris": [redirect_uri], "token_endpoint_auth_method": method}
        return self._register(request)

    def authorize(self, url, scopes=None):
        """The user agrees to what `url` requests; returns the callback URL."""
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == self.base_url, url
        assert parts.path == "/oauth2/authorize/confirm" and not parts.fragment, url
        query = self._checked_authorization(parts.query)
        code = secrets.token_urlsafe(24)
        with self._lock:
            self.secrets.add(code)
            self.codes[code] = Code(
                query["client_id"],
                query["redirect_uri"],
                query["code_challenge"],
                " ".join(scopes) if scopes is not None else self.scopes,
                time.time() + 300,
            )
        return query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"]})

    # What the requests do.

    def _respond(self, request):
        kind = self.kind_of(request)
        try:
            status, headers, body = self._right_response(kind, request)
        except Refused as refusal:
            refused = refusal
        except Exception as error:
            refused = Refused("invalid_request", repr(error))
        else:
            return response(body, status, headers)
        with self._lock:
            self.complaints.append((kind, refused.error, refused.description))
        body = {"error": refused.error, "error_description": refused.description}
        return response(body, refused.status)

    def _right_response(self, kind, request):
        if kind == "authorize":
            url = f"{self.base_url}{request.path}?{request.query}"
            return 302, {"Location": self.authorize(url)}, b""
        if kind == "register":
            assert request.header("Content-Type").startswith("application/json")
            return 201, {}, self._register(json.loads(request.body))
        if kind in ("authorization_code", "refresh_token"):
            return 200, {"Cache-Control": "no-store"}, self._token(request)
        if kind == "clock":
            return 200, {}, {"server_time_ms": str(int(time.time() * 1000))}
        return self._api(request)

    def _register(self, request):
        for uri in request["redirect_uris"]:
            if urlsplit(uri).fragment or not urlsplit(uri).scheme:
                raise Refused("invalid_redirect_uri")
        confidential = request.get("token_endpoint_auth_method") == "client_secret_post"
        secret = secrets.token_urlsafe(24) if confidential else None
        record = Registered(self.client_id(), list(request["redirect_uris"]), secret)
        management = secrets.token_urlsafe(24)
        with self._lock:
            self.clients[record.client_id] = record
            self.secrets.update({management, secret} - {None})
        body = {
            "client_id": record.client_id,
            "client_id_issued_at": int(time.time()),
            "client_name": request.get("client_name", ""),
            "redirect_uris": record.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": request.get("token_endpoint_auth_method", "none"),
            "response_types": ["code"],
            "registration_access_token": management,
            "registration_client_uri": f"{self.base_url}/oauth2/register/{record.client_id}",
            "scope": " ".join(SCOPES),
            "pkce_required": True,
        }
        return body | ({"client_secret": secret} if secret else {})

    def _checked_authorization(self, raw):
        pairs = parse_qsl(raw, keep_blank_values=True, strict_parsing=True)
        query = dict(pairs)
        if len(pairs) != len(query) or not set(query) >= AUTHORIZE:
            raise Refused("invalid_request", f"parameters: {sorted(name for name, _ in pairs)}")
        client = self.clients.get(query["client_id"])
        if client is None or query["redirect_uri"] not in client.redirect_uris:
            raise Refused("invalid_request", "unknown client or redirect URI")
        if query["response_type"] != "code" or query["code_challenge_method"] != "S256":
            raise Refused("invalid_request", "response type or method")
        if not CHALLENGE.fullmatch(query["code_challenge"]) or not query["state"]:
            raise Refused("invalid_request", "challenge or state")
        return query

    def _token(self, request):
        kind = request.header("Content-Type") or ""
        if kind.split(";")[0].strip() != "application/x-www-form-urlencoded" or request.query:
            raise Refused("invalid_request", f"content type {kind!r}, query {request.query!r}")
        if request.header("Authorization") is not None:
            raise Refused("invalid_request", "credentials in two places")
        form = request.form
        with self._lock:
            client = self.clients.get(form.get("client_id"))
            if client is None:
                raise Refused("invalid_client", status=401)
            if form["grant_type"] == "authorization_code":
                return self._exchange(form, client)
            return self._refresh(form, client)

    def _exchange(self, form, client):
        self.secrets.add(form.get("code_verifier", ""))
        self.secrets.discard("")
        code = self.codes.get(form.get("code"))
        # The document does not name the secret here; RFC 6749, section 4.1.3 does.
        sent = form.get("client_secret")
        if set(form) - {"client_secret"} != CODE_GRANT:
            raise Refused("invalid_request", f"fields: {sorted(form)}")
        if sent is not None and sent != client.secret:
            raise Refused("invalid_client", status=401)
        if code is None or code.client_id != form["client_id"] or code.expires < time.time():
            raise Refused("invalid_grant", "unknown or expired code")
        if code.redirect_uri != form["redirect_uri"]:
            raise Refused("invalid_grant", "another redirect URI")
        if not hmac.compare_digest(challenge_of(form["code_verifier"]), code.challenge):
            raise Refused("invalid_grant", "the verifier does not fit")
        if code.tokens is not None:
            for token in code.tokens:
                self.access.pop(token, None)
                self.refresh.pop(token, None)
            raise Refused("invalid_grant", "code used twice")
        tokens = self._issue(form["client_id"], code.scopes)
        refresh_token = "refresh-" + secrets.token_urlsafe(24)
        self.refresh[refresh_token] = (form["client_id"], code.scopes)
        self.secrets.add(refresh_token)
        code.tokens = [tokens["access_token"], refresh_token]
        return tokens | {"refresh_token": refresh_token}

    def _refresh(self, form, client):
        if set(form) - REFRESH_GRANT or "refresh_token" not in form:
            raise Refused("invalid_request", f"fields: {sorted(form)}")
        if client.secret is not None and form.get("client_secret") != client.secret:
            raise Refused("invalid_client", status=401)
        owner, scopes = self.refresh.get(form["refresh_token"], (None, ""))
        if owner != client.client_id:
            raise Refused("invalid_grant", "unknown refresh token")
        return self._issue(owner, scopes)

    def _issue(self, client_id, scopes):
        token = "access-" + secrets.token_urlsafe(24)
        self.access[token] = Token(client_id, scopes, time.time() + self.token_lifetime)
        self.secrets.add(token)
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": self.token_lifetime,
            "scope": scopes,
        }

    def _api(self, request):
        scheme, _, token = (request.header("Authorization") or "").partition(" ")
        with self._lock:
            known = self.access.get(token)
        if scheme != "Bearer" or known is None or known.expires <= time.time():
            return self.rejection
        needed, data = None, {}
        if FUTURES.fullmatch(request.path):
            needed, data = "quote:read", {"reference_list": []}
        elif SIM_ORDERS.fullmatch(request.path):
            needed, data = "trade:read", {"orders": []}
        elif PLATE.fullmatch(request.path):
            needed, data = "quote:read", {"stock_list": []}
        else:
            return 404, {}, {"ret_code": 404, "ret_msg": "no such path"}
        if needed not in known.scopes.split():
            return 403, {}, {"ret_code": 403, "ret_msg": f"needs {needed}"}
        if "stock_list" in data:
            last = {"has_more": False, "next_key": "-1", "total": 0}
            return 200, {}, {"code": 0, "data": data, "pagination": last}
        return 200, {}, {"ret_code": 0, "ret_msg": "success", "data": data}


def challenge_of(verifier):
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
