"""Logins with the authorization server, with a pasted callback or a waiting listener."""

from concurrent.futures import ThreadPoolExecutor

import boardlot as bl

from .callbacks import closed, listener_address, visit
from .clients import client_of

SYMBOL = "HK.HSImain"


def begin(server, store=None, **options):
    """A login that has been begun and waits for its callback."""
    options = {"timeout": 90.0, **options}
    store = bl.MemoryStore() if store is None else store
    return bl.begin_login(getattr(server, "base_url", server), store=store, **options)


def sign_in(server, store=None, scopes=None, **options):
    """A whole login by pasted callback; returns the credential."""
    flow = begin(server, store, **options)
    return flow.finish(server.authorize(flow.url, scopes))


def demo_login(sandbox, store=None, scopes=None, **options):
    """A whole login of the sandbox's demo user, who allows what is requested."""
    store = bl.MemoryStore() if store is None else store
    flow = bl.begin_login(sandbox.base_url, store=store, **options)
    return flow.finish(sandbox.authorize_demo_user(flow.url, scopes))


def quotes(client):
    return client.reference_futures(SYMBOL)


def in_a_thread(work):
    """Starts a blocking call in a thread of its own, so that the test can play the browser; returns
    its future."""
    pool = ThreadPoolExecutor(1)
    call = pool.submit(work)
    pool.shutdown(wait=False)
    return call


def waiting(flow):
    return in_a_thread(flow.wait)


def finish_for_real(server, flow, login):
    """Checks that the real callback still works, whatever came before it."""
    status, _, _ = visit(server.authorize(flow.url))
    assert status == 200
    oauth = login.result(90)
    assert list(quotes(client_of(server, oauth))) == []
    assert server.counts["authorization_code"] == 1
    assert closed(listener_address(flow)[0])
    return oauth


def callback_query(server, flow):
    return server.authorize(flow.url).partition("?")[2]


def scopes_of(oauth):
    scopes = oauth.scopes
    return set(scopes.split()) if isinstance(scopes, str) else set(scopes)


def tells_to_log_in(error):
    """True if an error's words send the user to a new login."""
    text = f"{error} {getattr(error, 'hint', '')}".lower()
    return any(words in text for words in ("log in", "login", "sign in"))


def expired_login(server, end="found out", store=None, **options):
    """A login whose access token has expired, at the end of its "lifetime" or earlier."""
    server.token_lifetime = 0 if end == "lifetime" else 3600
    oauth = sign_in(server, store, **options)
    server.token_lifetime = 3600
    server.expire()
    return oauth


def expired_client(server, store=None, refresh=None, **options):
    """A client whose access token was found to have expired; `refresh` is how its refresh fails."""
    client = client_of(server, expired_login(server, store=store), **options)
    if refresh is not None:
        server.faults["refresh_token"] = refresh
    return client
