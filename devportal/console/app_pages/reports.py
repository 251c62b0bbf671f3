"""What people report about apps: for the reviewers' eyes, in a case of the desk (docs/review.md#reports)."""

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from accounts.export import moment, rows_of
from accounts.models import Account
from accounts.signals import exporting
from devportal.console.models import AppReport, ReviewCase
from devportal.console.reviews.cases import open_case
from devportal.console.reviews.timeline import clean_text
from devportal.lib import clock
from oidc.clients.app_pages import has_public_page
from oidc.clients.lookup import find_client
from oidc.models import Client, Connection


def find_reportable(client_id: str, account: Account) -> Client | None:
    """Return an app that this person can report: one that has a public page, or that they have or had allowed.

    None for any other, so that nobody finds out which client ids there are.
    """
    client = find_client(client_id)
    if client is None or client.project.is_deleted:
        return None
    if has_public_page(client) or Connection.objects.filter(client=client, account=account).exists():
        return client
    return None


def report_of(client: Client, account: Account) -> AppReport | None:
    """Return what this person has reported about an app in the case that is open; None if nothing."""
    case = {"case__client": client, "case__kind": ReviewCase.Kind.REPORT, "case__closed_at": None}
    return AppReport.objects.filter(reporter=account, **case).first()


@transaction.atomic
def report_app(client: Client, account: Account, reason: str, text: str) -> AppReport:
    """Store a report, in the open case of its app, which it opens if need be; a second one replaces one's first.

    Nothing of it goes to the app's developers, their activity included. Raises IncompleteSubmission for a text that is
    too long.
    """
    said = clean_text(text)
    case = _locked_case(client)
    values = {"reason": reason, "text": said, "at": clock.now()}
    report, _ = AppReport.objects.update_or_create(case=case, reporter=account, defaults=values)
    return report


def _locked_case(client: Client) -> ReviewCase:
    """Return the open case with its row locked: what one person sends twice at once is one report."""
    while True:
        case = open_case(ReviewCase.Kind.REPORT, client.project, client)
        locked = ReviewCase.objects.select_for_update(no_key=True).filter(pk=case.pk, closed_at=None).first()
        if locked is not None:  # else it was closed at this moment, and the report belongs to the next one
            return locked


@receiver(exporting)
def export_reports(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return what the person reported about apps, for the data export."""
    rows = AppReport.objects.filter(reporter=account).select_related("case__client")
    return {
        "reported_apps": (
            {
                "at": moment(row.at),
                "app": row.case.client.name if row.case.client else None,
                "reason": row.get_reason_display(),
                "text": row.text,
            }
            for row in rows_of(rows)
        )
    }
