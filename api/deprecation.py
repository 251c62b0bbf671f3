"""Deprecated endpoints: the headers of their responses (RFC 9745, RFC 8594)."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.conf import settings
from django.http.response import HttpResponseBase
from django.utils.http import http_date

from core.http.split_hosts import address_of


@dataclass(frozen=True)
class Deprecation:
    """Since when apps should no longer use an endpoint, and the day (UTC) on which it stops working."""

    since: date
    sunset: date

    def headers(self) -> dict[str, str]:
        """Return the headers of each response."""
        return {
            "Deprecation": f"@{_seconds(self.since)}",
            "Sunset": http_date(_seconds(self.sunset)),
            "Link": f'<{address_of(settings.API_DEPRECATION_PATH)}>; rel="deprecation"; type="text/html"',
        }

    def add_headers(self, response: HttpResponseBase) -> None:
        """Add the headers to a response, after its other links."""
        for name, value in self.headers().items():
            is_second_link = name == "Link" and response.has_header(name)
            response[name] = f"{response[name]}, {value}" if is_second_link else value


def _seconds(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())
