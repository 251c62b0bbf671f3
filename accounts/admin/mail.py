"""Admin page of the outbox: mails that wait, were sent, or failed."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from accounts.models import Outbox
from devportal.lib.admin.actions import ActionRefused, RowAction
from devportal.lib.admin.model_admin import ReadOnlyModelAdmin
from devportal.lib.audit import Event, report


def _try_again(request: HttpRequest, mail: Outbox, form: Any) -> str:
    if not mail.try_again():
        raise ActionRefused("It has been sent meanwhile, or is being sent now.")
    report(Event("mail.tried_again", request.user.pk, target=f"mail:{mail.pk}"))
    return "The mail is sent within some seconds, if the mail server takes it."


@admin.register(Outbox)
class OutboxAdmin(ReadOnlyModelAdmin[Outbox]):
    """Mails."""

    list_display = ("to", "subject", "created_at", "sent_at", "attempts", "given_up_at", "last_error")
    search_help_text = "A whole e-mail address"
    row_actions = (
        RowAction(
            "retry",
            "Try again",
            "The mail is handed to the mail server again, within some seconds. If that fails too, a mail that is "
            "older than three days is given up at once.",
            _try_again,
            is_open=lambda request, row: row.sent_at is None and bool(row.last_error) and not row.is_wiped,
            icon="replay",
        ),
    )

    def search_filter(self, term: str) -> Q:
        return Q(to=term.lower())

    def audit_target(self, row: Outbox) -> str:
        return f"mail:{row.pk}"
