"""What tools of others make of the description, in an environment of their own.

`tools/nightly/openapi-judges` runs the official validator, schemathesis against the sandbox, and
two generators, whose clients compile and read all pages of fills.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest

pytest.importorskip("schemathesis", reason="tools/nightly/openapi-judges runs it")
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
DESCRIPTION = HERE.parents[1] / "docs" / "openapi.json"
# The checks of schemathesis that do not apply, each with its reason.
NOT_APPLICABLE = {
    # "Not shown: the HTTP status codes used" (section 7): the sandbox rejects invalid arguments in
    # an envelope with HTTP 200, and unknown methods with 404.
    "negative_data_rejection": "expects HTTP 4xx for invalid arguments",
    "unsupported_method": "expects HTTP 405 for another method",
    "missing_required_header": "expects HTTP 4xx, and no operation has a required header",
}
# "positive_data_acceptance" applies to all but these: a valid form is no valid code or client.
OAUTH = ["register", "authorize", "token"]


def run(*command, folder=None, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-4_000:]
    return done.stdout


def program(name):
    found = shutil.which(name, path=Path(sys.executable).parent)
    assert found is not None, f"{name} is not installed"
    return found


@pytest.fixture
def service():
    """A sandbox with its token, and the number of its fills and the code of the last."""
    with bl.Sandbox(seed=7, fills=500) as sandbox, sandbox.client("oauth") as client:
        fills = client.fills_history("281756", "HK").all()
        yield sandbox, client._boardlot_core.token_header(None).removeprefix("Bearer "), fills


def test_the_official_validator_accepts_it():
    run(program("openapi-spec-validator"), DESCRIPTION)


@pytest.mark.parametrize("checks", ["all", "positive_data_acceptance"])
def test_schemathesis_finds_no_failure(checks, service, tmp_path):
    sandbox, token, _ = service
    options = ["--checks", checks]
    if checks == "all":
        excluded = [*NOT_APPLICABLE, "positive_data_acceptance"]
        options += ["--exclude-checks", ",".join(excluded)]
    else:
        for name in OAUTH:
            options += ["--exclude-operation-id", name]
    run(
        program("schemathesis"),
        "run",
        f"{sandbox.base_url}/openapi.json",
        *["-H", f"Authorization: Bearer {token}", "--seed", "7", "-n", "60", "--no-color"],
        *options,
        folder=tmp_path,
    )
    assert len(sandbox.requests) > 300


def test_a_generated_python_client_reads_all_fills(service, tmp_path):
    sandbox, token, fills = service
    generate = [program("openapi-python-client"), "generate", "--meta", "none", "--path"]
    run(
        *generate,
        DESCRIPTION,
        "--output-path",
        tmp_path / "generated",
        "--fail-on-warning",
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    )
    run(sys.executable, "-m", "compileall", "-q", tmp_path / "generated")
    shutil.copy(HERE / "openapi_clients" / "read_fills.py", tmp_path)
    read = run(sys.executable, "read_fills.py", sandbox.base_url, token, "281756", folder=tmp_path)
    assert read.split() == [str(len(fills)), fills[-1]["code"]]


def test_a_typescript_client_with_generated_types_reads_all_fills(service, tmp_path):
    sandbox, token, fills = service
    modules = os.environ.get("BOARDLOT_TEST_NODE_MODULES")
    if modules is None or shutil.which("node") is None:
        pytest.skip("needs Node: tools/nightly/openapi-judges installs the packages")
    (tmp_path / "node_modules").symlink_to(Path(modules).resolve())
    shutil.copy(HERE / "openapi_clients" / "read_fills.ts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    binaries = tmp_path / "node_modules" / ".bin"
    run(binaries / "openapi-typescript", DESCRIPTION, "-o", tmp_path / "schema.d.ts")
    options = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    run(binaries / "tsc", *options, "read_fills.ts", folder=tmp_path)
    read = run("node", "read_fills.js", sandbox.base_url, token, "281756", folder=tmp_path)
    assert read.split() == [str(len(fills)), fills[-1]["code"]]


def test_the_description_that_was_judged_is_that_of_the_package():
    assert json.loads(DESCRIPTION.read_text("utf-8")) == bl.openapi()
