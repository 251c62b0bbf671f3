"""Events of a billing system: checking the signature, parsing, and applying each event once (docs/plans.md)."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from rest_framework import serializers

from accounts.models import Account, BillingEvent, Family, Organization, Plan, Subscription
from accounts.models.plans import AddonsField, State
from accounts.plans import lifecycle
from accounts.plans.lifecycle import Actor, Holder, IllegalTransition
from core import clock
from core.email_addresses import address_to_find
from core.http.strict_fields import IsoDateTimeField, StrictCharField, StrictChoiceField, StrictSerializer, first_error
from core.http.webhooks import WebhookError

TIMESTAMP_TOLERANCE = timedelta(minutes=5)


def verify_signature(secret: str, timestamp: str, signature: str, body: bytes) -> datetime:
    """Return when `body` was signed with `secret`: at most five minutes before or after now. Raises WebhookError.

    `signature` is `sha256=` and the hexadecimal HMAC-SHA256 of the timestamp (seconds since 1970), a dot and the body.
    """
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookError(401, "invalid_signature", "Billing-Timestamp is missing or not a number.")
    signed = timestamp.encode() + b"." + body
    expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape")):
        raise WebhookError(401, "invalid_signature", "Billing-Signature does not match this body.")
    if abs(clock.timestamp() - int(timestamp)) > TIMESTAMP_TOLERANCE.total_seconds():
        raise WebhookError(401, "stale", "Billing-Timestamp is more than five minutes from the current time.")
    return datetime.fromtimestamp(int(timestamp), UTC)


@dataclass(frozen=True)
class BillingNotification:
    """One event, parsed and validated."""

    event_id: str
    kind: str
    name: str
    plan: str | None
    state: str | None
    at: datetime
    details: dict[str, Any]


class HolderSerializer(StrictSerializer):
    """The holder of the subscription: one of the three."""

    default_error_messages = {"unknown": "must be one of account, family, organization"}

    account = StrictCharField(max_length=254, required=False)
    family = StrictCharField(max_length=254, required=False)
    organization = StrictCharField(max_length=254, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError("must name one of account, family, organization")
        return attrs


class NotificationSerializer(StrictSerializer):
    """The body of an event (docs/plans.md). Missing keys change nothing; null removes a date or the add-ons."""

    id = StrictCharField(max_length=200)
    at = IsoDateTimeField(required=False)
    holder = HolderSerializer()
    plan = StrictCharField(max_length=254, required=False)
    state = StrictChoiceField(State.values, required=False)
    trial_end = IsoDateTimeField(required=False, allow_null=True)
    period_end = IsoDateTimeField(required=False, allow_null=True)
    read_only_until = IsoDateTimeField(required=False, allow_null=True)
    addons = AddonsField(required=False, allow_null=True)

    def validate_at(self, at: datetime) -> datetime:
        if at > clock.now() + TIMESTAMP_TOLERANCE:
            raise serializers.ValidationError("is in the future")
        return at

    def validate_addons(self, addons: dict[str, Any] | None) -> dict[str, Any]:
        return addons or {}


def parse_notification(body: bytes, signed_at: datetime | None = None) -> BillingNotification:
    """Parse an event, which happened when it was signed unless it says when. Raises WebhookError for the wrong key."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _malformed("the body: is not valid JSON") from error
    try:
        values = NotificationSerializer().run_validation(document)
    except serializers.ValidationError as error:
        raise _malformed(first_error(error, "the body")) from error
    ((kind, name),) = values.pop("holder").items()
    event_id, plan, state, at = (values.pop(key, None) for key in ("id", "plan", "state", "at"))
    return BillingNotification(event_id, kind, name, plan, state, at or signed_at or clock.now(), details=values)


def _malformed(message: str) -> WebhookError:
    return WebhookError(400, "malformed", message)


@transaction.atomic
def apply_notification(body: bytes, signed_at: datetime | None = None) -> bool:
    """Apply an event whose signature was checked; return False if it or a newer one was applied before.

    If it raises WebhookError, nothing is changed, and the same event may be sent again.
    """
    report = parse_notification(body, signed_at)
    digest = hashlib.sha256(body).hexdigest()
    # If the same event arrives twice at once, the unique id makes one wait for the other, and then find its row.
    values = {"digest": digest, "at": report.at}
    event, is_new = BillingEvent.objects.get_or_create(event_id=report.event_id, defaults=values)
    if not is_new:
        if event.digest != digest:
            raise WebhookError(409, "id_reused", "An event with this id and another content was applied before.")
        return False
    holder = _holder(report)
    event.subscription = lifecycle.lock_subscription(holder)
    newer = BillingEvent.objects.filter(subscription=event.subscription, at__gt=report.at)
    is_late = event.subscription is not None and newer.exists()
    if not is_late:
        try:
            event.subscription = _apply(report, holder, event.subscription)
        except IllegalTransition as error:
            raise WebhookError(409, "illegal_transition", str(error)) from error
    event.save(update_fields=["subscription"])
    return not is_late


def _apply(report: BillingNotification, holder: Holder, subscription: Subscription | None) -> Subscription:
    by = Actor("billing", note=report.event_id)
    details = report.details | ({"plan": _plan(report.plan)} if report.plan else {})
    if subscription is None:
        if report.state is None:
            raise IllegalTransition("There is no subscription yet. Send the state in which it begins.")
        if report.plan is None:
            raise _malformed("plan: is missing, and there is no subscription yet")
        return lifecycle.start_subscription(holder, report.state, by, **details)
    if report.state in (None, lifecycle.effective_state(subscription, clock.now()).state):
        return lifecycle.change_details(subscription, by, **details)
    return lifecycle.transition(subscription, str(report.state), by, **details)


def _holder(report: BillingNotification) -> Holder:
    holder: Holder | None
    match report.kind:
        case "account":
            holder = Account.objects.filter(email=address_to_find(report.name)).first()
        case "family":
            holder = Family.objects.filter(owner__email=address_to_find(report.name)).first()
        case _:
            holder = Organization.objects.filter(name=report.name).first()
    if holder is None:
        raise WebhookError(422, "unknown_holder", f"There is no such {report.kind}.")
    return holder


def _plan(plan_id: str) -> Plan:
    plan = Plan.objects.filter(plan_id=plan_id).first()
    if plan is None:
        raise WebhookError(422, "unknown_plan", "There is no plan with this id.")
    return plan
