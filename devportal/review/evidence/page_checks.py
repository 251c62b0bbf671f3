"""Checks of the pages of a submission: home page, privacy policy and terms."""

import html
import logging
import re
import unicodedata
from datetime import timedelta
from typing import Any

from django.db.models import F

from core import clock, outbound
from devportal.review.evidence.glance import refresh_glance
from devportal.review.evidence.rules.pages import UNAVAILABLE
from devportal.review.models import AppReview, ReviewRevision
from devportal.review.submission.requirements import PAGE_FIELDS
from oidc.domains.branding import MAX_URL_LENGTH

MAX_TITLE_LENGTH = 200  # characters
MAX_READ = 65_536  # bytes; a title is near the beginning
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.IGNORECASE)
# The pattern, and not a parser, because the parsers of HTML take minutes for some malformed pages.
_TITLE = re.compile(r"<title(?:\s[^>]{0,200})?>([^<]{0,2000})", re.IGNORECASE)


def read_title(body: bytes, content_type: str) -> str:
    """Return the first title of an HTML page as plain text of at most 200 characters, or "" if it has none.

    The encoding is the one that `content_type` or the beginning of the page names, and otherwise UTF-8.
    """
    named = _CHARSET.search(content_type[:200]) or _CHARSET.search(body[:1024].decode("ascii", "replace"))
    try:
        text = body[:MAX_READ].decode(named[1] if named else "utf-8", "replace")
    except (LookupError, ValueError):  # not an encoding of text
        text = body[:MAX_READ].decode(errors="replace")
    title = _TITLE.search(text)
    return clean_line(html.unescape(title[1])) if title else ""


def clean_line(text: str, most: int = MAX_TITLE_LENGTH) -> str:
    """Return a foreign text as one line of at most `most` characters, without control and direction characters."""
    kept = (" " if unicodedata.category(letter) == "Cc" else letter for letter in text)
    shown = "".join(letter for letter in kept if unicodedata.category(letter) not in ("Cf", "Cs", "Co", "Cn"))
    return " ".join(shown.split())[:most].strip()


log = logging.getLogger(__name__)

MAX_CAUGHT_UP = 5  # submissions with a lost task that one run of the periodic task checks
# The periodic task leaves recent submissions to their own tasks, and gives up after a day.
CATCH_UP_AFTER, GIVE_UP_AFTER = timedelta(minutes=2), timedelta(days=1)

PageCheck = dict[str, Any]


def check_page(field: str, address: str) -> PageCheck:
    """Fetch one URL and return the response's `status`, `final` URL and `title`.

    If there was no response, return the `code` and `parameters` of the OutboundRefused, or the `code` UNAVAILABLE.
    """
    found: PageCheck = {"field": field, "address": address, "at": clock.now().isoformat()}
    try:
        answer = outbound.fetch(address)
    except outbound.OutboundRefused as refusal:
        return found | {"code": refusal.code, "parameters": refusal.parameters}
    except Exception:
        # Whatever happens, the other pages are checked, and the reviewers see the failure.
        log.exception("A page of a submission could not be checked.")
        return found | {"code": UNAVAILABLE}
    title = read_title(answer.body, answer.content_type)
    return found | {"status": answer.status, "final": clean_line(answer.url, MAX_URL_LENGTH), "title": title}


def check_revision(pk: int) -> bool:
    """Check the pages of one revision and store the results; return False if it no longer exists."""
    row = ReviewRevision.objects.filter(pk=pk).select_related("review__client__project").first()
    if row is None:
        return False
    checks = [check_page(field, row.snapshot[field]) for field in PAGE_FIELDS if row.snapshot.get(field)]
    if not ReviewRevision.objects.filter(pk=pk).update(page_checks=checks):
        return False
    refresh_glance(row.review)
    return True


def check_lost() -> int:
    """Check the pages of at most 5 submissions whose task was lost; return how many were checked."""
    now = clock.now()
    lost = ReviewRevision.objects.filter(
        review__status__in=AppReview.FROZEN,
        sent_at__range=(now - GIVE_UP_AFTER, now - CATCH_UP_AFTER),
        number=F("review__revision"),
        page_checks__isnull=True,
    )
    keys = list(lost.order_by("sent_at").values_list("pk", flat=True)[:MAX_CAUGHT_UP])
    return sum(check_revision(pk) for pk in keys)
