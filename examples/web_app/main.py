"""Sets the example up and runs it with several workers.

python examples/web_app/main.py setup FOLDER --base-url https://api.example.com \
    --redirect-uri http://127.0.0.1:8000/callback
python examples/web_app/main.py run FOLDER --workers 4
"""

import argparse
import base64
import json
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import boardlot as bl
import uvicorn


def set_up(folder: Path, base_url: str, redirect_uri: str) -> None:
    """Registers the application, once, and creates the key of its store."""
    folder.mkdir(mode=0o700, parents=True)
    registration = bl.register_client(
        base_url, redirect_uris=[redirect_uri], client_name="Example", confidential=True
    )
    settings = {
        "base_url": base_url,
        "redirect_uri": redirect_uri,
        "client_id": registration.client_id,
        "client_secret": registration.client_secret,
    }
    write_private(folder / "client.json", json.dumps(settings))
    write_private(folder / "store.key", base64.b64encode(secrets.token_bytes(32)).decode())


def write_private(path: Path, text: str) -> None:
    """A new file that only this user can read. In production, use your secret manager."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text)


def run(folder: Path, host: str, port: int | None, workers: int) -> None:
    """Serves at this address. Users see that of the redirect URI, which is often a proxy's."""
    settings: dict[str, str] = json.loads((folder / "client.json").read_text())
    port = port or urlsplit(settings["redirect_uri"]).port or 8000
    # A path, not a secret: the workers are processes of their own.
    os.environ["WEB_APP_FOLDER"] = str(folder.resolve())
    uvicorn.run(
        "web_app.app:create_app",
        factory=True,
        app_dir=str(Path(__file__).parents[1]),
        host=host,
        port=port,
        workers=workers,
        # A request's line contains the code of a callback.
        access_log=False,
        log_level="warning",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    setup = commands.add_parser("setup")
    setup.add_argument("folder", type=Path)
    setup.add_argument("--base-url", required=True)
    setup.add_argument("--redirect-uri", required=True)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--host", default="127.0.0.1")
    running.add_argument("--port", type=int, help="by default that of the redirect URI, or 8000")
    running.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if given.command == "setup":
        set_up(given.folder, given.base_url, given.redirect_uri)
    else:
        run(given.folder, given.host, given.port, given.workers)


if __name__ == "__main__":
    main()
