"""Context processors of the sign-in pages."""

import functools
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from oidc.authorization.interactions import SESSION_KEY, Interaction, pending_interactions
from oidc.clients.branding import client_context
from oidc.clients.lookup import find_client
from oidc.clients.redirect_uris import origin_of


def pending_client(request: HttpRequest) -> dict[str, Any]:
    """Return the app whose request is pending in this session, as `asking` (a context processor).

    Also add the origins of all pending apps to the `form-action` policy of the page: Chromium applies that policy to
    the redirects that follow a form, and signing in may end with a redirect to the app.
    """
    session = getattr(request, "session", None)
    if session is None or SESSION_KEY not in session:
        return {"asking": None}
    pending = pending_interactions(session)
    if not hasattr(request, "form_action_origins"):  # pages about a single app set their origin themselves
        origins = {origin_of(each.parameters.get("redirect_uri")) for each in pending}
        request.form_action_origins = sorted(origins)  # type: ignore[attr-defined]
    # Looked up only when a template uses it: message and script texts are rendered as templates too.
    return {"asking": functools.cache(lambda: asking_app(pending[-1]) if pending else None)}


def asking_app(pending: Interaction) -> dict[str, Any] | None:
    """Return the template context of the app that sent a pending request, None if the app is gone."""
    client = find_client(pending.parameters.get("client_id"))
    if client is None:
        return None
    return client_context(client, pending.parameters.get("redirect_uri") or "") | {
        "request_key": pending.key,
        "resume_url": f"{reverse('resume')}?request={pending.key}",
        "choose_url": pending.choose_url,
    }
