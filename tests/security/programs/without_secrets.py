"""Each call that needs a secret, without one: the class of what it returns or raises."""

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
