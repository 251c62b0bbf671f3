"""The sign-in log page of a client."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_client
from devportal.console.logs import sign_in_log as log
from devportal.console.logs.filters import select_options
from devportal.console.models import SignInEvent
from devportal.console.pagination import paginate
from devportal.console.shortcuts import console_page, render_page


@console_page()
def sign_ins(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/sign-ins?outcome=…&endpoint=…&error=…&request_id=…&from=…&to=…: newest first."""
    seat, client = get_client(request, project_id, client_id)
    asked = log.read_filters(request)
    page = paginate(SignInEvent.objects.filter(asked.where, client=client), request)
    return render_page(
        request,
        "console/sign_ins.html",
        seat,
        client,
        page=page,
        lines=log.sign_in_log_entries(client, page.rows),
        asked=asked,
        selects=[
            ("outcome", "Outcome", select_options(log.OUTCOMES, asked.given["outcome"])),
            ("endpoint", "Endpoint", select_options(log.ENDPOINTS, asked.given["endpoint"])),
            ("error", "Error", select_options(log.ERRORS, asked.given["error"])),
        ],
        log_days=settings.SIGN_IN_LOG_DAYS,
        most_a_minute=settings.SIGN_IN_LOG_PER_MINUTE,
    )
