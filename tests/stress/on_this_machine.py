"""Every operation in one process, before a sandbox of its own.

`python -m tests.stress.on_this_machine FOLDER` prints how each ends: "done", or the error with its
hint.
"""

import json
import os
import sys
from pathlib import Path

import boardlot as bl

from .jailed import Operations, outcome


def main(folder):
    os.environ["XDG_STATE_HOME"] = folder
    key = bl.generate_key()
    file = Path(folder) / "key.pem"
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(key.private_pem)
    with bl.Sandbox(seed=7, fills=200) as sandbox:
        key_id, account = sandbox.upload_key(key.public_pem), sandbox.accounts["trade"][0]
        operations = Operations(sandbox.base_url, account, key_id, file, folder)
        ends = {}
        for name in vars(Operations):
            if not name.startswith("_") and name != "client":
                ends[name] = outcome(getattr(operations, name)())
        archive = bl.Archive(Path(folder) / "fills.db")
        ends["rows"] = len(archive.fills(account, "HK").all())
    print(json.dumps(ends))


if __name__ == "__main__":
    main(*sys.argv[1:])
