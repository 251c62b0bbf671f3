"""Send forms of the console as a browser does: with the idempotency token of their page."""

from typing import Any

from django.test import Client as Browser
from django.urls import reverse

from devportal.console.models import AuditEvent
from oidc.models import Client, Project

URI = "https://app.example.com/callback"


def at(page: str, project: Project, client: Client | None = None, **more: Any) -> str:
    """Return the URL of a console page."""
    arguments = {"project_id": project.public_id} | ({"client_id": client.client_id} if client else {}) | more
    return reverse(f"console:{page}", kwargs=arguments)


def send(browser: Browser, url: str, fields: dict[str, Any], form_on: str | None = None) -> Any:
    """Send a form that creates something, with the token of its page, which is `form_on` or the form's own URL."""
    token = browser.get(form_on or url).context["once"]
    return browser.post(url, {"once": token} | fields)


def trail(action: str) -> list[AuditEvent]:
    """Return the audit events of one action, the oldest first."""
    return list(AuditEvent.objects.filter(action=action).order_by("pk"))


def is_nowhere(secret: str, *places: Any) -> bool:
    """Return whether none of these texts contains a secret."""
    return all(secret not in str(place) for place in places)
