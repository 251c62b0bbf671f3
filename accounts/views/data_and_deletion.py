"""Pages of data export and account deletion, and of keeping a closed account."""

from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity import recording
from accounts.allauth_internals import is_reauthentication_required
from accounts.data_export import exports
from accounts.deletion import deleting
from accounts.entrance import reauthentication
from accounts.models import Account
from accounts.recovery import closing
from accounts.sessions.authentication import account_of
from core import clock
from core.audit import Event, report
from core.database.encryption import Unreadable
from core.limits.middleware import limited_by_person
from core.storage.stored_files import StoreUnavailable

GOODBYE = "said_goodbye"  # session key after a deletion: the day on which the account is deleted, or ""
CONFIRMED = "confirmed"  # in the query: the person has just reauthenticated, and wants the file


@never_cache
@login_required
@require_safe
def data(request: HttpRequest) -> HttpResponse:
    """GET /account/data: the export of one's own data, and the link to account deletion."""
    export = exports.latest_of(account_of(request))
    is_ready = export is not None and export.state == "ready"
    context = {
        "export": export,
        "days": settings.EXPORT_DAYS,
        "deletion_days": settings.ACCOUNT_DELETION_DAYS,
        "starts": is_ready and CONFIRMED in request.GET and not is_reauthentication_required(request, app=""),
    }
    return render(request, "accounts/data.html", context)


@limited_by_person
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def export(request: HttpRequest) -> HttpResponse:
    """/account/export: a POST requests an export; requires recent reauthentication."""
    if request.method == "POST":
        if is_reauthentication_required(request, app=""):
            raise ReauthenticationRequired
        try:
            exports.ask(account_of(request), request)
        except exports.TooManyExports:
            messages.warning(
                request,
                f"You requested {settings.EXPORTS_PER_DAY} exports within a day. The newest one is below; you can "
                "request another one tomorrow.",
            )
    return HttpResponseRedirect(reverse("account_data"))


@never_cache
@login_required
@require_safe
def export_file(request: HttpRequest) -> HttpResponseBase:
    """GET /account/export/file: the newest export, only for its owner; requires recent reauthentication."""
    account = account_of(request)
    if is_reauthentication_required(request, app=""):
        back = f"{reverse('account_data')}?{CONFIRMED}=1"
        return HttpResponseRedirect(reauthentication.url(request, back))
    newest = exports.latest_of(account)
    if newest is None or newest.state != "ready":
        return HttpResponseRedirect(reverse("account_data"))
    try:
        pieces = exports.pieces_of(newest)
    except StoreUnavailable:
        messages.error(request, "The file can't be read at the moment. Please try again in a minute.")
        return HttpResponseRedirect(reverse("account_data"))
    except (FileNotFoundError, Unreadable):
        messages.error(request, "The file can no longer be read. Create a new export.")
        return HttpResponseRedirect(reverse("account_data"))
    with transaction.atomic():
        recording.record(account, "export_downloaded", request)
        report(Event("account.export_downloaded", account.pk, target=f"account:{account.pk}"))
    response = StreamingHttpResponse(pieces, content_type="application/zip")
    response["Content-Length"] = str(newest.size)
    response["Content-Disposition"] = f'attachment; filename="your-data-{newest.asked_at:%Y-%m-%d}.zip"'
    response["Cache-Control"] = "no-store"
    return response


@limited_by_person
@never_cache
@login_required
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth is untyped
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """/account/delete: explains what is deleted, and deletes the account; requires recent reauthentication."""
    account = account_of(request)
    if request.method == "POST":
        try:
            due_at = closing.ask(account, request)
        except deleting.DeletionBlocked:
            pass  # the page shows what blocks it
        except closing.Gone:  # deleted by another click
            logout(request)
            return HttpResponseRedirect(reverse("account_goodbye"))
        except closing.Outdated:
            return HttpResponseRedirect(reverse("account_login"))
        else:
            logout(request)
            request.session[GOODBYE] = closing.day_of(due_at) if due_at else ""
            return HttpResponseRedirect(reverse("account_goodbye"))
    days = settings.ACCOUNT_DELETION_DAYS
    context = {
        "blockers": deleting.deletion_blockers(account),
        "days": days,
        "due_at": clock.from_now(days * 24 * 3600),
    }
    return render(request, "accounts/delete.html", context)


@never_cache
@require_safe
def goodbye(request: HttpRequest) -> HttpResponse:
    """GET /account/goodbye: confirms the deletion to the person who requested it."""
    if request.user.is_authenticated or GOODBYE not in request.session:
        return HttpResponseRedirect(reverse(settings.LOGOUT_REDIRECT_URL))
    return render(request, "accounts/goodbye.html", {"day": request.session[GOODBYE]})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def closed(request: HttpRequest) -> HttpResponse:
    """/account/closed: people who have signed in to a closed account keep it, or leave again.

    The email about the deletion links here. People who have not signed in yet are asked to.
    """
    stage = closing.held_sign_in(request)
    account = stage.login.user if stage else None
    if not isinstance(account, Account):
        if request.user.is_authenticated:  # their account is not closed
            return HttpResponseRedirect(reverse("account_home"))
        if request.method == "POST":
            return HttpResponseRedirect(reverse("account_login"))
        return redirect_to_login(request.path)
    if request.method == "POST":
        try:
            response = closing.keep_and_sign_in(stage, request)
        except closing.Gone:
            stage.abort()
            messages.error(request, "The account has already been deleted.")
            return HttpResponseRedirect(reverse("account_login"))
        except closing.Outdated:
            stage.abort()
            messages.error(request, "The account has changed since you signed in. Please sign in again.")
            return HttpResponseRedirect(reverse("account_login"))
        messages.success(request, "Your account will be kept. You have to sign in to your apps again.")
        return response
    return render(request, "accounts/closed.html", {"account": account})
