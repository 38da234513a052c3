"""Promise 13: no environment variable supplies a token, key or passphrase."""

import boardlot as bl

from ..support.processes import run_python
from ..support.vectors import table

CANARY = "canary-7f1e0c55d2"
NAMES = table("hostile")["variables"].split()
HOSTILE = {f"{prefix}{name}": CANARY for prefix in ("BOARDLOT_", "BL_", "") for name in NAMES}
ASKING = """
    import sys
    import boardlot as bl
    base_url, path = sys.argv[1:]
    results = []
    def tried(work):
        try:
            results.append(type(work()).__name__)
        except Exception as error:
            results.append(type(error).__name__)
    def call(**options):
        with bl.Client(base_url, max_retries=0, timeout=5.0, **options) as client:
            return client.reference_futures("HK.HSImain")
    tried(lambda: call())
    tried(lambda: call(auth=bl.OAuth("client-1", store=bl.MemoryStore())))
    tried(lambda: bl.EncryptedFileStore(path))
    tried(lambda: bl.EncryptedFileStore(path, None).load("k"))
    tried(lambda: bl.EncryptedFileStore(path, "").load("k"))
    tried(lambda: bl.EncryptedFileStore(path, lambda: None).load("k"))
    tried(lambda: bl.BearerToken(None))
    tried(lambda: bl.ApiKey("id", None))
    tried(lambda: bl.Client())
    print(*results)
    """


def test_security_13_the_environment_supplies_no_secret(server, place):
    bl.EncryptedFileStore(place, CANARY).save("k", b"value")
    out, _ = run_python(ASKING, server.base_url, place, env=HOSTILE)
    with_hostile = out
    out, _ = run_python(ASKING, server.base_url, place)
    assert with_hostile == out
    assert not set(out.split()) & {"bytes", "BearerToken", "ApiKey", "Client", "Records"}
    assert not any(CANARY.encode() in seen.everything for seen in server.received)
