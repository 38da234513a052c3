"""Traces and metrics of a client by OpenTelemetry's semantic conventions for HTTP clients.

Each attempt of a request is a span of kind `CLIENT`, nested under the span that is current where
the client is called, and a value of the histogram `http.client.request.duration`. The trace is
propagated to the service by the headers of the global propagator, such as `traceparent`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from boardlot._support.extras import needs

with needs("opentelemetry-api", "otel", "boardlot.otel"):
    from opentelemetry import metrics, propagate, trace

from boardlot import AsyncClient, Client, ConfigError, RequestEvent, ResponseEvent, __version__
from boardlot._calls import explained

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

__all__ = ["Instrumentor", "instrument", "uninstrument"]

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
# Seconds, as the conventions say.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

# Seconds. Anything shorter is not a wait.
LEAST_WAIT = 0.001


@explained
def instrument(
    client: Client | AsyncClient,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
) -> None:
    """Traces and measures every request of a client from now on.

    The client's own hooks are called as before. A client that is instrumented again uses the new
    providers. Instrumentation is not part of a client's pickle.

    Args:
        client: The client.
        tracer_provider: Where spans go; by default the global provider.
        meter_provider: Where durations go, in seconds; by default the global provider.

    Raises:
        ConfigError: `client` is not a client.

    Example:
        >>> import boardlot as bl
        >>> from boardlot.otel import instrument
        >>> with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        ...     instrument(client)
        ...     len(client.dividends("HK.00700")) > 0
        True
    """
    hooks = _Telemetry(
        checked(client).base_url,
        trace.get_tracer("boardlot", __version__, tracer_provider, SCHEMA_URL),
        metrics.get_meter("boardlot", __version__, meter_provider, SCHEMA_URL),
    )
    client._boardlot_core.instrument(hooks.on_request, hooks.on_response)


@explained
def uninstrument(client: Client | AsyncClient) -> None:
    """Stops tracing and measuring the requests of a client; those in flight still end their spans.

    Args:
        client: The client.

    Raises:
        ConfigError: `client` is not a client.

    Example:
        >>> from boardlot.otel import instrument, uninstrument
        >>> instrument(client)
        >>> uninstrument(client)
    """
    checked(client)._boardlot_core.instrument(None, None)


@explained
class Instrumentor:
    """Traces and measures every client that is created while it is active.

    `opentelemetry-instrument python script.py` finds it by its entry point and activates it before
    the script: nothing in the script has to change.

    Example:
        >>> import boardlot as bl
        >>> from boardlot.otel import Instrumentor
        >>> Instrumentor().instrument()
        >>> with bl.Sandbox(seed=7) as sandbox, sandbox.client() as client:
        ...     len(client.dividends("HK.00700")) > 0
        True
        >>> Instrumentor().uninstrument()
    """

    _replaced: ClassVar[dict[type, Any]] = {}

    def instrument(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        **_: object,
    ) -> None:
        """Instrument each client from now on; other arguments are those of other instrumentors.

        A subclass is instrumented if its constructor calls that of its base.

        Args:
            tracer_provider: Where spans go; by default the global provider.
            meter_provider: Where durations go, in seconds; by default the global provider.
        """
        for kind in (Client, AsyncClient):
            if kind in self._replaced:
                continue
            self._replaced[kind] = original = kind.__init__

            @explained
            @functools.wraps(original)
            def instrumented(
                client: Any, *args: Any, _original: Any = original, **named: Any
            ) -> None:
                _original(client, *args, **named)
                instrument(client, tracer_provider=tracer_provider, meter_provider=meter_provider)

            setattr(kind, "__init__", instrumented)  # noqa: B010

    def uninstrument(self, **_: object) -> None:
        """Instrument no further clients; those that exist stay as they are."""
        while self._replaced:
            kind, original = self._replaced.popitem()
            setattr(kind, "__init__", original)  # noqa: B010


def checked(client: Client | AsyncClient) -> Client | AsyncClient:
    if isinstance(client, (Client, AsyncClient)):
        return client
    raise ConfigError(
        f"client is of type {type(client).__name__}; expected a Client or an AsyncClient"
    )


class _Telemetry:
    """The hooks of one client."""

    def __init__(self, base_url: str, tracer: trace.Tracer, meter: metrics.Meter) -> None:
        url = urlsplit(base_url)
        self.origin = f"{url.scheme}://{url.netloc}"
        self.service: dict[str, AttributeValue] = {
            "server.address": url.hostname or "",
            "server.port": url.port or (443 if url.scheme == "https" else 80),
            "url.scheme": url.scheme,
        }
        self.tracer = tracer
        self.duration = meter.create_histogram(
            "http.client.request.duration",
            unit="s",
            description="Duration of HTTP client requests.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self.limit_wait = meter.create_histogram(
            "boardlot.rate_limit.wait",
            unit="s",
            description="Time that requests waited for rate_limit before they were sent.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self.spans: dict[int, trace.Span] = {}

    def on_request(self, event: RequestEvent) -> dict[str, str]:
        attributes = self.attributes(event)
        # Without the query, which may be confidential.
        attributes["url.full"] = f"{self.origin}{event.path}"
        if event.attempt > 1:
            attributes["http.request.resend_count"] = event.attempt - 1
        name = f"{event.method} {event.route}" if event.route else event.method
        span = self.tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes=attributes)
        self.spans[event.id] = span
        headers: dict[str, str] = {}
        propagate.inject(headers, trace.set_span_in_context(span))
        return headers

    def on_response(self, event: ResponseEvent) -> None:
        span = self.spans.pop(event.id)
        outcome: dict[str, AttributeValue] = {}
        if event.status is not None:
            outcome["http.response.status_code"] = event.status
        error_type = event.error_type
        if event.status is not None and event.status >= 400:
            error_type = str(event.status)
        if error_type is not None:
            outcome["error.type"] = error_type
            span.set_status(trace.StatusCode.ERROR, event.error)
        span.set_attributes(outcome)
        if event.rate_limit_wait >= LEAST_WAIT:
            span.set_attribute("boardlot.rate_limit.wait", event.rate_limit_wait)
            self.limit_wait.record(
                event.rate_limit_wait, self.attributes(event), trace.set_span_in_context(span)
            )
        span.end()
        context = trace.set_span_in_context(span)
        self.duration.record(event.duration, {**self.attributes(event), **outcome}, context)

    def attributes(self, event: RequestEvent | ResponseEvent) -> dict[str, AttributeValue]:
        """The attributes of spans and metrics, each of which has only a few values."""
        attributes = {"http.request.method": event.method, **self.service}
        if event.route is not None:
            attributes["url.template"] = event.route
        return attributes
