"""What a billing system reports: signed, applied once for each event id, and only by legal steps (docs/plans.md)."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.dateparse import parse_datetime

from accounts.models import Account, BillingEvent, Family, Organization, Plan
from accounts.models.subscriptions import State, validate_addons
from accounts.plans import lifecycle
from accounts.plans.lifecycle import Actor, Holder, IllegalTransition
from devportal.lib import clock
from devportal.lib.storable import check_moment, is_storable

TIMESTAMP_TOLERANCE_SECONDS = 300
HOLDERS = ("account", "family", "organization")
_DATES = ("trial_end", "period_end", "read_only_until")
_KEYS = frozenset({"id", "holder", "plan", "state", "addons", *_DATES})


@dataclass(eq=False)
class WebhookError(Exception):
    """A report that is not applied: an HTTP status, a code for programs, a message for people."""

    status: int
    code: str
    message: str
    retry_after: int = 0


def verify_signature(secret: str, timestamp: str, signature: str, body: bytes) -> None:
    """Refuse a body that is not signed with `secret`, or was signed more than five minutes away from now.

    `signature` is `sha256=` and the hexadecimal HMAC-SHA256 of the timestamp (seconds since 1970), a dot and the body.
    """
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookError(401, "invalid_signature", "Billing-Timestamp is missing or no number.")
    signed = timestamp.encode() + b"." + body
    expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape")):
        raise WebhookError(401, "invalid_signature", "Billing-Signature does not fit this body.")
    if abs(clock.timestamp() - int(timestamp)) > TIMESTAMP_TOLERANCE_SECONDS:
        raise WebhookError(401, "stale", "Billing-Timestamp is more than five minutes away from now.")


@dataclass(frozen=True)
class BillingNotification:
    """One report, read and checked for its form."""

    event_id: str
    kind: str
    name: str
    plan: str | None
    state: str | None
    details: dict[str, Any]


def parse_notification(body: bytes) -> BillingNotification:
    """Return what `body` says. Raises WebhookError, naming the key that is wrong."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _malformed("the body", "is no JSON") from error
    if not isinstance(values, dict):
        raise _malformed("the body", "is no object")
    if unknown := sorted(set(values) - _KEYS):
        raise _malformed(unknown[0], "is unknown")
    holder = values.get("holder")
    if not isinstance(holder, dict) or len(holder) != 1 or next(iter(holder)) not in HOLDERS:
        raise _malformed("holder", f"must name one of {', '.join(HOLDERS)}")
    ((kind, name),) = holder.items()
    state = _text(values, "state") if "state" in values else None
    if state is not None and state not in State.values:
        raise _malformed("state", f"must be one of {', '.join(State.values)}")
    details: dict[str, Any] = {date: _moment(values, date) for date in _DATES if date in values}
    if "addons" in values:
        details["addons"] = _addons(values)
    plan = _text(values, "plan") if "plan" in values else None
    return BillingNotification(
        _text(values, "id", 200), kind, _text({f"holder.{kind}": name}, f"holder.{kind}"), plan, state, details
    )


def _malformed(key: str, why: str) -> WebhookError:
    return WebhookError(400, "malformed", f"{key}: {why}")


def _text(values: dict[str, Any], key: str, longest: int = 254) -> str:
    value = values.get(key)
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not is_storable(value):
        raise _malformed(key, f"must be a text of 1 to {longest} characters")
    return value


def _moment(values: dict[str, Any], key: str) -> datetime | None:
    if values[key] is None:
        return None
    try:
        moment = parse_datetime(_text(values, key))
    except ValueError as error:
        raise _malformed(key, "is no date") from error
    if moment is None or moment.tzinfo is None:
        raise _malformed(key, "must be a date with time and offset, such as 2031-01-01T00:00:00Z, or null")
    try:
        check_moment(moment)
    except ValidationError as error:
        raise _malformed(key, " ".join(error.messages)) from error
    return moment


def _addons(values: dict[str, Any]) -> dict[str, Any]:
    addons = values["addons"]
    if addons is None:
        return {}
    try:
        validate_addons(addons)
    except ValidationError as error:
        raise _malformed("addons", " ".join(error.messages)) from error
    found: dict[str, Any] = addons
    return found


@transaction.atomic
def apply_notification(body: bytes) -> bool:
    """Apply a report whose signature is right; tell whether it did anything: False if it was applied before.

    Raises WebhookError, and then nothing is changed, and the same event may be sent again.
    """
    report = parse_notification(body)
    digest = hashlib.sha256(body).hexdigest()
    # The unique id lets one of two that arrive at once in; the other waits for it, and finds its row.
    event, is_new = BillingEvent.objects.get_or_create(event_id=report.event_id, defaults={"digest": digest})
    if not is_new:
        if event.digest != digest:
            raise WebhookError(409, "id_reused", "An event of this id was applied before, and said something else.")
        return False
    try:
        event.subscription = _apply(report)
    except IllegalTransition as error:
        raise WebhookError(409, "illegal_transition", str(error)) from error
    event.save(update_fields=["subscription"])
    return True


def _apply(report: BillingNotification) -> Any:
    holder = _holder(report)
    by = Actor("billing", note=f"event {report.event_id}")
    details = report.details | ({"plan": _plan(report.plan)} if report.plan else {})
    subscription = lifecycle.lock_subscription(holder)
    if subscription is None:
        if report.state is None:
            raise IllegalTransition("There is no subscription yet: say in which state it begins.")
        if report.plan is None:
            raise _malformed("plan", "is missing, and there is no subscription yet")
        return lifecycle.start_subscription(holder, report.state, by, **details)
    if report.state in (None, lifecycle.effective_state(subscription, clock.now()).state):
        return lifecycle.change_details(subscription, by, **details)
    return lifecycle.transition(subscription, str(report.state), by, **details)


def _holder(report: BillingNotification) -> Holder:
    holder: Holder | None
    match report.kind:
        case "account":
            holder = Account.objects.filter(email=report.name.lower()).first()
        case "family":
            holder = Family.objects.filter(owner__email=report.name.lower()).first()
        case _:
            holder = Organization.objects.filter(name=report.name).first()
    if holder is None:
        raise WebhookError(422, "unknown_holder", f"There is no such {report.kind}.")
    return holder


def _plan(plan_id: str) -> Plan:
    plan = Plan.objects.filter(plan_id=plan_id).first()
    if plan is None:
        raise WebhookError(422, "unknown_plan", "There is no plan of this id.")
    return plan
