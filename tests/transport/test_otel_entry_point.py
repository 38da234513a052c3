"""`opentelemetry-instrument` on a script that knows nothing of OpenTelemetry."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import boardlot as bl
import pytest
from boardlot.otel import Instrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ROOT = Path(__file__).parents[2]
SCRIPT = """
import boardlot as bl

with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
    print(len(client.dividends("HK.00700")))
"""
# The SDK's own configuration of a console exporter, as a distribution of a user's would have it.
CONFIGURATOR = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor


class Configurator:
    def configure(self, **_):
        traces = TracerProvider()
        traces.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
        trace.set_tracer_provider(traces)
"""


@pytest.fixture
def installed(tmp_path):
    """Metadata with the package's entry points, as a wheel has them, and a user's configurator."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    section = re.search(r"entry-points.opentelemetry_instrumentor\]\n(.*?)\n\n", project, re.DOTALL)
    lines = ["[opentelemetry_instrumentor]", section[1].replace('"', "")]
    lines += ["[opentelemetry_configurator]", "test = configurator_of_a_test:Configurator"]
    folder = tmp_path / "boardlot_of_a_test-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: boardlot-of-a-test\nVersion: 1.0\n"
    )
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "configurator_of_a_test.py").write_text(CONFIGURATOR)
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def test_a_script_is_traced_without_a_change(installed):
    program = shutil.which("opentelemetry-instrument", path=Path(sys.executable).parent)
    assert program is not None, "opentelemetry-instrumentation is not installed"
    package = str(Path(bl.__file__).parents[1])
    paths = [str(installed), package, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment["OTEL_PYTHON_CONFIGURATOR"] = "test"
    done = subprocess.run(
        [program, sys.executable, "script.py"],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    spans, rest = [], done.stdout
    while "{" in rest:
        span, end = json.JSONDecoder().raw_decode(rest, rest.index("{"))
        spans.append(span)
        rest = rest[end:]
    (span,) = spans
    assert span["name"] == "GET /api/v1.0/quote/{symbol}/corporate-actions/dividends"
    assert span["attributes"]["http.response.status_code"] == 200
    assert done.stdout.count("21\n") == 1


def test_every_client_is_traced_until_it_is_uninstrumented():
    spans, traces = InMemorySpanExporter(), TracerProvider()
    traces.add_span_processor(SimpleSpanProcessor(spans))
    constructor = bl.Client.__init__
    # Twice, as a program and `opentelemetry-instrument` may both do it.
    Instrumentor().instrument(tracer_provider=traces, skip_dep_check=True)
    Instrumentor().instrument(tracer_provider=traces)
    try:
        with bl.Sandbox(seed=7) as sandbox:
            with sandbox.client() as client:
                client.server_time()
            Instrumentor().uninstrument()
            with sandbox.client() as client:
                client.server_time()
    finally:
        Instrumentor().uninstrument()
    assert len(spans.get_finished_spans()) == 1
    assert bl.Client.__init__ is constructor
