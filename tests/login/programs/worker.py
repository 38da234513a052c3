"""A worker of an application: calls the service for each user that it reads from stdin."""

import sys
from importlib import import_module
from pathlib import Path

import boardlot as bl

base_url, client_id, secret, module, name, place = sys.argv[1:]
place = Path(place) if name == "SqliteStore" else place
sys.path.insert(0, "examples")
kind = getattr(import_module(f"web_app.{module}"), name)
app = bl.OAuthApp(
    base_url,
    client_id,
    redirect_uri="https://app.example.com/callback",
    client_secret=secret,
    store=kind(place, bytes(range(32))),
)
print("ready", flush=True)
while user := sys.stdin.readline().strip():
    try:
        with bl.Client(base_url, auth=app.auth(user=user), timeout=90.0) as client:
            print(*{len(client.reference_futures("HK.HSImain")) for _ in range(5)}, flush=True)
    except bl.BoardlotError as error:
        print(type(error).__name__, flush=True)
