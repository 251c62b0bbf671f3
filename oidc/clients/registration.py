"""Create clients, change their settings, turn them off and on, and delete them.

Every function takes the acting account and reports an audit event with the values before and after.
"""

from collections.abc import Collection, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import Account
from core.audit import changes
from core.changed_meanwhile import ChangedMeanwhile, digest_of
from core.names import validate_name
from oidc.apis.scopes import clean_optional_scopes, format_scope, optional_candidates, optional_scopes, parse_scope
from oidc.clients.domain_names import hosts_of
from oidc.clients.lookup import lock_client, report_client_event
from oidc.clients.reviewed_hosts import REVIEWED_COLUMNS, outside_hosts, set_reviewed_hosts
from oidc.models import (
    AccessToken,
    AuthorizationCode,
    Client,
    Connection,
    Delivery,
    EventReceiver,
    Project,
    RefreshToken,
    TokenFamily,
)
from oidc.models.clients import new_client_id
from oidc.projects.holds import hold_rows
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.people import keep_places_of_client, people_to_keep
from oidc.projects.roles import Gone, lock_project
from oidc.signals import renaming_client
from oidc.values import redirect_uris as client_redirect_uris
from oidc.values.redirect_uris import MAX_POST_LOGOUT_REDIRECT_URIS, MAX_REDIRECT_URIS

CHANGED_BY_SETTINGS = (
    "name",
    "redirect_uris",
    "post_logout_redirect_uris",
    "least_acr",
    "forgive_lost_responses",
)


def settings_digest(client: Client) -> str:
    """Return a digest of the settings that `update_client` changes, which tells whether someone has changed them."""
    return digest_of([getattr(client, name) for name in CHANGED_BY_SETTINGS])


def optional_scopes_digest(client: Client) -> str:
    """Return a digest of the optional scopes, which tells whether someone has changed them."""
    return digest_of(client.optional_scopes)


def _shown(client: Client) -> dict[str, Any]:
    """Return the settings of a client as the audit trail stores them."""
    return {
        "name": client.name,
        "type": client.type,
        "redirect_uris": client.redirect_uris.split(),
        "post_logout_redirect_uris": client.post_logout_redirect_uris.split(),
        "optional_scopes": client.optional_scopes.split(),
        "enabled": client.enabled,
        "least_acr": client.least_acr,
        "forgive_lost_responses": client.forgive_lost_responses,
        **_shown_hosts(client),
    }


def _shown_hosts(client: Client) -> dict[str, list[str]]:
    """Return at which hosts a reviewed app counts as reviewed, and at which it does not (docs/review.md#hosts)."""
    if not client.is_verified:
        return {}
    outside = outside_hosts(client)
    counting = [host for host in hosts_of(client.redirect_uris.split()) if host not in outside]
    return {"hosts_in_review": counting, "hosts_outside_review": outside}


def create_client(
    project: Project,
    actor: Account,
    name: str,
    kind: str,
    redirect_uris: Sequence[str],
    post_logout_redirect_uris: Sequence[str] = (),
) -> Client:
    """Create a client in `project` and return it. Raises ValidationError, QuotaExceeded, Gone.

    Names need not be unique in a project: a website and a mobile app of the same product may share a name on the
    consent page.
    """
    validate_name(name)
    if kind not in Client.Type.values:
        raise ValidationError("Choose one of the three types.")
    redirects = client_redirect_uris.clean_redirect_uris(redirect_uris, MAX_REDIRECT_URIS, required=True)
    sign_outs = client_redirect_uris.clean_redirect_uris(post_logout_redirect_uris, MAX_POST_LOGOUT_REDIRECT_URIS)
    with transaction.atomic():
        lock_project(project.pk)
        if project.clients.count() >= settings.CLIENTS_PER_PROJECT:
            raise QuotaExceeded(f"This project has {settings.CLIENTS_PER_PROJECT} apps, which is the maximum.")
        client = Client.objects.create(
            project=project,
            client_id=new_client_id(),
            name=name.strip(),
            type=kind,
            redirect_uris=" ".join(redirects),
            post_logout_redirect_uris=" ".join(sign_outs),
        )
        report_client_event("client.created", client, actor, after=_shown(client))
    return client


