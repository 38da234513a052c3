"""Credentials and stores that threads share."""

import contextlib
import random
import tempfile
import threading
import time
from pathlib import Path

import boardlot as bl

from .shared import Shared, refused, same

KEYS = [f"key {number}" for number in range(4)]


class ApiKey(Shared):
    algorithm = "Ed25519"

    def make(self):
        self.key = self.sandbox.api_key(self.algorithm)

    def operations(self):
        key = self.key
        return same(
            *(lambda: key.key_id, lambda: key.algorithm, key.public_key_pem, lambda: repr(key)),
            # Both algorithms sign the same bytes in the same way.
            lambda: key.sign(b"payload"),
            lambda: len(bl.Client(self.sandbox.base_url, auth=key).dividends("HK.00700")),
        )


class RsaKey(ApiKey):
    algorithm = "RSA-SHA256"


class BearerToken(Shared):
    def make(self):
        self.token = bl.BearerToken("token-of-nobody")

    def operations(self):
        client = bl.Client(self.sandbox.base_url, auth=self.token)
        return [
            *same(lambda: repr(self.token)),
            refused(bl.AuthenticationError, lambda: client.dividends("HK.00700")),
        ]


class GeneratedKey(Shared):
    def make(self):
        self.key = bl.generate_key()

    def operations(self):
        return [
            *same(
                *(lambda: self.key.private_pem, lambda: self.key.public_pem),
                lambda: repr(self.key),
                lambda: bl.signature_payload(1, "GET", "/", "a=1", b"body"),
            ),
            bl.generate_key,
        ]


class Revoked(Shared):
    """Tokens that are revoked now and then, and refreshed by whoever comes first."""

    def prepare(self):
        self.revoked = 0.0

    def revoke(self):
        self.sandbox.revoke_tokens()
        self.revoked = time.monotonic()

    def dividends(self, client):
        began = time.monotonic()
        try:
            assert client.dividends("HK.00700")
        except bl.AuthenticationError:
            # A call is repeated once: the token of a refresh that others began was revoked too.
            assert self.revoked > began - 1.0

    def dividends_of(self, *clients):
        calls = [lambda client=client: self.dividends(client) for client in clients]
        return [*calls * 20, self.revoke]


class OAuth(Revoked):
    def make(self):
        self.prepare()
        flow = bl.begin_login(self.sandbox.base_url, store=bl.MemoryStore())
        self.auth = flow.finish(self.sandbox.authorize_demo_user(flow.url))
        self.client = bl.Client(self.sandbox.base_url, auth=self.auth)

    def operations(self):
        auth = self.auth
        return [
            *same(
                *(lambda: auth.client_id, lambda: auth.base_url, lambda: auth.scopes),
                *(lambda: repr(auth), lambda: auth.expires_at.tzinfo),
            ),
            *self.dividends_of(self.client),
        ]


class LoginFlow(Shared):
    """A login that many wait for and that one finishes."""

    def make(self):
        self.flow = bl.begin_login(self.sandbox.base_url, store=bl.MemoryStore())
        self.callback = self.sandbox.authorize_demo_user(self.flow.url)
        self.lock, self.logins, self.finished = threading.Lock(), [], 0

    def operations(self):
        return [*same(lambda: self.flow.url, lambda: repr(self.flow)), self.finish_it, self.wait]

    def finish_it(self):
        with contextlib.suppress(bl.OAuthError):  # It is over.
            self.noted(self.flow.finish(self.callback))

    def wait(self):
        if self.logins:  # Else nobody might be left to finish it.
            self.noted(self.flow.wait())

    def noted(self, login):
        with self.lock:
            self.logins.append(login)

    def is_used_up(self):
        return len(self.logins) >= 10

    def finish(self):
        for login in self.logins:
            client = bl.Client(self.sandbox.base_url, auth=login)
            assert client.dividends("HK.00700")


class MemoryStore(Shared):
    """Whatever is loaded is whole and was saved under this very key."""

    def make(self):
        self.store = bl.MemoryStore()

    def operations(self):
        return [self.save, self.load, self.load, self.delete, *same(lambda: repr(self.store))]

    def save(self):
        key = random.choice(KEYS)
        self.store.save(key, f"{key} ".encode() * random.randint(1, 50))

    def load(self):
        key = random.choice(KEYS)
        found = self.store.load(key)
        assert found is None or found == f"{key} ".encode() * (len(found) // (len(key) + 1))

    def delete(self):
        self.store.delete(random.choice(KEYS))


class EncryptedFileStore(MemoryStore):
    def make(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "tokens"
        self.store = bl.EncryptedFileStore(self.path, lambda: "correct-horse-battery-staple")
        self.store.save(KEYS[0], KEYS[0].encode() + b" ")

    def operations(self):
        return [*super().operations(), *same(lambda: self.store.path)]

    def finish(self):
        self.folder.cleanup()


class OwnStore(Revoked):
    """Two logins of one custom store."""

    class Store(dict):
        def load(self, key):
            return self.get(key)

        def save(self, key, data):
            self[key] = data

        def delete(self, key):
            self.pop(key, None)

    def make(self):
        self.prepare()
        self.store = self.Store()
        flow = bl.begin_login(self.sandbox.base_url, store=self.store)
        self.login = flow.finish(self.sandbox.authorize_demo_user(flow.url))
        other = bl.OAuth(self.login.client_id, store=self.store, base_url=self.sandbox.base_url)
        self.clients = [bl.Client(self.sandbox.base_url, auth=auth) for auth in (self.login, other)]

    def operations(self):
        return self.dividends_of(*self.clients)


class OAuthApp(Shared):
    """An application whose threads start logins, and look for those of its users."""

    kind = bl.OAuthApp
    redirect_uri = "https://app.example.com/callback"

    def make(self):
        self.registration = bl.register_client(
            self.sandbox.base_url, redirect_uris=[self.redirect_uri], confidential=True
        )
        self.app = self.kind(
            self.sandbox.base_url,
            self.registration.client_id,
            redirect_uri=self.redirect_uri,
            client_secret=self.registration.client_secret,
            store=bl.MemoryStore(),
        )

    def operations(self):
        app, registration = self.app, self.registration
        return [
            *same(lambda: repr(app), lambda: repr(registration), lambda: app.client_id),
            *same(lambda: (registration.client_id, registration.redirect_uris)),
            self.start,
            refused(bl.LoginRequired, lambda: app.auth(user="nobody")),
        ]

    def start(self):
        request = self.app.authorization_url()
        assert f"state={request.state}" in request.url
        assert request.code_verifier not in repr(request)


class AsyncOAuthApp(OAuthApp):
    kind = bl.AsyncOAuthApp


CREDENTIALS = (
    *(ApiKey, RsaKey, BearerToken, GeneratedKey, OAuth, OAuthApp, AsyncOAuthApp, LoginFlow),
    *(MemoryStore, EncryptedFileStore, OwnStore),
)
