"""Receivers of audit events, which store them in the audit trail or the sign-in log."""

from typing import Any

from django.db.models.signals import pre_delete
from django.dispatch import receiver

from accounts.data_export.archive import addresses_of, moment, rows_of
from accounts.models import Account
from accounts.signals import exporting
from core import audit_log, clock
from core.audit import Event, happened
from core.http import client_ip, request_id
from core.messages import fill_in
from devportal.console.activity import SENTENCES
from devportal.console.logs import sign_in_writer
from devportal.console.models import AuditEvent, SignInEvent
from devportal.operations import audit_lines

# Events of apps and their users are in the sign-in log and under Connected apps, not in the audit trail.
NOT_AUDITED = frozenset({"consent.given", "consent.removed", "family.ended"})


@receiver(happened)
def record_event(sender: Any, event: Event, **kwargs: Any) -> None:
    """Store an audit event.

    It is stored in the transaction of the change, so that the change fails if it can't be stored. Sign-ins are queued
    for the sign-in log without SQL, and never fail because of it.
    """
    if event.action.startswith(sign_in_writer.PREFIX):
        entry = sign_in_writer.record_sign_in(event)
        if entry is not None and entry["outcome"] == SignInEvent.Outcome.REFUSED and audit_log.is_on():
            ip = client_ip.current()
            audit_log.write(audit_lines.line_of_sign_in(clock.now(), entry, entry["client"], ip))
        return
    row = _row_of(event)
    if event.action not in NOT_AUDITED:
        if event.actor is not None:
            row.actor_email = Account.objects.filter(pk=event.actor).values_list("email", flat=True).first() or ""
        row.save(force_insert=True)
    audit_log.write_after_commit(audit_lines.line_of(row))


def _row_of(event: Event) -> AuditEvent:
    came_from = client_ip.current()  # "" outside a request: a task or a command
    return AuditEvent(
        at=clock.now(),
        action=event.action,
        actor_id=event.actor,
        ip=came_from or None,
        request_id=request_id.current() if came_from else "",
        project=event.project or "",
        target=event.target[:255],
        before=event.before,
        after=event.after,
        details=event.details,
        person_id=event.person,
    )


@receiver(exporting)
def export_audit_events(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's actions for the data export, without targets: these may be other people's email addresses."""
    rows = rows_of(AuditEvent.objects.filter(actor=account))
    return {
        "console_activity": (
            {
                "at": moment(row.at),
                "what": _own_action(row.action),
                "action": row.action,
                "project": row.project,
                "ip": row.ip,
            }
            for row in rows
        )
    }


def _own_action(action: str) -> str:
    """Return the sentence of the person's own action; "…" replaces the target, which may name other people."""
    if action in SENTENCES:
        return fill_in(SENTENCES[action], {"who": "You", "target": "…"})
    about, _, what = action.replace("_", " ").partition(".")
    return f"{about.capitalize()}: {what}"


@receiver(pre_delete, sender=Account)
def anonymize_audit_events(sender: Any, instance: Account, **kwargs: Any) -> None:
    """Remove the email address of an account that is about to be deleted from the audit trail. The events stay."""
    # Invitations name an email address, even if no account has it.
    invited = addresses_of(instance) | _earlier_addresses(instance)
    AuditEvent.objects.filter(actor=instance).update(actor_email="", ip=None)
    AuditEvent.objects.filter(person=instance).update(target="")
    AuditEvent.objects.filter(target__in=invited, action__startswith="invitation.").update(target="")


def _earlier_addresses(account: Account) -> set[str]:
    """Return the email addresses by which the trail names an account, except the ones that are someone else's now."""
    own = AuditEvent.objects.filter(actor=account).values_list("actor_email", flat=True)
    named = AuditEvent.objects.filter(person=account).values_list("target", flat=True)
    found = {*own.distinct(), *named.distinct()} - {""}
    others = Account.objects.filter(email__in=found).exclude(pk=account.pk)
    return found - set(others.values_list("email", flat=True))
