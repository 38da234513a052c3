"""Promise 13: no environment variable supplies a token, key or passphrase."""

import re
import shutil
import subprocess

import boardlot as bl
import pytest

from ..support.processes import run_python

CANARY = "canary-7f1e0c55d2"
ENVIRONMENT = [
    *("TOKEN", "ACCESS_TOKEN", "REFRESH_TOKEN", "BEARER_TOKEN", "API_KEY", "APP_KEY", "KEY"),
    *("KEY_ID", "PRIVATE_KEY", "SECRET", "CLIENT_SECRET", "PASSPHRASE", "PASSWORD", "AUTH"),
    *("CREDENTIALS", "STORE", "STORE_PASSPHRASE", "BASE_URL", "PROFILE", "CLIENT_ID", "KEYRING"),
]
HOSTILE = {f"{prefix}{name}": CANARY for prefix in ("BOARDLOT_", "BL_", "") for name in ENVIRONMENT}
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


SPY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
static void note(const char *name) {
    static int out = -1;
    if (out < 0)
        for (char **each = environ; each && *each; each++)
            if (!strncmp(*each, "SPY_OUT=", 8))
                out = open(*each + 8, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out >= 0 && write(out, name, strlen(name)) > 0 && write(out, "\n", 1) > 0) return;
}
char *getenv(const char *name) {
    static char *(*real)(const char *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getenv");
    note(name);
    return real(name);
}
char *secure_getenv(const char *name) { return getenv(name); }
"""
RECORDING = """
    import os
    class Recording(type(os.environ)):
        def __getitem__(self, name):
            with open(self["SPY_OUT"] if name != "SPY_OUT" else os.devnull, "a") as out:
                out.write(f"{name}\\n")
            return super().__getitem__(name)
    os.environ.__class__ = Recording
    """
SECRET_NAME = re.compile(
    r"token|secret|pass(word|phrase)?|api_?key|private|credential|bearer", re.I
)


def test_security_13_no_variable_is_even_read_for_a_secret(server, place, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to watch the calls of getenv")
    (tmp_path / "spy.c").write_text(SPY)
    library, noted = tmp_path / "spy.so", tmp_path / "noted"
    command = [compiler, "-shared", "-fPIC", "-o", library, tmp_path / "spy.c", "-ldl"]
    subprocess.run(command, check=True)
    spied = {"LD_PRELOAD": str(library), "SPY_OUT": str(noted), **HOSTILE}
    run_python(RECORDING + ASKING, server.base_url, place, env=spied)
    names = set(noted.read_text().splitlines())
    assert len(names) > 3, "the spy saw nothing"
    assert not [name for name in names if SECRET_NAME.search(name)]
    assert not [name for name in names if name in HOSTILE]
