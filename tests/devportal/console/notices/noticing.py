"""Notices in tests: their mails, and the pages to which they lead."""

import re
from collections.abc import Callable

from django.conf import settings

from accounts.models import Outbox
from devportal.console.models import Notice, NoticeSettings
from devportal.console.notices import mailing
from devportal.console.notices.texts import target_of, title_of

_LINK = re.compile(re.escape(settings.AUTH_URL) + r"/console/notices/(\d+)")


def mail_notices() -> None:
    """Mail each waiting notice separately, as if an hour had passed before each."""
    waiting = list(Notice.objects.filter(waits_for_mail=True).order_by("pk").values_list("pk", flat=True))
    for pk in waiting:
        Notice.objects.filter(pk__in=waiting).update(waits_for_mail=False)
        Notice.objects.filter(pk=pk).update(waits_for_mail=True)
        NoticeSettings.objects.update(mailed_at=None)
        mailing.send_notices()


def forget_mails() -> None:
    """Delete all emails, and keep waiting notices from being mailed."""
    Outbox.objects.all().delete()
    Notice.objects.update(waits_for_mail=False)


def with_targets(body: str) -> str:
    """Return an email whose links to notices are replaced by those of the pages that they lead to."""

    def target(link: "re.Match[str]") -> str:
        notice = Notice.objects.filter(pk=link[1]).select_related("project", "client").first()
        return f"{settings.AUTH_URL}{target_of(notice)}" if notice else link[0]

    return _LINK.sub(target, body)


def titles_of(email: str, where: Callable[[Notice], bool] = lambda notice: True) -> list[str]:
    """Return the titles of a person's notices, oldest first."""
    rows = Notice.objects.filter(account__email=email).select_related("project", "client", "actor", "person")
    return [title_of(row) for row in rows.order_by("pk") if where(row)]


def mailed() -> list[tuple[str, str, str]]:
    """Run the task, and return all emails so far: recipient, subject and body."""
    mailing.send_notices()
    rows = Outbox.objects.order_by("pk")
    return [(row.to, row.subject.removeprefix("[Openport] "), " ".join(row.body.split())) for row in rows]
