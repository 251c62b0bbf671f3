"""Emails with notices: at most one an hour for each person and project.

The first notice is mailed within a minute. Others of the same hour are collected for the next email.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.urls import reverse

from accounts.mail import outbox
from accounts.mail.rendering import Mail, render_mail
from core import clock
from core.http.split_hosts import address_of
from devportal.console.models import Notice, NoticeSettings
from devportal.console.notices.choices import wish_of
from devportal.console.notices.texts import body_of, definition_of, parts_of, target_of, then_of, title_of, topic_of
from oidc.models import Project, ProjectMember

log = logging.getLogger(__name__)

TEMPLATE = "notices"
PAUSE = timedelta(hours=1)
# How many people one run mails, and how many notices one mail contains. The next run, or the next mail, has the others.
BATCH = 500
MOST_IN_A_MAIL = 50


def send_notices() -> int:
    """Queue a mail for each person and project with waiting notices and no mail in the last hour; return how many."""
    sent = 0
    for project_id, account_id in _waiting():
        try:
            sent += _mail(project_id, account_id)
        except Exception:  # one email that can't be written must not prevent the others
            log.exception("The notices of project %s for account %s could not be mailed.", project_id, account_id)
    return sent


def _waiting() -> list[tuple[int, int]]:
    now = clock.now()
    # If the clock was set back, a time in the future does not count.
    lately = NoticeSettings.objects.filter(
        project=OuterRef("project"), account=OuterRef("account"), mailed_at__gt=now - PAUSE, mailed_at__lte=now
    )
    rows = Notice.objects.filter(~Exists(lately), waits_for_mail=True).order_by("account", "project")
    return list(rows.values_list("project_id", "account_id").distinct()[:BATCH])


@transaction.atomic
def _mail(project_id: int, account_id: int) -> int:
    """Queue the email of one person and project; return 0 if another run does so, or nothing is left to mail."""
    NoticeSettings.objects.get_or_create(project_id=project_id, account_id=account_id)
    rows = NoticeSettings.objects.select_for_update(skip_locked=True, no_key=True)
    own = rows.filter(project=project_id, account=account_id).first()
    now = clock.now()
    if own is None or (own.mailed_at is not None and now - PAUSE < own.mailed_at <= now):
        return 0
    notices = Notice.objects.filter(project=project_id, account=account_id, waits_for_mail=True)
    member = _member(project_id, account_id)
    # Also mailed if they were read in the meantime: someone else with the person's session could have done that.
    found = list(notices.select_related("project", "client", "actor", "person").order_by("pk")[:MOST_IN_A_MAIL])
    # Rights, role and switches are those of now.
    wanted = [one for one in found if member and wish_of(topic_of(one.kind), member.role, own.choices).mail]
    notices.filter(pk__in=[one.pk for one in found]).update(waits_for_mail=False)
    if member is None or not wanted:
        return 0
    try:
        outbox.queue_mail(member.account.email, TEMPLATE, mail_context(member.project, wanted))
    except ValidationError:
        log.warning("Account %s gets no notices: mail can't be sent to its email address.", account_id)
        return 0
    NoticeSettings.objects.filter(pk=own.pk).update(mailed_at=now)
    return 1


def _member(project_id: int, account_id: int) -> ProjectMember | None:
    """Return the membership, None if the person may no longer get mail about the project."""
    members = ProjectMember.objects.filter(
        project=project_id,
        project__deleted_at=None,
        account=account_id,
        account__is_active=True,
        account__email_verified=True,
    )
    return members.select_related("project", "account").first()


def mail_context(project: Project, notices: Sequence[Notice]) -> dict[str, Any]:
    """Return the context of the mail template."""
    return {
        "project": project.name,
        "notices": [
            {
                "title": title_of(one),
                "body": body_of(one),
                "parts": parts_of(one),
                "then": then_of(one),
                "action": definition_of(one).action,
                "link": address_of(_link(one)),
            }
            for one in notices
        ],
        "settings_link": address_of(reverse("console:notice_settings", args=[project.public_id])),
    }


def _link(notice: Notice) -> str:
    """Return the path of the notice, which leads to its page; of an unsaved notice, the path of the page itself."""
    return reverse("console:notice", args=[notice.pk]) if notice.pk else target_of(notice)


def preview(notice: Notice) -> Mail:
    """Return the email that an unsaved notice would be, if no other notice were in it."""
    return render_mail(TEMPLATE, mail_context(notice.project, [notice]))
