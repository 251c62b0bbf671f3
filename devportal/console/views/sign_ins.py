"""What came of every sign-in to a client."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_client
from devportal.console.logs import sign_ins as log
from devportal.console.logs.narrowing import options
from devportal.console.models import SignInEvent
from devportal.console.pages import console_page, show
from devportal.console.paging import page_of


@console_page()
def sign_ins(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/sign-ins?outcome=…&endpoint=…&error=…&request_id=…&from=…&to=…: newest first."""
    seat, client = get_client(request, project_id, client_id)
    asked = log.asked(request)
    page = page_of(SignInEvent.objects.filter(asked.where, client=client), request)
    return show(
        request,
        "console/sign_ins.html",
        seat,
        client,
        page=page,
        lines=log.lines(client, page.rows),
        asked=asked,
        selects=[
            ("outcome", "Outcome", options(log.OUTCOMES, asked.given["outcome"])),
            ("endpoint", "Endpoint", options(log.ENDPOINTS, asked.given["endpoint"])),
            ("error", "Error", options(log.ERRORS, asked.given["error"])),
        ],
        log_days=settings.SIGN_IN_LOG_DAYS,
        most_a_minute=settings.SIGN_IN_LOG_PER_MINUTE,
    )
