"""Pages of an account's security activity, and of the browsers where people are signed in."""

from dataclasses import dataclass
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity import wrong_guesses
from accounts.activity.recording import By, event_by_token, record, sentence, token_of
from accounts.models import SecurityEvent
from accounts.recovery import securing, undoing
from accounts.sessions.authentication import account_of
from accounts.sessions.browser_sessions import described_sessions, end_listed_session, end_other_sessions
from core.database.batches import keyset_page, parse_key
from core.http.places import NO_AGENT, browser_name
from core.http.wrong_method import post_only

PAGE_SIZE = 25


@dataclass(frozen=True)
class Line:
    """An event in the form of the page."""

    event: SecurityEvent
    says: str
    token: str
    by_operator: bool
    by_service: bool


@dataclass(frozen=True)
class Group:
    """The events of one device on a page, the newest first."""

    browser: str
    lines: list[Line]


def _by_device(lines: list[Line]) -> list[Group]:
    """Group events by browser and device; the group with the newest event comes first."""
    groups: dict[tuple[str, bool, bool], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.event.browser or NO_AGENT, line.by_operator, line.by_service), []).append(line)
    return [Group(browser, found) for (browser, _, _), found in groups.items()]


@never_cache
@login_required
@require_safe
def activity(request: HttpRequest) -> HttpResponse:
    """GET /account/activity/: the events by device, newest first; `before` and `after` are keys of events."""
    events = SecurityEvent.objects.filter(account=account_of(request)).exclude(kind__in=wrong_guesses.KINDS)
    before, after = (parse_key(request.GET.get(name)) for name in ("before", "after"))
    page = keyset_page(events, before, after, PAGE_SIZE)
    lines = [
        Line(
            event,
            sentence(event),
            token_of(event),
            by_operator=event.by == By.OPERATOR,
            by_service=event.by == By.SERVICE,
        )
        for event in page.rows
    ]
    context = {"groups": _by_device(lines), "older_than": page.older_than, "newer_than": page.newer_than}
    return render(request, "accounts/activity.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def secure(request: HttpRequest) -> HttpResponse:
    """/account/secure/: the target of "this was not me". A GET changes nothing.

    A POST opens a step (`open`), ticks it off (`done`), begins the list again (`again`), or ends all other sessions.
    `event` names the event in question; if it added a factor, the page links to its removal.
    """
    meant = _meant(request)
    if not request.user.is_authenticated:
        return render(request, "accounts/secure_signed_out.html", meant)
    if request.method == "POST":
        return _take_step(request, meant.get("token", ""))
    steps = securing.steps_of(request, account_of(request))
    first = next((step for step in steps if not step.is_done), None)
    return render(request, "accounts/secure.html", {"steps": steps, "next_step": first} | meant)


def _take_step(request: HttpRequest, event: str) -> HttpResponse:
    if "open" in request.POST:
        if page := securing.open_step(request, request.POST["open"], event):
            return HttpResponseRedirect(reverse(page))
    elif "done" in request.POST:
        securing.finish_step(request, request.POST["done"])
    elif "again" in request.POST:
        securing.start_again(request)
    else:
        sign_out_others(request)
        securing.finish_step(request, securing.SIGN_OUT)
    return HttpResponseRedirect(securing.list_url(event))


def _meant(request: HttpRequest) -> dict[str, Any]:
    """Return the context about the event that the link names; empty if it names none."""
    token = request.GET.get("event", "")
    event = event_by_token(token) if token else None
    if event is None:
        return {}
    return {"event": event, "says": sentence(event), "token": token, "undoable": undoing.undoable(event)}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sessions(request: HttpRequest) -> HttpResponse:
    """/account/sessions/: the list; a POST ends all others, including sessions that are not listed."""
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
        messages.info(request, f"{which} was already signed out. The list shows the remaining browsers.")
    return HttpResponseRedirect(reverse("usersessions_list"))


def sign_out_others(request: HttpRequest) -> None:
    """End all other sessions, and show a message."""
    with transaction.atomic():
        end_other_sessions(request)
        record(account_of(request), "sessions_ended", request)
    messages.info(request, "All other browsers are signed out.")
