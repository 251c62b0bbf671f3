"""/account/sessions/: where a person is signed in, and signing out everywhere else."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.authentication import account_of
from accounts.session_list import valid_sessions
from accounts.sessions import end_other_sessions


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sessions(request: HttpRequest) -> HttpResponse:
    """/account/sessions/: the list; a POST ends all others, those that are not listed included."""
    if request.method == "POST":
        end_other_sessions(request)
        messages.info(request, "All your other sessions are signed out.")
        return HttpResponseRedirect(reverse("usersessions_list"))
    listed = valid_sessions(account_of(request))
    return render(request, "usersessions/usersession_list.html", {"sessions": listed, "session_count": len(listed)})
