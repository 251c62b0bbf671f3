"""Checks of the pages of a submission: home page, privacy policy and terms."""

import codecs
import logging
import re
import unicodedata
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

from django.db.models import F

from core import clock, outbound
from devportal.review.evidence.glance import refresh_glance
from devportal.review.evidence.rules.pages import UNAVAILABLE
from devportal.review.models import AppReview, ReviewRevision
from devportal.review.requirements import PAGE_FIELDS
from oidc.clients.branding import MAX_URL_LENGTH

MAX_TITLE_LENGTH = 200  # characters
MAX_READ = 65_536  # bytes; a title is near the beginning
_PIECE = 1024  # characters per parsing step: parsing stops after the title
_PRESCAN = 1024  # bytes in which a page may name its encoding (HTML Standard, "prescan a byte stream")
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# The Encoding Standard's encodings, by Python's names. Python has others that are not text encodings, or that are very
# slow on long input.
_ENCODINGS = frozenset(
    {
        "utf-8", "utf-16", "utf-16-le", "utf-16-be", "big5", "big5hkscs", "euc_jp", "euc_kr", "gb18030", "gb2312",
        "gbk", "iso2022_jp", "shift_jis", "cp932", "cp949", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866",
        "cp874", *(f"cp125{number}" for number in range(9)), *(f"iso8859-{number}" for number in range(1, 17)),
    }
)  # fmt: skip
_AS_BROWSERS_READ = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gbk"}


class _TitleFound(Exception):
    """The title has ended, or the page's own text has begun."""


class _TitleParser(HTMLParser):
    """Collect the text of the first `title` of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.length = 0
        self.is_inside = False
        self.hidden_by = ""  # an `svg` can contain other titles

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "svg":
            self.hidden_by = tag
        elif tag == "title" and not self.hidden_by:
            self.is_inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden_by:
            self.hidden_by = ""
        elif tag == "title" and self.is_inside:
            raise _TitleFound

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.pieces.append(data)
            self.length += len(data)
            if self.length > 10 * MAX_TITLE_LENGTH:
                raise _TitleFound


def read_title(body: bytes, content_type: str) -> str:
    """Return the title of an HTML page as plain text of at most 200 characters, or "" if it has none.

    The encoding is that of a byte order mark, of `content_type`, or of a `meta` element, and UTF-8 otherwise.
    """
    text = _decoded(body[:MAX_READ], content_type)
    # close() is never called: for an unfinished tag the parser would restart at each letter, in quadratic time.
    parser = _TitleParser()
    try:
        for start in range(0, len(text), _PIECE):
            parser.feed(text[start : start + _PIECE])
    except (_TitleFound, AssertionError, ValueError):
        pass  # keep what was found so far; the parser raises the last two for some malformed declarations
    return clean_line("".join(parser.pieces))


def clean_line(text: str, most: int = MAX_TITLE_LENGTH) -> str:
    """Return a foreign text as one line of at most `most` characters, without control and direction characters."""
    kept = (" " if unicodedata.category(letter) == "Cc" else letter for letter in text)
    shown = "".join(letter for letter in kept if unicodedata.category(letter) not in ("Cf", "Cs", "Co", "Cn"))
    return " ".join(shown.split())[:most].strip()


def _decoded(body: bytes, content_type: str) -> str:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    declared = _CHARSET.search(content_type[:200])
    named = declared.group(1) if declared else ""
    if not named and (found := _DECLARED.search(body[:_PRESCAN])):
        named = found.group(1).decode("ascii", "replace")
        named = "utf-8" if named.lower().startswith("utf-16") else named  # it could not have been read there
    return body.decode(_known(named), "replace")


def _known(named: str) -> str:
    try:
        encoding = codecs.lookup(named).name if named else "utf-8"
    except (LookupError, ValueError):
        return "utf-8"
    encoding = _AS_BROWSERS_READ.get(encoding, encoding)
    return encoding if encoding in _ENCODINGS else "utf-8"


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
