"""Promise 13: no environment variable supplies a token, key or passphrase."""

import boardlot as bl

from ..support.processes import program, run_python
from ..support.vectors import table

CANARY = "canary-7f1e0c55d2"
NAMES = table("hostile")["variables"].split()
HOSTILE = {f"{prefix}{name}": CANARY for prefix in ("BOARDLOT_", "BL_", "") for name in NAMES}
ASKING = program(__file__, "without_secrets")


def test_security_13_the_environment_supplies_no_secret(server, place):
    bl.EncryptedFileStore(place, CANARY).save("k", b"value")
    out, _ = run_python(ASKING, server.base_url, place, env=HOSTILE)
    with_hostile = out
    out, _ = run_python(ASKING, server.base_url, place)
    assert with_hostile == out
    assert not set(out.split()) & {"bytes", "BearerToken", "ApiKey", "Client", "Records"}
    assert not any(CANARY.encode() in seen.everything for seen in server.received)
