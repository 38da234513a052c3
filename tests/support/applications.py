"""Web applications for tests, and the logins of their users."""

import asyncio
import inspect

import boardlot as bl

from .stores import DictStore

REDIRECT = "https://app.example.com/callback"
KINDS = [bl.OAuthApp, bl.AsyncOAuthApp]


def application(server, store=None, kind=bl.OAuthApp, confidential=True, **options):
    """An application that has just been registered."""
    base_url = getattr(server, "base_url", server)
    registered = bl.register_client(base_url, redirect_uris=[REDIRECT], confidential=confidential)
    options = {
        "redirect_uri": REDIRECT,
        "client_secret": registered.client_secret,
        "store": DictStore() if store is None else store,
        **options,
    }
    return kind(base_url, registered.client_id, **options)


def session_of(begun):
    """The data that an application keeps of a login that was begun."""
    return {"state": begun.state, "code_verifier": begun.code_verifier}


def fetch(app, callback_url, begun, user="alice", **session):
    """The result or error of `fetch_token`, in either class."""
    return outcome(app.fetch_token(callback_url, **{**session_of(begun), **session}, user=user))


def auth_of(app, user="alice"):
    """The result or error of `auth`, in either class."""
    return outcome(app.auth(user=user))


def outcome(found):
    return asyncio.run(awaited(found)) if inspect.isawaitable(found) else found


async def awaited(awaitable):
    return await awaitable


def consent(server, url, scopes=None):
    """The user agrees on the page of `url`; returns the callback URL."""
    if isinstance(server, bl.Sandbox):
        return server.authorize_demo_user(url, scopes)
    return server.authorize(url, scopes)


def log_in(server, app, user="alice", scopes=None):
    """A whole login of a user."""
    begun = app.authorization_url()
    return fetch(app, consent(server, begun.url, scopes), begun, user)


def populate(store, users, user="alice"):
    """Copies the stored tokens of one user for others, as if each of them had logged in."""
    ((key, data),) = [(key, data) for key, data in store.kept.items() if key.endswith(f" {user}")]
    for other in users:
        stored = data.replace(f'"user":"{user}"'.encode(), f'"user":"{other}"'.encode())
        assert stored != data
        store.kept[key.removesuffix(user) + other] = stored