def update_client(
    client: Client,
    actor: Account,
    redirect_uris: Sequence[str],
    post_logout_redirect_uris: Sequence[str],
    name: str | None = None,
    *,
    least_acr: str | None = None,
    forgive_lost_responses: bool | None = None,
    seen: str = "",
) -> Client:
    """Set a client's redirect and sign-out URLs, and the other settings that are given; return it.

    The name of a reviewed client was reviewed, so it can only be changed by another review. `seen` is the
    `settings_digest` of the values that the person saw; with "", changes since then are replaced. Raises
    ValidationError, ChangedMeanwhile, Gone.
    """
    redirects = client_redirect_uris.clean_redirect_uris(redirect_uris, MAX_REDIRECT_URIS, required=True)
    sign_outs = client_redirect_uris.clean_redirect_uris(post_logout_redirect_uris, MAX_POST_LOGOUT_REDIRECT_URIS)
    with transaction.atomic():
        row = lock_client(client.pk)
        before, is_unseen = _shown(row), bool(seen) and seen != settings_digest(row)
        if name is not None and name.strip() != row.name:
            renaming_client.send(sender=Client, client=row)
            if row.is_verified:
                raise ValidationError("The name of a reviewed app can only be changed through review.")
            validate_name(name)
            row.name = name.strip()
        if least_acr is not None:
            if least_acr not in Client.LeastAcr.values:
                raise ValidationError("Choose one of the three levels.")
            row.least_acr = least_acr
        if forgive_lost_responses is not None:
            row.forgive_lost_responses = forgive_lost_responses
        row.redirect_uris = " ".join(redirects)
        row.post_logout_redirect_uris = " ".join(sign_outs)
        set_reviewed_hosts(row)
        was, now = changes(before, _shown(row))
        if now and is_unseen:  # a form that is sent twice changes nothing the second time
            raise ChangedMeanwhile
        row.save(update_fields=[*CHANGED_BY_SETTINGS, *REVIEWED_COLUMNS, "updated"])
        if now:
            report_client_event("client.changed", row, actor, before=was, after=now)
    return row


def change_optional_scopes(client: Client, actor: Account, names: Collection[str], seen: str = "") -> Client:
    """Set the scopes of a client that people may leave out; return it.

    Scopes that the page does not offer stay as they are: of APIs that are turned off, without an approval now, or known
    only to other processes yet. `seen` is the `optional_scopes_digest` that the person saw; with "", changes since then
    are replaced. Raises ValidationError, ChangedMeanwhile, Gone.
    """
    with transaction.atomic():
        row = lock_client(client.pk)
        before, is_unseen = _shown(row), bool(seen) and seen != optional_scopes_digest(row)
        chosen = parse_scope(clean_optional_scopes(row, names))
        offered = {scope.name for scope in optional_candidates(row) if scope.enabled}
        row.optional_scopes = format_scope({*chosen, *(optional_scopes(row) - offered)})
        was, now = changes(before, _shown(row))
        if now and is_unseen:
            raise ChangedMeanwhile
        row.save(update_fields=["optional_scopes", "updated"])
        if now:
            report_client_event("client.changed", row, actor, before=was, after=now)
    return row


def set_client_enabled(client: Client, actor: Account, enabled: bool, reason: str = "") -> None:
    """Turn a client off or on (docs/sign-in.md#apps-that-are-turned-off-or-suspended). Raises Gone.

    Its tokens are not revoked, only rejected while it is off. `reason` is the operator's, for the audit trail.
    """
    with transaction.atomic():
        row = lock_client(client.pk)
        if row.enabled == enabled:
            return
        row.enabled = enabled
        row.save(update_fields=["enabled", "updated"])
        action = "client.turned_on" if enabled else "client.turned_off"
        details = {"reason": reason} if reason else {}
        report_client_event(
            action, row, actor, details=details, before={"enabled": not enabled}, after={"enabled": enabled}
        )


def delete_client(client: Client, actor: Account) -> None:
    """Delete a client with all its credentials (docs/security.md#deletion). Its id is never used again.

    People who authorized an app without a review keep counting toward the user limit (docs/review.md#people).
    """
    with transaction.atomic():
        hold_rows(Account, people_to_keep(client))  # accounts before clients, like the deletion of one of them
        try:
            row = lock_client(client.pk, no_new_rows=True)  # so that no authorization is added meanwhile
        except Gone:
            return
        report_client_event("client.deleted", row, actor, before=_shown(row))
        keep_places_of_client(row)
        # Receivers before deliveries, like workers (oidc/events/sending.py).
        list(EventReceiver.objects.select_for_update(no_key=True).filter(client=row).order_by("pk").values_list("pk"))
        # Children first, one statement per table: Django's collector would load all tokens, which may be a million.
        of_client = {"family__connection__client": row.pk}
        RefreshToken.objects.filter(**of_client).update(access_token=None)
        AccessToken.objects.filter(**of_client).update(source_refresh_token=None)
        for rows in (
            Delivery.objects.filter(receiver__client=row.pk),
            RefreshToken.objects.filter(**of_client),
            AccessToken.objects.filter(**of_client),
            AuthorizationCode.objects.filter(**of_client),
            TokenFamily.objects.filter(connection__client=row.pk),
            Connection.objects.filter(client=row.pk),
        ):
            rows._raw_delete(rows.db)
        row.delete()
