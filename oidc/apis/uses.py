"""Uses of a scope: one that was granted, approved or requested can't be deleted (docs/apis.md#deleting)."""

from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from oidc.models import Client, Connection, TokenFamily
from oidc.signals import asking_scope_use


class ScopeUse(StrEnum):
    """Where a scope is named."""

    CONSENT = "consent"
    AUTHORIZATION = "authorization"
    APPROVAL = "approval"
    REVIEW = "review"
    API_KEY = "api_key"


USE_TEXTS = {
    ScopeUse.CONSENT: "{scope} can't be deleted: at least one person has granted it to an app.",
    ScopeUse.AUTHORIZATION: "{scope} can't be deleted: tokens were issued for it.",
    ScopeUse.APPROVAL: "{scope} can't be deleted: at least one app has an approval for it.",
    ScopeUse.REVIEW: "{scope} can't be deleted: at least one app review is about it.",
    ScopeUse.API_KEY: "{scope} can't be deleted: at least one API key has it.",
}


def is_named_in(rows: "QuerySet[Any]", column: str, scope: str) -> bool:
    """Return whether a row names the scope in a column of space-separated scopes.

    The database finds the texts that contain the name, and here whole names count: a scope `tasks` is not in use
    because of `tasks.read`.
    """
    texts = rows.filter(**{f"{column}__contains": scope}).order_by().values_list(column, flat=True).distinct()
    return any(scope in text.split() for text in texts.iterator())


def uses_of(scope: str) -> list[ScopeUse]:
    """Return where a scope is named, also where it was removed, revoked or has expired since."""
    uses = []
    consents = Connection.objects.all()
    if is_named_in(consents, "scopes", scope) or is_named_in(consents, "removed_scopes", scope):
        uses.append(ScopeUse.CONSENT)
    if is_named_in(TokenFamily.objects.all(), "scope", scope):
        uses.append(ScopeUse.AUTHORIZATION)
    if is_named_in(Client.objects.all(), "approved_scopes", scope):
        uses.append(ScopeUse.APPROVAL)
    answers: list[tuple[Any, Any]] = asking_scope_use.send(sender=ScopeUse, scope=scope)
    return uses + [use for _, use in answers if use is not None]


def use_messages(scope: str) -> list[str]:
    """Return a sentence for each use of a scope."""
    return [USE_TEXTS[use].format(scope=scope) for use in uses_of(scope)]
