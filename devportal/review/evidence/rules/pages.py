"""Judges of what the pages of an app answered when they were last looked at (reviews/evidence/page_checks.py)."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from core import outbound
from core.outbound import OutboundRefused
from devportal.review.evidence.facts import Detail, Finding, detail, failed, passed, warned
from devportal.review.evidence.gathered import Gathered
from devportal.review.evidence.texts import Code
from oidc.clients.redirect_uris import split_web_address
from oidc.names import skeleton

# The address was reached, but its page could not be read: a person has to look.
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
# In place of an outbound code: the service itself failed.
UNAVAILABLE = "unavailable"
# Words of a name that many names have.
_COMMON = frozenset(map(skeleton, ("the", "and", "for", "app", "web", "my", "your", "home", "online")))
_MIN_WORD = 3  # letters


def check_home_page(found: Gathered) -> Finding:
    """Whether the home page answers, and names the app."""
    return _judge(found, "home_page_url")


def check_privacy_policy(found: Gathered) -> Finding:
    """Whether the privacy policy answers, names the app, and is a page of its own."""
    return _judge(found, "privacy_policy_url")


def check_terms(found: Gathered) -> Finding:
    """The same of the terms, which an app may do without."""
    if not found.asked["terms_url"]:
        return passed(Code.TERMS_NOT_GIVEN)
    return _judge(found, "terms_url")


def _judge(found: Gathered, field: str) -> Finding:
    address = found.asked[field]
    if not address:
        return failed(Code.PAGE_NOT_GIVEN)
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
    """Return what was found at an address, None if that was not looked at: the submission may have changed since."""
    checks = [check for check in found.page_checks or () if check["field"] == field]
    return next((check for check in checks if check["address"] == found.asked[field]), None)


def _answer(check: Mapping[str, Any], address: str) -> Iterator[Detail]:
    if check["title"]:
        yield detail(Code.PAGE_TITLE, title=check["title"])
    if check["final"] != address:
        yield detail(Code.PAGE_FINAL_ADDRESS, url=check["final"])


def _place(address: str, check: Mapping[str, Any] | None) -> str:
    """Return where an address ended, as far as it tells pages apart."""
    parts = split_web_address(check["final"] if check and "final" in check else address)
    if parts is None:
        return address
    query = f"?{parts.query}" if parts.query else ""
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/')}{query}"


def names_the_app(title: str, name: str) -> bool:
    """Return whether a title has the name of the app in it, or a word of that which is not everybody's."""
    reading, whole = skeleton(title), skeleton(name)
    if not whole or whole in reading:
        return True
    words = {skeleton(word) for word in re.findall(r"\w+", name)} - _COMMON
    return any(word in reading for word in words if len(word) >= _MIN_WORD)
