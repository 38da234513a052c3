"""`AsyncOAuthApp`: the logins of the users of a web application, awaited."""

from __future__ import annotations

from . import _core
from ._calls import explained
from ._core import OAuth


@explained
class AsyncOAuthApp(_core.AsyncOAuthApp):
    """Like `OAuthApp`, with `fetch_token` and `auth` awaited; for the arguments, see `OAuthApp`.

    >>> callback = "https://app.example.com/callback"
    >>> client_id = bl.register_client(sandbox.base_url, redirect_uris=[callback]).client_id
    >>> store = bl.MemoryStore()
    >>> app = bl.AsyncOAuthApp(sandbox.base_url, client_id, redirect_uri=callback, store=store)
    >>> request = app.authorization_url()
    >>> returned = sandbox.authorize_demo_user(request.url)  # what the user does in a browser
    >>> session = {"state": request.state, "code_verifier": request.code_verifier}
    >>> auth = await app.fetch_token(returned, **session, user="alice")
    >>> (await app.auth(user="alice")).user
    'alice'
    """

    async def fetch_token(
        self, callback_url: str, *, state: str | None, code_verifier: str | None, user: str
    ) -> OAuth:
        """Completes a login, and returns the user's `OAuth`; for the arguments, see
        `OAuthApp.fetch_token`. If the call is cancelled after the code was sent, the tokens are
        saved anyway.

        Raises `OAuthError`, `LoginRequired` or `StoreError`.
        """
        try:
            call = super().fetch_token(
                callback_url, state=state, code_verifier=code_verifier, user=user
            )
        finally:
            # Crash reporters show the variables of frames.
            del callback_url, state, code_verifier
        return await call

    async def auth(self, *, user: str) -> OAuth:
        """The credentials of `user`, who has logged in, in any process that has the store; see
        `OAuthApp.auth`. Raises `LoginRequired` if the store has no tokens of this user, and
        `StoreError` if it cannot be read.
        """
        return await super().auth(user=user)
