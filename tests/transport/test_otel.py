"""Spans and metrics by OpenTelemetry's own SDK, of real requests over loopback."""

import gc
import pickle

import boardlot as bl
import pytest
from boardlot.otel import instrument, uninstrument
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from ..support.clients import client_of
from ..support.service import StandInService, response

OK = response({"ret_code": 0, "ret_msg": "success", "data": {"dividend_list": []}})
BUSY = response(b"busy", 503)
PATH = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
ROUTE = "/api/v1.0/quote/{symbol}/corporate-actions/dividends"
# The boundaries and the unit that the conventions name.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


class Telemetry:
    """The SDK with everything kept in memory."""

    def __init__(self):
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider()
        self.traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader])
        self.tracer = self.traces.get_tracer("test")

    def instrument(self, client):
        instrument(client, tracer_provider=self.traces, meter_provider=self.meters)
        return client

    def requests(self):
        return [span for span in self.exporter.get_finished_spans() if span.kind is SpanKind.CLIENT]

    def durations(self):
        (resource,) = self.reader.get_metrics_data().resource_metrics
        (scope,) = resource.scope_metrics
        return [(metric, point) for metric in scope.metrics for point in metric.data.data_points]


@pytest.fixture
def telemetry():
    made = Telemetry()
    yield made
    made.meters.shutdown()
    made.traces.shutdown()


def call(telemetry, responses, **options):
    """`dividends` with these responses; the server."""
    with StandInService(responses) as server:
        client = client_of(server, max_retries=2, **options)
        telemetry.instrument(client).dividends("HK.00700")
    return server


def test_a_request_is_a_span_with_the_attributes_of_the_conventions(telemetry):
    server = call(telemetry, [OK])
    (span,) = telemetry.requests()
    assert span.name == f"GET {ROUTE}"
    assert dict(span.attributes) == {
        "http.request.method": "GET",
        "server.address": "127.0.0.1",
        "server.port": server.port,
        "url.scheme": "http",
        "url.full": f"{server.base_url}{PATH}",
        "url.template": ROUTE,
        "http.response.status_code": 200,
    }
    assert span.status.status_code is StatusCode.UNSET
    scope = span.instrumentation_scope
    assert (scope.name, scope.version) == ("boardlot", bl.__version__)


def test_each_attempt_is_a_span_and_retries_are_counted(telemetry):
    server = call(telemetry, [BUSY, response(drop=True), OK])
    spans = telemetry.requests()
    for span, request in zip(spans, server.received, strict=True):
        trace_id, span_id = span.context.trace_id, span.context.span_id
        assert request.header("traceparent").startswith(f"00-{trace_id:032x}-{span_id:016x}-")
    names = ["http.request.resend_count", "http.response.status_code", "error.type"]
    assert [(*map(one.attributes.get, names), one.status.status_code) for one in spans] == [
        (None, 503, "503", StatusCode.ERROR),
        (1, None, "TransportError", StatusCode.ERROR),
        (2, 200, None, StatusCode.UNSET),
    ]
    # The reason is described only if the status does not tell it.
    assert spans[0].status.description is None and "response" in spans[1].status.description
    # Each kind of failure is a series of its own.
    points = [point.attributes for _, point in telemetry.durations()]
    assert {(one.get(names[1]), one.get("error.type")) for one in points} == {
        (503, "503"), (None, "TransportError"), (200, None),
    }  # fmt: skip


SANDBOX = {"fills": 100}


def parents(telemetry):
    return {span.parent and span.parent.span_id for span in telemetry.requests()}


def test_spans_of_blocking_calls_are_nested_under_the_callers(telemetry, sandbox):
    account = sandbox.accounts["trade"][0]
    with sandbox.client() as client:
        telemetry.instrument(client)
        with telemetry.tracer.start_as_current_span("mine") as mine:
            client.dividends("HK.00700")
            client.fetch_many("dividends", ["HK.00700", "US.AAPL"])
            assert len(client.fills_history(account, "HK", page_size=20).all()) == 100
        assert parents(telemetry) == {mine.get_span_context().span_id}
        # The last one also asks for the service's time, which ends its range.
        assert len(telemetry.requests()) == 1 + 2 + (1 + 5)
        telemetry.exporter.clear()
        client.dividends("HK.00700")
        assert parents(telemetry) == {None}


def test_durations_are_a_histogram_in_seconds_with_few_series(telemetry, sandbox):
    with sandbox.client() as client:
        telemetry.instrument(client)
        client.fetch_many("dividends", ["HK.00700", "US.AAPL", "HK.00005"])
    ((metric, point),) = telemetry.durations()
    assert (metric.name, metric.unit) == ("http.client.request.duration", "s")
    assert point.explicit_bounds == BOUNDS
    assert point.count == 3 and 0 < point.sum < 60
    # No series for each symbol.
    assert "url.full" not in point.attributes and point.attributes["url.template"] == ROUTE


def test_the_wait_for_a_rate_limit_is_on_the_span_and_a_histogram(telemetry, sandbox):
    with sandbox.client(rate_limit=bl.RateLimit(2)) as client:
        telemetry.instrument(client)
        for _ in range(3):
            client.server_time()
    spans = [span.attributes for span in telemetry.requests()]
    # On a busy machine the first may wait for a millisecond, and one that comes late does not wait.
    waits = [one["boardlot.rate_limit.wait"] for one in spans if "boardlot.rate_limit.wait" in one]
    assert waits and all(0 < wait < 60 for wait in waits)
    ((_, point),) = (
        found for found in telemetry.durations() if found[0].name == "boardlot.rate_limit.wait"
    )
    assert (point.count, point.sum) == (len(waits), pytest.approx(sum(waits)))


def test_the_clients_own_hooks_are_called_as_well(telemetry):
    events = []
    hooks = {"on_request": lambda event: events.append(event) or {"X-Mine": "1"}}
    server = call(telemetry, [OK], **hooks)
    (request,) = server.received
    assert len(events) == 1 and len(telemetry.requests()) == 1
    assert request.header("x-mine") == "1" and request.header("traceparent")


def test_instrumenting_twice_makes_one_span_and_it_can_be_removed(telemetry, sandbox):
    with sandbox.client() as client:
        for change in (telemetry.instrument, telemetry.instrument, uninstrument):
            change(client)
            client.request("GET", "/api/v1.0/server-time", query={"word": "canary-5d1f"})
        # Without a template the name stays one of few.
        assert [span.name for span in telemetry.requests()] == ["GET"] * 2
        assert not any("canary-5d1f" in span.to_json() for span in telemetry.requests())


def test_an_instrumented_client_is_collected_and_pickled_without_its_telemetry(telemetry):
    client = bl.Client("http://127.0.0.1:9")
    telemetry.instrument(client)
    assert b"opentelemetry" not in pickle.dumps(client)
    client.close()
    del client
    gc.collect()
    ours = [one for one in gc.get_objects() if type(one) is bl.Client]
    assert "http://127.0.0.1:9" not in {one.base_url for one in ours}


@pytest.mark.parametrize("other", [None, "https://api.example.com", bl.Client])
@pytest.mark.parametrize("function", [instrument, uninstrument])
def test_what_is_not_a_client_is_rejected(function, other):
    with pytest.raises(bl.ConfigError, match="expected a Client or an AsyncClient"):
        function(other)
