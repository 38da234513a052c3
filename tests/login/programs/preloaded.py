"""A server that loads the application before it forks, as `gunicorn --preload` does."""

import os

import boardlot as bl

from tests.support.applications import application, log_in, session_of
from tests.support.processes import forked

with bl.Sandbox(seed=7) as sandbox:
    app = application(sandbox, bl.MemoryStore())
    log_in(sandbox, app, "alice")
    begun = app.authorization_url()
    callback = sandbox.authorize_demo_user(begun.url)

    def call(user):
        with bl.Client(sandbox.base_url, auth=app.auth(user=user)) as client:
            return len(client.dividends("HK.00700"))

    assert call("alice") > 0
    sandbox.revoke_tokens()

    def log_in_bob():
        app.fetch_token(callback, **session_of(begun), user="bob")
        call("bob")

    works = [log_in_bob, lambda: call("alice"), lambda: call("alice")]
    children = [forked(work) for work in works]
    print({os.waitpid(child, 0)[1] for child in children})
