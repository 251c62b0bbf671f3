"""Fixes for failures, with links to pages of the console and anchors of the docs."""

from dataclasses import dataclass

from django.urls import reverse

from oidc.models import Client, Project
from oidc.projects.roles import Role


@dataclass(frozen=True)
class Fix:
    """A fix: a sentence, and the label and URL of the page where it is done.

    `at_least` is the lowest role that may do it. Everyone may read the docs.
    """

    text: str
    label: str = ""
    url: str = ""
    at_least: str = Role.VIEWER


def docs(page: str, anchor: str = "") -> str:
    """Return the URL of a page of the docs, by its name (devportal/docs/pages.py)."""
    return reverse(f"docs_{page}") + (f"#{anchor}" if anchor else "")


def client_page(client: Client, name: str, anchor: str = "") -> str:
    """Return the URL of one of a client's pages, by its URL name."""
    path = reverse(f"console:{name}", args=[client.project.public_id, client.client_id])
    return path + (f"#{anchor}" if anchor else "")


def project_page(project: Project, name: str, anchor: str = "") -> str:
    """Return the URL of one of a project's pages, by its URL name."""
    return reverse(f"console:{name}", args=[project.public_id]) + (f"#{anchor}" if anchor else "")


def switched_off(client: Client) -> Fix:
    """Return the fix for a client that is off, or was off when the entry was written."""
    if client.project.is_suspended:
        text = "The project is suspended. Its page says why, and how to appeal."
        return Fix(text, "Read why", project_page(client.project, "project", "appeal"))
    if not client.enabled:
        text = "Turn the client on. Sign-in then works again immediately."
        return Fix(text, "Turn on", client_page(client, "client_settings", "switch"), Role.DEVELOPER)
    text = "The client is on again. Start a new sign-in."
    return Fix(text, "Settings", client_page(client, "client_settings", "switch"))
