"""The plan in the form of a person's plan page: which plan, its source, and its next change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from accounts.models import Account, Invitation, Subscription
from accounts.models.plans import DATES, State
from accounts.plans import catalogue, resolution
from accounts.plans.catalogue import CatalogueSnapshot, in_words
from accounts.plans.lifecycle import STATE_TEXTS

STATUS_LABELS = {"granted": "Included", "denied": "Not included"}
DENIED = "denied"
MOST_OTHERS = 12


@dataclass(frozen=True)
class FeatureLine:
    """One feature: its name and what is granted, in words; `used` and `limit` if both are known."""

    name: str
    words: str
    included: bool
    used: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class OtherPlan:
    """A plan that the person does not have, and what it includes, in words."""

    name: str
    includes: list[str]


@dataclass(frozen=True)
class PlanOverview:
    """The contents of the plan page."""

    name: str
    state: str
    through: str
    read_only: bool
    next_words: str
    next_change: datetime | None
    period_end: datetime | None
    apps: list[str]
    addons: list[tuple[str, int]]
    features: list[FeatureLine]
    others: list[OtherPlan]


def plan_overview(account: Account) -> PlanOverview:
    """Return the contents of the person's plan page. Raises accounts.profile.sources.SourceFailed."""
    if settings.PLAN_SOURCE_URL:
        answer, used = resolution.plan_source().plan_and_use(account)
        return _page(answer, account, known=catalogue.current_snapshot(), used=used)
    found = resolution.resolve_plan(account)
    row = None
    if found.subscription is not None:
        holders = Subscription.objects.select_related("family__owner", "organization", "account")
        row = holders.filter(pk=found.subscription).first()
    changes = found.effective.next_change if found.effective else None
    known = catalogue.current_snapshot()
    return _page(found.answer, account, row, changes, known=known, others=_others(known, found.answer["plan_id"]))


def _page(
    answer: dict[str, Any],
    account: Account,
    row: Subscription | None = None,
    next_change: datetime | None = None,
    *,
    known: CatalogueSnapshot,
    used: dict[str, float] | None = None,
    others: list[OtherPlan] | None = None,
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
        apps=[in_words(app) for app in answer["apps"]],
        addons=[(in_words(name), entry["quantity"]) for name, entry in sorted((answer["addons"] or {}).items())],
        features=[
            _line(known.feature_names.get(name) or in_words(name), entitlement, (used or {}).get(name))
            for name, entitlement in answer["entitlements"].items()
        ],
        others=others or [],
    )


def _line(name: str, entitlement: dict[str, Any], used: float | None) -> FeatureLine:
    included, limit = entitlement["status"] != DENIED, entitlement["limit"]
    if used is None or not included:
        return FeatureLine(name, _words(entitlement), included)
    unit = entitlement["unit"] or ""
    if limit is None:
        return FeatureLine(name, f"{used:,} {unit} used".replace("  ", " "), included)
    return FeatureLine(name, f"{used:,} of {limit:,} {unit} used".replace("  ", " "), included, used, limit)


def _others(known: CatalogueSnapshot, plan_id: str) -> list[OtherPlan]:
    """Return the other plans that are shown to everyone; the best one first."""
    listed = [plan for plan in known.plans.values() if plan.is_listed and plan.plan_id != plan_id]
    return [
        OtherPlan(
            plan.display_name,
            [
                known.feature_names[name] + (f": {_limit(granted)}" if granted["limit"] is not None else "")
                for name, granted in plan.entitlements.items()
                if granted["status"] != DENIED
            ],
        )
        for plan in sorted(listed, key=lambda plan: (-plan.rank, plan.plan_id))[:MOST_OTHERS]
    ]


def _through(source: str, account: Account, row: Subscription | None) -> str:
    if source == "family":
        if row is None or row.family is None:
            return "A family that you belong to"
        return "Your family" if row.family.owner_id == account.pk else row.family.called
    if source == "organization":
        name = row.organization.name if row is not None and row.organization is not None else None
        return f"Your seat at {name}" if name else "Your seat at an organization"
    return "You" if source == "own" else ""


def _limit(entitlement: dict[str, Any]) -> str:
    return f"{entitlement['limit']:,} {entitlement['unit'] or ''}".strip()


def _words(entitlement: dict[str, Any]) -> str:
    limit = entitlement["limit"]
    if entitlement["status"] == "granted_with_limit" and limit is not None:
        return f"Up to {_limit(entitlement)}"
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
    if not account.email_verified:  # they may belong to someone else
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
        "plan_name": row.plan.display_name,
        "state": row.state,
        "status": STATE_TEXTS[row.state].status,
        **{name: date.isoformat() if date else None for name, date in dates.items()},
        "addons": row.addons,
        "history": [
            {"from": event.from_state, "to": event.to_state, "at": event.at.isoformat(), "by": event.by}
            for event in row.events.all()
        ],
    }
