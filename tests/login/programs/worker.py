"""A worker of an application: calls the service for each user that it reads from stdin."""

import sys

import boardlot as bl

from tests.login.test_web_app_stores import store_of

base_url, client_id, secret, kind, place = sys.argv[1:]
sys.path.insert(0, "examples")
app = bl.OAuthApp(
    base_url,
    client_id,
    redirect_uri="https://app.example.com/callback",
    client_secret=secret,
    store=store_of(kind, place),
)
print("ready", flush=True)
while user := sys.stdin.readline().strip():
    try:
        with bl.Client(base_url, auth=app.auth(user=user), timeout=90.0) as client:
            print(*{len(client.reference_futures("HK.HSImain")) for _ in range(5)}, flush=True)
    except bl.BoardlotError as error:
        print(type(error).__name__, flush=True)
