"""Promise 32: programs that create a client and then fork: workers of gunicorn, loky, Celery,
and a daemon."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from ..support.keys import uploaded_key
from ..support.processes import ROOT, program, run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
QUIET = {"PYTHONWARNINGS": "ignore"}
SANDBOX = {"fills": 120}
# The fork between two pages is tried with both kinds of key, in the short form, too.
algorithms = pytest.mark.parametrize(
    "algorithm", ["Ed25519", pytest.param("RSA-SHA256", marks=pytest.mark.slow)]
)

# Loaded once, in the process that forks; the client has been used there.
APPLICATION = """
import asyncio, json, os
import boardlot as bl
auth = bl.ApiKey({key_id!r}, {path!r})
client = bl.Client({url!r}, auth=auth)
awaited = bl.AsyncClient({url!r}, auth=auth)
LOADED_BY = os.getpid()
EXPECTED = [fill["deal_id"] for fill in client.fills_history("281756", "HK")]

def app(environ, start_response):
    assert [fill["deal_id"] for fill in client.fills_history("281756", "HK")] == EXPECTED
    assert asyncio.run(awaited.server_time()).tzinfo is not None
    start_response("200 OK", [("content-type", "application/json")])
    return [json.dumps([LOADED_BY, os.getpid(), len(EXPECTED)]).encode()]
"""


@algorithms
def test_workers_of_gunicorn_use_the_client_of_a_preloaded_application(
    sandbox, tmp_path, algorithm
):
    pytest.importorskip("gunicorn")
    key_id, path = uploaded_key(sandbox, tmp_path, algorithm)
    code = APPLICATION.format(key_id=key_id, path=path, url=sandbox.base_url)
    (tmp_path / "preloaded.py").write_text(code)
    words = ["-m", "gunicorn", "--preload", "--workers", "2", "--bind", "127.0.0.1:0"]
    words += ["--no-control-socket"] if has_control_socket() else []
    command = [sys.executable, *words, "preloaded:app"]
    environment = {
        **os.environ,
        **QUIET,
        "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "python"])),
    }
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            port = next(int(m[1]) for line in server.stderr if (m := LISTENING.search(line)))
            responses = [get(port) for _ in range(6)]
            assert {fills for _, _, fills in responses} == {120}
            assert all(loaded_by == server.pid != worker for loaded_by, worker, _ in responses)
        finally:
            server.send_signal(signal.SIGTERM)
        server.communicate()
    assert server.returncode == 0


LISTENING = re.compile(r"Listening at: http://127\.0\.0\.1:(\d+)")


def has_control_socket():
    from gunicorn.config import make_settings

    return "control_socket_disable" in make_settings()


def get(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    response = connection.getresponse()
    assert response.status == 200, response.read()
    body = json.loads(response.read())
    connection.close()
    return body


LOKY = """
    import sys
    import boardlot as bl
    from loky import ProcessPoolExecutor
    from tests.stress.readers import deal_ids
    client = bl.Client(sys.argv[1], auth=bl.ApiKey(*sys.argv[2:4]))
    expected = deal_ids(client)
    with ProcessPoolExecutor(2) as pool:
        print([rows == expected for rows in pool.map(deal_ids, [client] * 4)])
    """


def test_workers_of_loky_are_given_a_client_and_use_it(sandbox, tmp_path):
    pytest.importorskip("loky")
    key = uploaded_key(sandbox, tmp_path)
    out, _ = run_python(LOKY, sandbox.base_url, *key, env=QUIET, seconds=300.0)
    assert out == "[True, True, True, True]\n"


# `tools/nightly/celery` runs this in an environment of its own: celery holds python-dateutil back.
TASKS = """
import asyncio, os
import boardlot as bl
from celery import Celery

folder = {folder!r}
app = Celery("tasks", broker="filesystem://", backend="file://" + folder)
app.conf.broker_transport_options = {{
    "data_folder_in": folder + "/queue", "data_folder_out": folder + "/queue",
    "control_folder": folder + "/control",
}}
client = bl.Client({url!r}, auth=bl.ApiKey({key_id!r}, {path!r}))
awaited = bl.AsyncClient({url!r}, auth=bl.ApiKey({key_id!r}, {path!r}))
LOADED_BY = os.getpid()
EXPECTED = [fill["deal_id"] for fill in client.fills_history("281756", "HK")]

@app.task
def read():
    assert [fill["deal_id"] for fill in client.fills_history("281756", "HK")] == EXPECTED
    assert asyncio.run(awaited.server_time()).tzinfo is not None
    return [LOADED_BY, os.getpid(), len(EXPECTED)]
"""
SEND = """
import json
from tasks import read
print(json.dumps([result.get(timeout=240) for result in [read.delay() for _ in range(6)]]))
"""


@pytest.mark.parametrize("algorithm", ["Ed25519", "RSA-SHA256"])
def test_workers_of_celery_use_the_client_of_the_process_that_forked_them(
    sandbox, tmp_path, algorithm
):
    pytest.importorskip("celery")
    key_id, path = uploaded_key(sandbox, tmp_path, algorithm)
    for name in ("queue", "control"):
        (tmp_path / name).mkdir()
    code = TASKS.format(folder=str(tmp_path), key_id=key_id, path=path, url=sandbox.base_url)
    (tmp_path / "tasks.py").write_text(code)
    environment = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT / "python"), "C_FORCE_ROOT": "1"}
    options = {"cwd": tmp_path, "env": environment, "text": True}
    words = ["-m", "celery", "-A", "tasks", "worker", "--pool", "prefork", "--concurrency", "2"]
    words += ["--loglevel", "INFO"]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options
    ) as worker:
        try:
            assert any("ready." in line for line in worker.stderr)
            sent = subprocess.run(
                [sys.executable, "-c", SEND], capture_output=True, check=True, **options
            )
        finally:
            worker.send_signal(signal.SIGTERM)
        worker.communicate()
    responses = json.loads(sent.stdout)
    assert {fills for _, _, fills in responses} == {120}
    assert all(loaded_by == worker.pid != child for loaded_by, child, _ in responses)


DAEMON = program(__file__, "daemon")


@algorithms
def test_a_daemon_needs_no_file_of_the_process_that_it_was(sandbox, tmp_path, algorithm):
    key = uploaded_key(sandbox, tmp_path, algorithm)
    out, _ = run_python(DAEMON, sandbox.base_url, *key, tmp_path.name, env=QUIET)
    assert out == "{}\n"


BETWEEN_PAGES = program(__file__, "between_pages")


@pytest.mark.parametrize("algorithm", ["Ed25519", "RSA-SHA256"])
def test_security_32_a_fork_while_a_page_is_fetched_ahead(sandbox, tmp_path, algorithm):
    """The cryptographic library locks an RSA key for each signature."""
    key = uploaded_key(sandbox, tmp_path, algorithm)
    out, _ = run_python(BETWEEN_PAGES, sandbox.base_url, *key, env=QUIET, seconds=300.0)
    assert out == "120 {0}\n"
