"""/account/sessions/: where a person is signed in, and signing out there."""

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.activity.browsers import browser_name
from accounts.activity.recording import record
from accounts.authentication import account_of
from accounts.session_list import described_sessions
from accounts.sessions import end_listed_session, end_other_sessions
from devportal.lib.wrong_method import post_only


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sessions(request: HttpRequest) -> HttpResponse:
    """/account/sessions/: the list; a POST ends all others, those that are not listed included."""
    if request.method == "POST":
        sign_out_others(request)
        return HttpResponseRedirect(reverse("usersessions_list"))
    listed = described_sessions(account_of(request), request.session.session_key)
    others = sum(not row.is_current for row in listed)
    return render(request, "usersessions/usersession_list.html", {"sessions": listed, "others": others})


@never_cache
@post_only()
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """POST /account/sessions/<id>/end: sign out one of the person's other browsers."""
    others = UserSession.objects.filter(user=account_of(request)).exclude(session_key=request.session.session_key)
    listed = get_object_or_404(others, pk=pk)
    which = browser_name(listed.user_agent)
    with transaction.atomic():
        if is_ended := end_listed_session(listed):
            record(account_of(request), "session_ended", request, which=which)
    if is_ended:
        messages.info(request, f"{which} is signed out.")
    else:
        messages.info(request, f"{which} was not signed in any more. The list shows who is.")
    return HttpResponseRedirect(reverse("usersessions_list"))


def sign_out_others(request: HttpRequest) -> None:
    """End all other sessions, and say so."""
    with transaction.atomic():
        end_other_sessions(request)
        record(account_of(request), "sessions_ended", request)
    messages.info(request, "All other browsers are signed out.")
