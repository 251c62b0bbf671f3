"""How long notices are kept, and what of them is in a person's data export."""

from datetime import timedelta
from typing import Any

from django.dispatch import receiver

from accounts.data_export.archive import moment, rows_of
from accounts.models import Account
from accounts.signals import exporting
from core import clock
from core.database.batches import delete_in_batches, delete_oldest
from devportal.console.models import Notice, NoticeCause
from devportal.console.notices.kinds import Topic
from devportal.console.notices.texts import title_of

KEPT = timedelta(days=90)
# Longer than any condition is checked for, so that a cause that lasts raises at most one notice a year.
CAUSES_KEPT = timedelta(days=400)


def clear_old() -> int:
    """Delete notices and causes that are older than they are kept; return how many rows were deleted."""
    now = clock.now()
    gone = delete_oldest(Notice.objects.all(), "at", now - KEPT)
    return gone + delete_in_batches(NoticeCause.objects.filter(at__lt=now - CAUSES_KEPT))


@receiver(exporting)
def export_notices(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's notices and the switches that they changed, for the data export."""
    rows = Notice.objects.filter(account=account).select_related("project", "client", "actor", "person")
    chosen = account.notice_settings.exclude(choices={}).select_related("project")
    return {
        "notices": (
            {
                "at": moment(row.at),
                "project": row.project.name,
                "title": title_of(row),
                "read_at": moment(row.read_at),
            }
            for row in rows_of(rows)
        ),
        "notice_settings": (
            {
                "project": row.project.name,
                "topic": Topic(topic).label,
                "in_console": wish["console"],
                "by_mail": wish["mail"],
            }
            for row in rows_of(chosen)
            for topic, wish in row.choices.items()
        ),
    }
