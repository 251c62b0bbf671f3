"""The sign-in log of a client: the list, and the page of one step."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_client
from devportal.console.fixes import client_page
from devportal.console.logs import sign_in_log as log
from devportal.console.logs.curl import sign_in_as_curl
from devportal.console.logs.error_docs import reason_docs
from devportal.console.logs.pages import find_entry, render_entry, render_log, render_missing
from devportal.console.logs.sign_in_fixes import compare, fix_for, is_mismatch
from devportal.console.logs.sign_in_steps import family_steps, is_left_waiting, request_steps
from devportal.console.models import SignInEvent
from devportal.console.shortcuts import console_page
from devportal.lib.postgres.replica import page_from_replica


@page_from_replica
@console_page()
def sign_ins(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """GET …/sign-ins?outcome=…&endpoint=…&error=…&request_id=…&range=…&from=…&to=…: newest first."""
    membership, client = get_client(request, project_id, client_id)
    return render_log(
        request,
        "console/sign_ins.html",
        membership,
        client,
        rows=SignInEvent.objects.filter(client=client),
        filters=log.read_filters(request),
        selects=log.SELECTS,
        entries=log.sign_in_log_entries,
        log_days=settings.SIGN_IN_LOG_DAYS,
        most_a_minute=settings.SIGN_IN_LOG_PER_MINUTE,
    )


@page_from_replica
@console_page()
def sign_in_detail(request: HttpRequest, project_id: str, client_id: str, entry_id: str) -> HttpResponse:
    """GET …/sign-ins/<id>: all that is known of one step, and the steps that belong to it.

    A filter in the query leads back to the narrowed log.
    """
    membership, client = get_client(request, project_id, client_id)
    query = log.read_filters(request).query()
    log_url = client_page(client, "sign_ins") + query
    row = find_entry(SignInEvent.objects.filter(client=client), entry_id)
    if row is None:
        return render_missing(request, membership, client, log_url=log_url, log_days=settings.SIGN_IN_LOG_DAYS)
    family, same_request = family_steps(row), request_steps(row)
    return render_entry(
        request,
        "console/sign_in_detail.html",
        membership,
        client,
        line=log.SignInLogEntry(row),
        log_url=log_url,
        query=query,
        fix=fix_for(client, row),
        error=reason_docs(row),
        compared=compare(row.redirect_uri, client.registered_redirect_uris) if is_mismatch(client, row) else [],
        family=log.sign_in_log_entries(family),
        is_left_waiting=is_left_waiting(row, family),
        same_request=log.sign_in_log_entries([each for each in same_request if each not in family]),
        curl=sign_in_as_curl(client, row),
        code_seconds=settings.AUTHORIZATION_CODE_SECONDS,
    )
