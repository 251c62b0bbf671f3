"""Rules about the latest checks of an app's pages (page_checks.py)."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from core import outbound
from core.names import skeleton
from core.outbound import OutboundRefused
from devportal.review.evidence.facts import Code, Detail, Finding, detail, failed, passed, warned
from devportal.review.evidence.gathered import Gathered
from oidc.values.redirect_uris import split_web_address

# The URL was reached, but the page could not be read, so a person has to check it.
UNREAD = frozenset(
    {
        outbound.Code.TOO_LARGE,
        outbound.Code.HEADERS_TOO_LARGE,
        outbound.Code.ENCODED,
        outbound.Code.INCOMPLETE,
        outbound.Code.REDIRECT,
        outbound.Code.REDIRECTS,
        outbound.Code.PORT,
    }
)
# Replaces an outbound code if the service itself failed.
UNAVAILABLE = "unavailable"
# Words that many names contain.
_COMMON = frozenset(map(skeleton, ("the", "and", "for", "app", "web", "my", "your", "home", "online")))
_MIN_WORD = 3  # letters


def check_page(found: Gathered, field: str) -> Finding:
    """Check whether a page loads, names the app, and is not the home page again. The terms are optional."""
    address = found.asked[field]
    if not address:
        return passed(Code.TERMS_NOT_GIVEN) if field == "terms_url" else failed(Code.PAGE_NOT_GIVEN)
    check = _check_of(found, field)
    line = detail(Code.PAGE_ADDRESS, link=address, url=address)
    if check is None:
        return warned(Code.PAGE_NOT_CHECKED, line)
    checked = detail(Code.PAGE_CHECKED_AT, at=datetime.fromisoformat(check["at"]))
    if "code" in check:
        return _unanswered(check, line, checked)
    lines = [line, *_answer(check, address), checked]
    if not 200 <= check["status"] < 300:
        return failed(Code.PAGE_STATUS, *lines, status=check["status"])
    home = _check_of(found, "home_page_url")
    if field != "home_page_url" and _place(address, check) == _place(found.asked["home_page_url"], home):
        return warned(Code.PAGE_IS_HOME_PAGE, *lines)
    if not check["title"]:
        return warned(Code.PAGE_WITHOUT_TITLE, *lines)
    if not names_the_app(check["title"], found.asked["name"]):
        return warned(Code.PAGE_OF_ANOTHER_NAME, *lines)
    return passed(Code.PAGE_FINE, *lines)


def _unanswered(check: Mapping[str, Any], *lines: Detail) -> Finding:
    if check["code"] == UNAVAILABLE:
        return warned(Code.PAGE_UNAVAILABLE, *lines)
    problem = OutboundRefused(outbound.Code(check["code"]), **check["parameters"])
    finding = warned if problem.code in UNREAD else failed
    return finding(Code.PAGE_REFUSED, *lines, problem=problem)


def _check_of(found: Gathered, field: str) -> Mapping[str, Any] | None:
    """Return the check of a URL, or None if it was not checked, for example because the submission has changed."""
    checks = [check for check in found.page_checks or () if check["field"] == field]
    return next((check for check in checks if check["address"] == found.asked[field]), None)


def _answer(check: Mapping[str, Any], address: str) -> Iterator[Detail]:
    if check["title"]:
        yield detail(Code.PAGE_TITLE, title=check["title"])
    if check["final"] != address:
        yield detail(Code.PAGE_FINAL_ADDRESS, url=check["final"])


def _place(address: str, check: Mapping[str, Any] | None) -> str:
    """Return the final URL of a check, reduced to the parts that identify a page."""
    parts = split_web_address(check["final"] if check and "final" in check else address)
    if parts is None:
        return address
    query = f"?{parts.query}" if parts.query else ""
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/')}{query}"


def names_the_app(title: str, name: str) -> bool:
    """Return whether a title contains the name of the app, or a distinctive word of it."""
    reading, whole = skeleton(title), skeleton(name)
    if not whole or whole in reading:
        return True
    words = {skeleton(word) for word in re.findall(r"\w+", name)} - _COMMON
    return any(word in reading for word in words if len(word) >= _MIN_WORD)
