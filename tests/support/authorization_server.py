"""An authorization server over loopback, written by hand from section 4.1 of the document.

It holds the client to the document's rules (exact redirect URI, PKCE with S256, codes that work
once, the named parameters and no others twice) and misbehaves on demand. Standard library only.
"""

import base64
import collections
import hashlib
import hmac
import json
import re
import secrets
import threading
import time
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode, urlsplit

from .authorization_http import Fault, kind_of, told_back
from .scripted_server import Answer, ScriptedServer, answer

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


class AuthorizationServer(ScriptedServer):
    """The service's OAuth endpoints, and two endpoints that a token opens.

    `faults[name]` is a list of `Fault`, used up one a request, or one `Fault` for all of them;
    the names are `register`, `authorization_code`, `refresh_token` and `api`. All attributes may
    be set while it runs. `rejection` is the response to an access token that is not valid: status,
    headers and body.
    """

    def __init__(self):
        super().__init__(self._respond)
        self.token_lifetime = 7200
        self.scopes = " ".join(SCOPES)
        self.faults = {}
        self.rejection = 401, {}, {"ret_code": 401, "ret_msg": "no valid token"}
        self.client_id = lambda: "client-" + secrets.token_hex(8)
        self.counts = collections.Counter()
        self.seen = []
        self.complaints = []
        self.clients = {}
        self.codes = {}
        self.access = {}
        self.refresh = {}
        self.secrets = set()
        self._lock = threading.RLock()

    # What a test does by hand.

    def expire(self):
        """All access tokens run out at once, before the time that was told."""
        with self._lock:
            for token in self.access.values():
                token.expires = 0.0

    def register(self, redirect_uri, method="none"):
        """A client that was registered by hand; gives its record."""
        request = {"redirect_uris": [redirect_uri], "token_endpoint_auth_method": method}
        return self._register(request)

    def authorize(self, url, scopes=None):
        """The user agrees to what `url` asks for; gives the callback URL."""
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

    def of(self, name):
        """The requests to one endpoint, by the names that `faults` takes."""
        return [seen for kind, seen in self.seen if kind == name]

    # What the requests do.

    def _respond(self, received):
        kind = kind_of(received)
        fault = self._next_fault(kind, received)
        time.sleep(fault.delay)
        if fault.until:
            fault.until.wait(60)
        if fault.drop:
            return Answer(drop=True)
        if fault.raw is not None:
            return Answer(raw=fault.raw(received))
        if fault.echo:
            description = told_back(received, fault.spell)
            fault = replace(fault, error="invalid_request", description=description)
        if fault.error is not None:
            told = {"error": fault.error, "error_description": fault.description}
            return answer(json.dumps(told), fault.status or 400)
        if fault.body is not None or fault.status is not None:
            body = b"<html>busy</html>" if fault.body is None else fault.body
            return answer(body, fault.status or 200, fault.headers)
        status, headers, told = self.answer(kind, received)
        if fault.lost:
            return Answer(drop=True)
        if isinstance(told, dict) and fault.change:
            told = {**told, **fault.change}
            told = {name: value for name, value in told.items() if value is not None}
        return answer(told if isinstance(told, bytes) else json.dumps(told), status, headers)

    def _next_fault(self, kind, seen):
        with self._lock:
            self.counts[kind] += 1
            self.seen.append((kind, seen))
            told = self.faults.get(kind)
            if isinstance(told, list):
                return told.pop(0) if told else Fault()
            return told or Fault()

    def answer(self, kind, seen):
        """Status, headers and body of the right answer."""
        try:
            return self._right_answer(kind, seen)
        except Refused as refusal:
            refused = refusal
        except Exception as error:
            refused = Refused("invalid_request", repr(error))
        with self._lock:
            self.complaints.append((kind, refused.error, refused.description))
        body = {"error": refused.error, "error_description": refused.description}
        return refused.status, {}, body

    def _right_answer(self, kind, seen):
        if kind == "authorize":
            url = f"{self.base_url}{seen.path}?{seen.query}"
            return 302, {"Location": self.authorize(url)}, b""
        if kind == "register":
            assert seen.header("Content-Type").startswith("application/json")
            return 201, {}, self._register(json.loads(seen.body))
        if kind in ("authorization_code", "refresh_token"):
            return 200, {"Cache-Control": "no-store"}, self._token(seen)
        if kind == "clock":
            return 200, {}, {"server_time_ms": str(int(time.time() * 1000))}
        return self._api(seen)

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
        told = {
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
        return told | ({"client_secret": secret} if secret else {})

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

    def _token(self, seen):
        kind = seen.header("Content-Type") or ""
        if kind.split(";")[0].strip() != "application/x-www-form-urlencoded" or seen.query:
            raise Refused("invalid_request", f"content type {kind!r}, query {seen.query!r}")
        form = seen.form
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
        told = self._issue(form["client_id"], code.scopes)
        refresh_token = "refresh-" + secrets.token_urlsafe(24)
        self.refresh[refresh_token] = (form["client_id"], code.scopes)
        self.secrets.add(refresh_token)
        code.tokens = [told["access_token"], refresh_token]
        return told | {"refresh_token": refresh_token}

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

    def _api(self, seen):
        scheme, _, token = (seen.header("Authorization") or "").partition(" ")
        with self._lock:
            known = self.access.get(token)
        if scheme != "Bearer" or known is None or known.expires <= time.time():
            return self.rejection
        needed, data = None, {}
        if FUTURES.fullmatch(seen.path):
            needed, data = "quote:read", {"reference_list": []}
        elif SIM_ORDERS.fullmatch(seen.path):
            needed, data = "trade:read", {"orders": []}
        elif PLATE.fullmatch(seen.path):
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
