"""Details for members of an app's project on a sign-in error page: what is wrong, and the fix."""

from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.urls import reverse

from accounts.models import Account
from core.http import request_id
from devportal.console.logs.redaction import MARKS, redact_secrets
from devportal.operations.models import AuditEvent
from oidc.clients.lookup import is_possible_client_id
from oidc.clients.redirect_uris import nearest_registered, shared_start, validate_redirect_uri
from oidc.models import Client, ProjectMember
from oidc.projects.roles import Role, is_at_least
from oidc.signals import Comparison, DevelopersView, Stop, sign_in_stopped

_LONGEST = 2000  # characters of a URL that are shown


@receiver(sign_in_stopped)
def view_for_developers(sender: Any, account: Account, stop: Stop, **kwargs: Any) -> DevelopersView | None:
    """Return the details for a member of the app's project, or None for anyone else."""
    if stop.client is None:
        return _unknown_client(account, stop.client_id) if stop.kind == "client" else None
    member = ProjectMember.objects.filter(account=account, project=stop.client.project_id).first()
    if member is None or stop.client.project.is_deleted:
        return None
    may_edit = is_at_least(member.role, Role.DEVELOPER)
    log = _page("sign_ins", stop.client, request_id=request_id.current())
    entry = ("The entry in the sign-in log (after about 10 seconds)", log)
    if stop.kind == "redirect-url" and stop.redirect_uri:
        return _other_address(stop.client, stop.redirect_uri, entry, may_edit)
    settings_page = _page("client_settings", stop.client)
    if stop.kind == "unavailable":
        may_turn_on = may_edit and not stop.client.enabled
        fix = (("Turn the client on", f"{settings_page}#switch"),) if may_turn_on else ()
        return DevelopersView(stop.client.unavailable_text, links=(*fix, entry))
    if stop.kind == "full":
        fix = (("Ask for a review", _page("review", stop.client)),) if may_edit else ()
        return DevelopersView("The project’s unreviewed apps have reached their limit of people.", links=(*fix, entry))
    fix = (("Check the authorization URL in the tester", _page("client_tester", stop.client)),)
    return DevelopersView("The details below name the part of the request that is wrong.", links=(*fix, entry))


def _other_address(client: Client, sent: str, entry: tuple[str, str], may_edit: bool) -> DevelopersView:
    received = redact_secrets(sent[:_LONGEST])
    nearest = nearest_registered(sent, client.registered_redirect_uris)
    if nearest is None:
        comparison, text = Comparison("", received, ""), "The client has no redirect URL yet. The request has this one:"
    else:
        start = shared_start(received, nearest)
        comparison = Comparison(nearest[:start], received[start:], nearest[start:])
        text = "The redirect URL of the request is not registered. Compared with the nearest one that is:"
    links = [entry]
    if may_edit and _may_be_added(sent, received):
        links.insert(0, ("Add this URL to the client", _page("client_settings", client, add=sent)))
    return DevelopersView(text, comparison, tuple(links))


def _may_be_added(sent: str, received: str) -> bool:
    """Return whether the received URL could be registered. A redacted URL can't."""
    if sent != received or any(mark in sent for mark in MARKS):
        return False
    try:
        validate_redirect_uri(sent)
    except ValidationError:
        return False
    return True


def _unknown_client(account: Account, sent: str) -> DevelopersView | None:
    """Return the difference to a client of the person's projects, or which deleted client had the id."""
    wanted = sent.strip()
    if not is_possible_client_id(wanted):
        return None
    own = Client.objects.filter(project__members__account=account, project__deleted_at=None)
    near = own.filter(client_id__iexact=wanted).select_related("project").first()
    if near is not None:
        text = f"No client has this id. That of {near.name} differs from it only in case or in spaces: {near.client_id}"
        return DevelopersView(text, links=(("Its quick start", _page("quick_start", near)),))
    live = ProjectMember.objects.filter(account=account, project__deleted_at=None)
    projects = live.values_list("project__public_id", flat=True)
    gone = AuditEvent.objects.filter(target=wanted, action="client.deleted", project__in=list(projects)).first()
    if gone is None:
        return None
    name = str(gone.before.get("name", "")) or "A client"
    when = f"{gone.at:%-d %B %Y}"
    link = ("The clients of the project", reverse("console:clients", args=[gone.project]))
    return DevelopersView(f"{name}, which had this id, was deleted on {when}.", links=(link,))


def _page(name: str, client: Client, **query: str) -> str:
    address = reverse(f"console:{name}", args=[client.project.public_id, client.client_id])
    return f"{address}?{urlencode(query)}" if query else address
