"""The examples of docs/any-language.md, run by the tools of their languages against the program.

Those of curl run where there is a shell with curl, those of Node and Go where these are, and those
of TypeScript where `tools/nightly/openapi-judges` has installed its packages.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import boardlot as bl
import pytest

from ..cli.sandbox_program import Program, program

pytestmark = pytest.mark.sandbox_program
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "any-language.md").read_text("utf-8")
FENCE = re.compile(r'^( *)```\w+ title="([^"]+)"\n(.*?)^\1```$', re.DOTALL | re.MULTILINE)
FILES = {name: textwrap.dedent(source) for _, name, source in FENCE.findall(PAGE)}
NODE_MODULES = ROOT / "target" / "openapi" / "node_modules"


@pytest.fixture(scope="module")
def service():
    with Program("--seed", 7, "--fills", 500, "--print-token") as started:
        auth = bl.BearerToken(started.ready["token"])
        with bl.Client(started.base_url, auth=auth) as client:
            fills = client.fills_history("281756", "HK").all()
        yield started.base_url, started.ready["token"], fills


def run(*command, folder, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_each_example_has_a_test():
    tested = {"fills.sh", "fills.go", "fills.ts", "dividends.test.mjs", "dividends.sh"}
    assert set(FILES) == tested


def with_program(folder):
    """The variables with which the program is found by its name."""
    folder.joinpath("boardlot-sandbox").symlink_to(program())
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("node") is None, reason="needs Node")
def test_a_test_of_node_drives_it(tmp_path):
    (tmp_path / "dividends.test.mjs").write_text(FILES["dividends.test.mjs"])
    runner = ["node", "--test", "--test-reporter", "tap", "dividends.test.mjs"]
    lines = run(*runner, folder=tmp_path, **with_program(tmp_path))
    assert {"# tests 4", "# pass 4"} <= set(lines)


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("curl") is None, reason="needs curl")
def test_a_shell_script_drives_it(tmp_path):
    (tmp_path / "dividends.sh").write_text(FILES["dividends.sh"])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = with_program(tmp_path)
    lines = run("sh", "-eu", "dividends.sh", port, folder=tmp_path, **environment)
    assert lines == ['"status":503', '"status":200']


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("curl") is None, reason="needs curl")
def test_curl(service, tmp_path):
    base_url, token, fills = service
    (tmp_path / "fills.sh").write_text(FILES["fills.sh"])
    lines = run("sh", "-e", "fills.sh", base_url, token, folder=tmp_path)
    assert lines == [f'"deal_id":"{fill["deal_id"]}"' for fill in fills]


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_go(service, tmp_path):
    base_url, token, fills = service
    (tmp_path / "fills.go").write_text(FILES["fills.go"])
    cache = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-modcacherw", "HOME": str(tmp_path)}
    lines = run("go", "run", "fills.go", base_url, token, folder=tmp_path, **cache)
    assert lines == [f"{fill['deal_id']} {fill['qty']}" for fill in fills]


@pytest.mark.skipif(not NODE_MODULES.is_dir(), reason="needs Node: tools/nightly/openapi-judges")
def test_typescript(service, tmp_path):
    base_url, token, fills = service
    (tmp_path / "fills.ts").write_text(FILES["fills.ts"])
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    binaries = tmp_path / "node_modules" / ".bin"
    description = f"{base_url}/openapi.json"
    run(binaries / "openapi-typescript", description, "-o", "schema.d.ts", folder=tmp_path)
    options = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    run(binaries / "tsc", *options, "fills.ts", folder=tmp_path)
    lines = run("node", "fills.js", base_url, token, folder=tmp_path)
    assert lines == [f"{fill['deal_id']} {fill['qty']}" for fill in fills]


def test_the_options_that_the_page_names_are_those_of_the_program():
    done = subprocess.run([program(), "--help"], capture_output=True, text=True, check=True)
    known = set(re.findall(r"--[a-z-]+", done.stdout)) | {"--publish"}  # of docker
    own = set(re.findall(r"`(--[a-z-]+)", PAGE)) | set(
        re.findall(r"sandbox --seed.*?(--\w+-\w+)", PAGE)
    )
    assert own <= known, own - known
