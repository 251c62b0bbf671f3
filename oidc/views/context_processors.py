"""Context processors of the sign-in pages."""

import functools
from typing import Any

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, QueryDict
from django.urls import reverse

from accounts.allauth_internals import LOGIN_SESSION_KEY
from accounts.factors import first_codes
from oidc.authorization.interactions import SESSION_KEY, Interaction, find_interaction, latest_interaction
from oidc.clients.lookup import find_client
from oidc.domains.branding import client_context


def pending_client(request: HttpRequest) -> dict[str, Any]:
    """Return the apps whose requests are pending in this session (a context processor).

    `asking` is the app that this page leads to, for pages of a sign-in or a confirmation. `waiting_app` is the app of
    the newest request that was not dismissed, for the banner on account pages.
    """
    session = getattr(request, "session", None)
    if session is None or SESSION_KEY not in session:
        return {"asking": None, "waiting_app": None}
    # Looked up only when a template uses it: message and script texts are rendered as templates too.
    return {
        "asking": functools.cache(lambda: asking_app(_followed_by(request))),
        "waiting_app": functools.cache(lambda: asking_app(latest_interaction(session))),
    }


def _followed_by(request: HttpRequest) -> Interaction | None:
    """Return the pending request that follows the page, None if something else does."""
    session, signed_in = request.session, request.user.is_authenticated
    following = request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME)
    if not following and signed_in and getattr(request.resolver_match, "view_name", "") == "first_recovery_codes":
        following = session.get(first_codes.SESSION_KEY)
    elif not following and not signed_in:
        # A sign-in that has further steps stores its target. Without one it continues with the newest request
        # (LOGIN_REDIRECT_URL).
        following = (session.get(LOGIN_SESSION_KEY) or {}).get("redirect_url") or reverse("resume")
    path, _, query = (following or "").partition("?")
    if path != reverse("resume"):
        return None
    handle = QueryDict(query).get("request")
    return find_interaction(session, handle) if handle else latest_interaction(session)


def asking_app(pending: Interaction | None) -> dict[str, Any] | None:
    """Return the template context of the app that sent a pending request, None if there is none or the app is gone."""
    client = find_client(pending.parameters.get("client_id")) if pending else None
    if pending is None or client is None:
        return None
    return client_context(client, pending.parameters.get("redirect_uri") or "") | {
        "request_key": pending.handle,
        "resume_url": pending.resume_url,
        "choose_url": pending.choose_url,
    }
