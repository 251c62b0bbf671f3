"""The sign-in log page of a client."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_client
from devportal.console.logs import sign_in_log as log
from devportal.console.logs.pages import render_log
from devportal.console.models import SignInEvent
from devportal.console.shortcuts import console_page


@console_page()
def sign_ins(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/sign-ins?outcome=…&endpoint=…&error=…&request_id=…&from=…&to=…: newest first."""
    membership, client = get_client(request, project_id, client_id)
    return render_log(
        request,
        "console/sign_ins.html",
        membership,
        client,
        rows=SignInEvent.objects.filter(client=client),
        filters=log.read_filters(request),
        selects=log.SELECTS,
        entries=partial(log.sign_in_log_entries, client),
        log_days=settings.SIGN_IN_LOG_DAYS,
        most_a_minute=settings.SIGN_IN_LOG_PER_MINUTE,
    )
