"""The decorator of the console's views, and functions to render its pages."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from core.http.wrong_method import post_only
from devportal.console.access import Membership, switcher_for
from devportal.console.navigation import menus
from oidc.models import Client
from oidc.projects.roles import Gone, InsufficientRole

View = Callable[..., HttpResponseBase]


def console_page(*methods: str, form_at: str = "") -> Callable[[View], View]:
    """Decorate a console view: only these methods, and only for signed-in people with a verified email address.

    `form_at` names the page with the form of a POST-only view, if it is not the nearest page above it.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if isinstance(request.user, Account) and not request.user.email_verified:
                return HttpResponseRedirect(reverse("account_email"))
            try:
                return view(request, *args, **kwargs)
            # The object or the role was lost in the meantime, so respond with 404 as for a later request.
            except InsufficientRole as demoted:
                raise PermissionDenied from demoted
            except Gone as gone:
                raise Http404 from gone

        allowed: Sequence[str] = methods or ("GET", "HEAD")
        if methods == ("POST",):
            return never_cache(post_only(form_at)(guarded))
        return never_cache(login_required(require_http_methods(list(allowed))(guarded)))

    return decorate


def render_page(
    request: HttpRequest,
    template: str,
    membership: Membership | None = None,
    client: Client | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Render a page of the console, with the project and client of its navigation."""
    frame = {
        "membership": membership,
        "project": membership.project if membership else None,
        "client": client,
        # Anyone may open the playground's redirect URL.
        "switcher": switcher_for(request.user) if isinstance(request.user, Account) else None,
        **(menus(request, membership, client) if membership else {}),
    }
    return render(request, template, frame | context, status=status)


def redirect_to_client(client: Client, page: str = "client_settings") -> HttpResponse:
    """Redirect to one of a client's pages, by its URL name."""
    return HttpResponseRedirect(reverse(f"console:{page}", args=[client.project.public_id, client.client_id]))


def render_secret_page(request: HttpRequest, template: str, *args: Any, **context: Any) -> HttpResponse:
    """Render a page that shows a secret once. `no-store` keeps it out of caches (docs/security.md#the-console)."""
    response = render_page(request, template, *args, **context)
    response["Cache-Control"] = "no-store"
    return response
