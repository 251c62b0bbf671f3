"""System checks of metrics, logs and traces (docs/settings.md#checks-at-the-start)."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from core.telemetry import tracing

MOST_PORTS = 65535


@register(Tags.compatibility)
def check_telemetry(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E050` to `E052`: metrics ports, the format of logs, and the packages of traces."""
    found: list[CheckMessage] = []
    ports = {name: getattr(settings, name) for name in ("METRICS_PORT", "WORKER_METRICS_PORT", "BEAT_METRICS_PORT")}
    wrong = [name for name, port in ports.items() if not 0 <= port <= MOST_PORTS or port == settings.PORT]
    if wrong:
        text = f"{', '.join(wrong)} must be a separate port, or 0."
        found.append(Error(text, hint="Metrics must not be public.", id="devportal.E050"))
    if settings.LOG_FORMAT not in ("line", "json"):
        found.append(Error("LOG_FORMAT must be line or json.", id="devportal.E051"))
    if tracing.is_configured() and (missing := tracing.missing_packages()):
        text = f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but {missing[0]} is not installed."
        found.append(Error(text, hint="Install requirements/extras.txt.", id="devportal.E052"))
    return found
