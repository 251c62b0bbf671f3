"""The plan as a person's own page shows it: which one, through whom, and when it changes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from accounts.models import Account, Invitation, Subscription
from accounts.models.subscriptions import DATES, State
from accounts.plans import resolution, sources
from accounts.plans.states import STATE_TEXTS

STATUS_LABELS = {"granted": "Included", "denied": "Not included"}


@dataclass(frozen=True)
class PlanOverview:
    """What the plan page shows."""

    name: str
    state: str
    through: str
    read_only: bool
    next_words: str
    next_change: datetime | None
    period_end: datetime | None
    apps: list[str]
    addons: list[tuple[str, int]]
    features: list[tuple[str, str, bool]]


def plan_overview(account: Account) -> PlanOverview:
    """Return what the person's plan page shows. Raises accounts.sources.SourceFailed."""
    if settings.PLAN_SOURCE_URL:
        return _page(sources.plan_source().plan(account), account)
    found = resolution.resolve_plan(account)
    row = None
    if found.subscription is not None:
        holders = Subscription.objects.select_related("family__owner", "organization", "account")
        row = holders.filter(pk=found.subscription).first()
    changes = found.effective.next_change if found.effective else None
    return _page(found.answer, account, row, changes)


def _page(
    answer: dict[str, Any], account: Account, row: Subscription | None = None, next_change: datetime | None = None
) -> PlanOverview:
    state = answer["state"]
    renews = row.period_end if row is not None and state == State.ACTIVE else None
    return PlanOverview(
        name=answer["plan_display_name"],
        state=STATE_TEXTS[state].status,
        through=_through(answer["source"], account, row),
        read_only=answer["read_only"],
        next_words=STATE_TEXTS[state].next_change if next_change else "",
        next_change=next_change,
        period_end=renews,
        apps=answer["apps"],
        addons=[(name, entry["quantity"]) for name, entry in sorted((answer["addons"] or {}).items())],
        features=[
            (name, _words(entitlement), entitlement["status"] != "denied")
            for name, entitlement in answer["entitlements"].items()
        ],
    )


def _through(source: str, account: Account, row: Subscription | None) -> str:
    if source == "family":
        if row is None or row.family is None:
            return "A family that you belong to"
        return "Your family" if row.family.owner_id == account.pk else f"The family of {row.family.owner.email}"
    if source == "organization":
        name = row.organization.name if row is not None and row.organization is not None else None
        return f"Your seat at {name}" if name else "Your seat at an organization"
    return "Your own" if source == "own" else ""


def _words(entitlement: dict[str, Any]) -> str:
    limit = entitlement["limit"]
    if entitlement["status"] == "granted_with_limit" and limit is not None:
        return f"Up to {limit:,} {entitlement['unit'] or ''}".strip()
    return STATUS_LABELS.get(entitlement["status"], "Included, with a limit")


def export_plans(account: Account) -> dict[str, Any]:
    """Return the plans, groups and invitations of a person for their data export."""
    own = Subscription.objects.select_related("plan").filter(account=account).first()
    return {
        "subscription": None if own is None else _subscription(own),
        "families": [
            {"owner": member.family.owner.email, "joined_at": member.joined_at.isoformat()}
            for member in account.family_memberships.select_related("family__owner")
        ],
        "organizations": [
            {"name": member.organization.name, "joined_at": member.joined_at.isoformat()}
            for member in account.organization_memberships.select_related("organization")
        ],
        "invitations_received": _received(account),
        "invitations_sent": [
            {"email": row.email, **_course(row)} for row in account.invitations_sent.filter(family__owner=account)
        ],
    }


def _received(account: Account) -> list[dict[str, Any]]:
    if not account.email_verified:  # they may be somebody else's
        return []
    rows = Invitation.objects.filter(email=account.email).select_related("family__owner", "organization")
    return [
        {
            "family_of": row.family.owner.email if row.family else None,
            "organization": row.organization.name if row.organization else None,
            **_course(row),
        }
        for row in rows.order_by("pk")
    ]


def _course(row: Invitation) -> dict[str, str | None]:
    """Return when an invitation was sent, answered or withdrawn."""
    moments = ("created_at", "expires_at", "accepted_at", "declined_at", "withdrawn_at")
    return {name: at.isoformat() if (at := getattr(row, name)) else None for name in moments}


def _subscription(row: Subscription) -> dict[str, Any]:
    dates = {name: getattr(row, name) for name in DATES}
    return {
        "plan": row.plan.plan_id,
        "state": row.state,
        **{name: date.isoformat() if date else None for name, date in dates.items()},
        "addons": row.addons,
        "history": [
            {"from": event.from_state, "to": event.to_state, "at": event.at.isoformat(), "by": _who(event.by)}
            for event in row.events.all()
        ],
    }


def _who(by: str) -> str:
    # An operator's address is not part of the person's data.
    return "operator" if by.startswith("operator") else by
