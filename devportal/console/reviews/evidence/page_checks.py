"""What home page, privacy policy and terms of a submission answer."""

import logging
from datetime import timedelta
from typing import Any

from django.db.models import F

from devportal.console.models import AppReview, ReviewRevision
from devportal.console.reviews.domain_rules import PAGE_FIELDS
from devportal.console.reviews.evidence.judges.pages import UNAVAILABLE
from devportal.console.reviews.evidence.page_titles import clean_line, read_title
from devportal.lib import clock, outbound
from oidc.clients.branding import MAX_URL_LENGTH

log = logging.getLogger(__name__)

MAX_CAUGHT_UP = 5  # submissions whose task was lost that one run of the periodic task looks at
# The periodic task leaves young ones to their own tasks, and gives up what could not be looked at for a day.
CATCH_UP_AFTER, GIVE_UP_AFTER = timedelta(minutes=2), timedelta(days=1)

PageCheck = dict[str, Any]


def look_at(field: str, address: str) -> PageCheck:
    """Fetch one address and return what it answered: `status`, `final` address and `title`.

    If it did not answer, return `code` and `parameters` of the OutboundRefused, or UNAVAILABLE for `code`.
    """
    found: PageCheck = {"field": field, "address": address, "at": clock.now().isoformat()}
    try:
        answer = outbound.fetch(address)
    except outbound.OutboundRefused as refusal:
        return found | {"code": refusal.code, "parameters": refusal.parameters}
    except Exception:
        # Whatever the page is, the others are looked at, and reviewers are told.
        log.exception("A page of a submission could not be looked at.")
        return found | {"code": UNAVAILABLE}
    title = read_title(answer.body, answer.content_type)
    return found | {"status": answer.status, "final": clean_line(answer.url, MAX_URL_LENGTH), "title": title}


def check_revision(pk: int) -> bool:
    """Look at the pages of one revision and store what they answered; return False if it is gone."""
    row = ReviewRevision.objects.filter(pk=pk).first()
    if row is None:
        return False
    checks = [look_at(field, row.snapshot[field]) for field in PAGE_FIELDS if row.snapshot.get(field)]
    return bool(ReviewRevision.objects.filter(pk=pk).update(page_checks=checks))


def check_lost() -> int:
    """Look at the pages of submissions whose own task was lost, 5 at most; return how many were looked at."""
    now = clock.now()
    lost = ReviewRevision.objects.filter(
        review__status__in=AppReview.FROZEN,
        review__submitted_at__range=(now - GIVE_UP_AFTER, now - CATCH_UP_AFTER),
        number=F("review__revision"),
        page_checks__isnull=True,
    )
    keys = list(lost.order_by("review__submitted_at").values_list("pk", flat=True)[:MAX_CAUGHT_UP])
    return sum(check_revision(pk) for pk in keys)
