"""Details for members of an app's project on a sign-in error page: what is wrong, and the fix."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.dispatch import receiver
from django.urls import reverse

from accounts.models import Account
from core.http import request_id
from core.http.hosts import authority_of
from devportal.console.logs.fixes import why_not_registrable
from devportal.console.logs.sign_in_writer import redact_secrets
from devportal.console.models import AuditEvent
from oidc.clients.domain_names import domains_of, on_unknown_hosts
from oidc.clients.lookup import is_possible_client_id
from oidc.models import Client, ProjectMember
from oidc.projects.roles import Role, is_at_least
from oidc.signals import Comparison, DevelopersView, FailedSignIn, sign_in_failed
from oidc.values.redirect_uris import nearest_registered, shared_start

_LONGEST = 2000  # characters of a URL that are shown


@receiver(sign_in_failed)
def view_for_developers(sender: Any, account: Account, failure: FailedSignIn, **kwargs: Any) -> DevelopersView | None:
    """Return the details for a member of the app's project, or None for anyone else."""
    if failure.client is None:
        return _unknown_client(account, failure.client_id) if failure.kind == "client" else None
    member = ProjectMember.objects.filter(account=account, project=failure.client.project_id).first()
    if member is None or failure.client.project.is_deleted:
        return None
    may_edit = is_at_least(member.role, Role.DEVELOPER)
    log = _page("sign_ins", failure.client, request_id=request_id.current())
    entry = ("The entry in the sign-in log (after about 10 seconds)", log)
    if failure.kind == "redirect-url" and failure.redirect_uri:
        return _other_address(failure.client, failure.redirect_uri, entry, may_edit)
    if failure.kind == "sign-out":
        return _sign_out(failure.client, failure, entry, may_edit)
    settings_page = _page("client_settings", failure.client)
    if failure.kind == "unavailable":
        may_turn_on = may_edit and not failure.client.enabled
        fix = (("Turn the app on", f"{settings_page}#switch"),) if may_turn_on else ()
        return DevelopersView(failure.client.unavailable_text, links=(*fix, entry))
    if failure.kind == "full":
        fix = (("Ask for a review", _page("review", failure.client)),) if may_edit else ()
        return DevelopersView(
            "The project has reached its limit of people for apps without a review.", links=(*fix, entry)
        )
    fix = (("Check the authorization URL in the tester", f"{_page('playground', failure.client)}#tester"),)
    return DevelopersView("The details below name the part of the request that is wrong.", links=(*fix, entry))


def _other_address(client: Client, sent: str, entry: tuple[str, str], may_edit: bool) -> DevelopersView:
    comparison = _compare(sent, client.registered_redirect_uris)
    text = "The redirect URL of the request is not registered. Compared with the nearest one that is:"
    if not client.registered_redirect_uris:
        text = "The app has no redirect URL yet. The request has this one:"
    links, warning = [entry], ""
    if may_edit and _may_be_added(sent):
        links.insert(0, ("Add this URL to the app", _page("client_settings", client, add=sent)))
        warning = _warn_of_host(client, sent)
    return DevelopersView(text, comparison, tuple(links), warning)


def _sign_out(client: Client, failure: FailedSignIn, entry: tuple[str, str], may_edit: bool) -> DevelopersView:
    sent, registered = failure.redirect_uri, client.registered_post_logout_redirect_uris
    links, warning = [("Check the sign-out URL in the tester", f"{_page('playground', client)}#tester"), entry], ""
    if not sent or sent in registered:
        return DevelopersView(failure.text, links=tuple(links))
    if may_edit and _may_be_added(sent):
        added = _page("client_settings", client, add_sign_out=sent)
        links.insert(0, ("Add this URL to the app’s sign-out URLs", added))
        warning = _warn_of_host(client, sent)
    if failure.text:
        text = f"{failure.text} The sign-out URL is not registered either."
    elif registered:
        text = "The sign-out URL of the request is not registered. Compared with the nearest one that is:"
    else:
        text = "The app has no sign-out URL yet. The request has this one:"
    return DevelopersView(text, _compare(sent, registered), tuple(links), warning)


def _warn_of_host(client: Client, sent: str) -> str:
    """Return a warning if the host of a received URL may be someone else's: anyone can send a developer such a link."""
    if not on_unknown_hosts(client, [sent], domains_of(client.project)):
        return ""
    return (
        f"The host {authority_of(sent)} has nothing in common with the app’s URLs and the project’s domains. Add "
        "the URL only if it is yours."
    )


def _compare(sent: str, registered: Sequence[str]) -> Comparison:
    """Compare a received URL with the nearest registered one."""
    received = redact_secrets(sent[:_LONGEST])
    nearest = nearest_registered(sent, registered)
    if nearest is None:
        return Comparison("", received, "")
    start = shared_start(received, nearest)
    return Comparison(nearest[:start], received[start:], nearest[start:])


def _may_be_added(sent: str) -> bool:
    """Return whether the received URL could be registered. A redacted URL can't."""
    return sent == redact_secrets(sent[:_LONGEST]) and not why_not_registrable(sent)


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
    name = str(gone.before.get("name", "")) or "An app"
    when = f"{gone.at:%-d %B %Y}"
    link = ("The apps of the project", reverse("console:clients", args=[gone.project]))
    return DevelopersView(f"{name}, which had this id, was deleted on {when}.", links=(link,))


def _page(name: str, client: Client, **query: str) -> str:
    address = reverse(f"console:{name}", args=[client.project.public_id, client.client_id])
    return f"{address}?{urlencode(query)}" if query else address
