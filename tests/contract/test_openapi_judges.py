"""What tools of others make of the description, in an environment of their own.

`tools/nightly/openapi-judges` runs the official validator, two linters, schemathesis against the
sandbox, and three generators, whose clients compile and read all pages of fills.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import boardlot as bl
import pytest

from ..cli.sandbox_program import Program

pytest.importorskip("schemathesis", reason="tools/nightly/openapi-judges runs it")
pytestmark = [pytest.mark.slow, pytest.mark.sandbox_program]

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
# The rules of the linters that do not apply, each with its reason.
REDOCLY_RULES = [
    "operation-4xx-response",  # "Not shown: the HTTP status codes used" (section 7)
    "info-license",  # the service's documentation names none
]
SPECTRAL_RULES = {"info-contact": "off"}  # nor a contact
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


@pytest.fixture(scope="module", params=["service", "sandbox"])
def description(request, tmp_path_factory):
    """The description of the service, and that of the program, which has the sandbox's own."""
    if request.param == "service":
        return DESCRIPTION
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    with Program("--control") as started:
        # It has no proxy, as it is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{started.base_url}/openapi.json", timeout=60) as got:
            path.write_bytes(got.read())
    return path


@pytest.fixture
def node_folder(tmp_path):
    """A folder with the packages of `openapi_clients/package.json`."""
    modules = os.environ.get("BOARDLOT_TEST_NODE_MODULES")
    if modules is None or shutil.which("node") is None:
        pytest.skip("needs Node: tools/nightly/openapi-judges installs the packages")
    (tmp_path / "node_modules").symlink_to(Path(modules).resolve())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    return tmp_path


def test_the_official_validator_accepts_it(description):
    run(program("openapi-spec-validator"), description)


def test_redocly_finds_nothing(description, node_folder):
    skipped = [word for rule in REDOCLY_RULES for word in ("--skip-rule", rule)]
    options = ["--extends", "recommended", "--format", "json", *skipped]
    environment = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    redocly = node_folder / "node_modules" / ".bin" / "redocly"
    found = run(redocly, "lint", *options, description, folder=node_folder, **environment)
    assert json.loads(found)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_spectral_finds_nothing(description, node_folder):
    ruleset = node_folder / "rules.json"
    ruleset.write_text(json.dumps({"extends": ["spectral:oas"], "rules": SPECTRAL_RULES}))
    spectral = node_folder / "node_modules" / ".bin" / "spectral"
    run(spectral, "lint", "--fail-severity", "hint", "--ruleset", ruleset, description)


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


def test_schemathesis_finds_no_failure_in_what_drives_the_sandbox(tmp_path):
    # A valid body may name no endpoint, and nothing of it needs credentials.
    options = ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]
    with Program("--control") as started:
        command = [program("schemathesis"), "run", f"{started.base_url}/openapi.json"]
        command += ["--include-path-regex", "^/_sandbox/", "--phases", "coverage,fuzzing"]
        run(*command, "--seed", "7", "-n", "60", "--no-color", *options, folder=tmp_path)


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


def generated_by_openapi_typescript(folder):
    """The types, and the program that reads with them."""
    binary = folder / "node_modules" / ".bin" / "openapi-typescript"
    run(binary, DESCRIPTION, "-o", folder / "schema.d.ts")
    return "bodies_openapi_typescript.ts", "read_fills.ts"


def generated_by_hey_api(folder):
    """The client, and the program that reads with it."""
    # Node imports files by their whole names.
    output = {"path": "generated", "importFileExtension": ".js"}
    config = json.dumps({"input": str(DESCRIPTION), "output": output})
    (folder / "openapi-ts.config.mjs").write_text(f"export default {config};")
    run(folder / "node_modules" / ".bin" / "openapi-ts", folder=folder)
    return "bodies_hey_api.ts", "read_fills_hey_api.ts"


@pytest.mark.parametrize("generate", [generated_by_openapi_typescript, generated_by_hey_api])
def test_typescript_narrows_each_envelope_and_reads_all_fills(generate, service, node_folder):
    sandbox, token, fills = service
    bodies, reader = generate(node_folder)
    shutil.copy(HERE / "openapi_clients" / bodies, node_folder / "bodies.ts")
    for name in ("narrow.ts", reader):
        shutil.copy(HERE / "openapi_clients" / name, node_folder)
    options = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    compiler = node_folder / "node_modules" / ".bin" / "tsc"
    run(compiler, *options, "narrow.ts", reader, folder=node_folder)
    arguments = [sandbox.base_url, token, "281756"]
    read = run("node", Path(reader).with_suffix(".js"), *arguments, folder=node_folder)
    assert read.split() == [str(len(fills)), fills[-1]["code"]]


def test_the_description_that_was_judged_is_that_of_the_package():
    assert json.loads(DESCRIPTION.read_text("utf-8")) == bl.openapi()
