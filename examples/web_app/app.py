"""A web application whose users see their fills. `main.py` sets it up and runs it.

Its endpoints are plain functions, which Starlette runs on threads: neither the store nor the
service makes the event loop wait.
"""

import base64
import html
import json
import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boardlot as bl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from .sessions import LIFETIME_SECONDS, Sessions
from .token_store import SqliteStore

FILLS_SHOWN = 20
COLUMNS = ["code", "trd_side", "qty", "price"]
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    # The URL of the callback contains the code: no other site sees it.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def create_app() -> Starlette:
    """Called by each worker. The folder has the client's secret, the store's key and the data."""
    folder = Path(os.environ["WEB_APP_FOLDER"])
    settings: dict[str, str] = json.loads((folder / "client.json").read_text())
    store = SqliteStore(folder / "tokens.db", base64.b64decode((folder / "store.key").read_text()))
    pages = Pages(settings, store, Sessions(folder / "sessions.db"))
    routes = [
        Route("/", pages.home),
        Route("/login", pages.login, methods=["POST"]),
        Route(urlsplit(settings["redirect_uri"]).path, pages.callback),
        Route("/fills", pages.fills),
        Route("/logout", pages.logout, methods=["POST"]),
    ]
    host = urlsplit(settings["redirect_uri"]).hostname or ""
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[host], www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts])


class Pages:
    """What the browser sees: its cookie is a random id, and no page contains a token."""

    def __init__(self, settings: dict[str, str], store: SqliteStore, sessions: Sessions) -> None:
        self._base_url = settings["base_url"]
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(settings["redirect_uri"]))
        self._app = bl.OAuthApp(
            self._base_url,
            settings["client_id"],
            redirect_uri=settings["redirect_uri"],
            client_secret=settings["client_secret"],
            store=store,
        )
        self._client: dict[str, Any] = {
            "client_id": settings["client_id"],
            "client_secret": settings["client_secret"],
            "base_url": self._base_url,
            "store": store,
        }
        self._sessions = sessions
        self._secure = self._origin.startswith("https:")
        # A cookie with this prefix is only sent to this very host, over https.
        self._cookie = "__Host-session" if self._secure else "session"

    def home(self, request: Request) -> Response:
        user = self._sessions.read(request.cookies.get(self._cookie)).get("user")
        if user is None:
            return page("Welcome", form("/login", "Log in"))
        try:
            scopes = self._app.auth(user=user).scopes
        except bl.LoginRequired:
            return page("Your login has ended", form("/login", "Log in again"))
        except bl.BoardlotError:
            return page("Your login cannot be read", form("/login", "Log in again"), 503)
        granted = "".join(f"<li>{html.escape(scope)}</li>" for scope in sorted(scopes))
        question = (
            '<form action="/fills"><label>Account <input name="account" required></label>'
            " <button>Show fills</button></form>"
        )
        return page(
            "You are logged in", f"<ul>{granted}</ul>{question}{form('/logout', 'Log out')}"
        )

    def login(self, request: Request) -> Response:
        """Begins a login. The state and the code verifier stay on the server."""
        if not self._is_own(request):
            return refused()
        # If the store fails, the old session is replaced all the same.
        self._end_session(request)
        self._log_out_expired()
        begun = self._app.authorization_url()
        session = {"state": begun.state, "code_verifier": begun.code_verifier}
        return self._with_session(RedirectResponse(begun.url, 303, HEADERS), session)

    def callback(self, request: Request) -> Response:
        """Completes a login, which may have begun in another worker."""
        # Starlette adds HEAD to every GET. A link preview must not use the code up.
        if request.method != "GET":
            return Response(status_code=405, headers={**HEADERS, "Allow": "GET"})
        session_id = request.cookies.get(self._cookie)
        session = self._sessions.read(session_id)
        # Ended before the exchange: it is good for one try. A callback that somebody forged ends
        # neither a login nor one in progress.
        if not is_same(session.get("state"), request.query_params.getlist("state")):
            return page("The login failed", f"<p>Please try again.</p>{LOG_IN}", 400)
        session = self._sessions.end(session_id)
        # An application with accounts of its own takes the account that is signed in.
        user = secrets.token_urlsafe(16)
        try:
            self._app.fetch_token(
                f"{request.url.path}?{request.url.query}",
                state=session.get("state"),
                code_verifier=session.get("code_verifier"),
                user=user,
            )
        except bl.OAuthError as error:
            # What the service sent is not shown: anyone can write a callback.
            why = "You did not allow it." if error.error == "access_denied" else "Please try again."
            return page("The login failed", f"<p>{why}</p>{LOG_IN}", 400)
        except bl.BoardlotError:
            return page("The service cannot be reached", form("/login", "Try again"), 502)
        # To another page, so that the code leaves the address bar; with a new id, so that nobody
        # who knew the old one is logged in too.
        return self._with_session(RedirectResponse("/", 303, HEADERS), {"user": user})

    def fills(self, request: Request) -> Response:
        user = self._sessions.read(request.cookies.get(self._cookie)).get("user")
        account = request.query_params.get("account", "")
        if user is None:
            return RedirectResponse("/", 303, HEADERS)
        try:
            with bl.Client(self._base_url, auth=self._app.auth(user=user)) as client:
                fills = client.fills_history(account, "HK").all(max_items=FILLS_SHOWN)
        except bl.LoginRequired:
            return RedirectResponse("/", 303, HEADERS)
        except bl.BoardlotError as error:
            title, status = next(
                shown for kind, shown in FAILURES.items() if isinstance(error, kind)
            )
            return page(title, BACK, status)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(fill.get(name)))}</td>" for name in COLUMNS)
            for fill in fills
        )
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        return page(f"Fills of {account}", f"<table><tr>{head}</tr>{rows}</table>{BACK}")

    def logout(self, request: Request) -> Response:
        if not self._is_own(request):
            return refused()
        if not self._end_session(request):
            return not_logged_out()
        response = RedirectResponse("/", 303, HEADERS)
        response.delete_cookie(self._cookie, secure=self._secure, httponly=True, samesite="lax")
        return response

    def _end_session(self, request: Request) -> bool:
        """Deletes the tokens of its user and then the session; False if the store fails."""
        session_id = request.cookies.get(self._cookie)
        user = self._sessions.read(session_id).get("user")
        try:
            if user is not None:
                # Unlike `self._app.auth`, also if the service has ended the login.
                bl.OAuth(user=user, **self._client).logout()
        except bl.BoardlotError:
            # The session is kept, so that the user can try again.
            return False
        self._sessions.end(session_id)
        return True

    def _log_out_expired(self) -> None:
        """Deletes the tokens of users whose sessions have ended by themselves."""
        for row_id, session in self._sessions.expired():
            try:
                if user := session.get("user"):
                    bl.OAuth(user=user, **self._client).logout()
            except bl.BoardlotError:
                # It is kept, so that the next login tries again.
                continue
            self._sessions.forget(row_id)

    def _with_session(self, response: Response, session: dict[str, str]) -> Response:
        response.set_cookie(
            self._cookie,
            self._sessions.create(session),
            max_age=int(LIFETIME_SECONDS),
            secure=self._secure,
            httponly=True,
            # The service's redirect back is a top-level GET, which "lax" allows.
            samesite="lax",
        )
        return response

    def _is_own(self, request: Request) -> bool:
        """Whether a form of this application was submitted, not one of another site."""
        return request.headers.get("origin") == self._origin


# The first class that fits.
FAILURES: dict[type[bl.BoardlotError], tuple[str, int]] = {
    bl.PermissionDenied: ("You have not allowed this account", 403),
    bl.InvalidParameter: ("That is not the number of an account", 400),
    bl.ConfigError: ("That is not the number of an account", 400),
    bl.RateLimited: ("The service is busy", 503),
    bl.ServiceError: ("The service failed", 502),
    bl.ApiError: ("The service rejected the request", 400),
    bl.StoreError: ("Your login cannot be read", 503),
    bl.BoardlotError: ("The service cannot be reached", 502),
}
BACK = '<p><a href="/">Back</a></p>'


LOG_IN = '<form method="post" action="/login"><button>Log in</button></form>'


def is_same(state: str | None, received: list[str]) -> bool:
    """Whether the callback has the state of this session, once."""
    if state is None or len(received) != 1:
        return False
    return secrets.compare_digest(state.encode(), received[0].encode())


def page(title: str, body: str, status: int = 200) -> Response:
    title = html.escape(title)
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{title}</title><h1>{title}</h1>{body}</html>"
    )
    return HTMLResponse(text, status, HEADERS)


def form(action: str, label: str) -> str:
    return f'<form method="post" action="{action}"><button>{label}</button></form>'


def refused() -> Response:
    return page("That form is not of this application", BACK, 403)


def not_logged_out() -> Response:
    return page("You are not logged out: try again later", BACK, 503)
