"""Judges of what the pages of an app answered when they were last looked at (reviews/evidence/page_checks.py)."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from devportal.console.reviews.evidence.facts import Detail, Finding, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.words import day
from oidc.clients.uris import split_web_address
from oidc.names import skeleton

# The address was reached, or could not be asked for a reason that is not its own: a person has to look.
UNREAD = frozenset(
    {"unavailable", "too_large", "headers_too_large", "encoded", "incomplete", "redirect", "redirects", "port"}
)
# Words of a name that many names have.
_COMMON = frozenset(map(skeleton, ("the", "and", "for", "app", "web", "my", "your", "home", "online")))
_MIN_WORD = 3  # letters


def judge_home_page(found: Gathered) -> Finding:
    """Whether the home page answers, and names the app."""
    return _judge(found, "home_page_url")


def judge_privacy_policy(found: Gathered) -> Finding:
    """Whether the privacy policy answers, names the app, and is a page of its own."""
    return _judge(found, "privacy_policy_url")


def judge_terms(found: Gathered) -> Finding:
    """The same of the terms, which an app may do without."""
    if not found.asked["terms_url"]:
        return passed("None are given, and none are required.")
    return _judge(found, "terms_url")


def _judge(found: Gathered, field: str) -> Finding:
    address = found.asked[field]
    if not address:
        return failed("None is given.")
    check = _check_of(found, field)
    link = Detail(address, address)
    if check is None:
        return warned("Nobody has looked at it yet.", link)
    looked = Detail(f"Looked at on {_when(check)}")
    if "problem" in check:
        finding = warned if check["code"] in UNREAD else failed
        return finding(check["problem"], link, looked)
    seen = (link, Detail(_seen(check, address)), looked)
    if not 200 <= check["status"] < 300:
        return failed(f"It answers with status {check['status']} in place of a page.", *seen)
    home = _check_of(found, "home_page_url")
    if field != "home_page_url" and _place(address, check) == _place(found.asked["home_page_url"], home):
        return warned("It is the same page as the home page.", *seen)
    if not check["title"]:
        return warned("The page has no title.", *seen)
    if not names_the_app(check["title"], found.asked["name"]):
        return warned("Its title names nothing of the app.", *seen)
    return passed("It answers, and its title names the app.", *seen)


def _check_of(found: Gathered, field: str) -> Mapping[str, Any] | None:
    """Return what was found at an address, None if that was not looked at: the submission may have changed since."""
    checks = [check for check in found.page_checks or () if check["field"] == field]
    return next((check for check in checks if check["address"] == found.asked[field]), None)


def _when(check: Mapping[str, Any]) -> str:
    moment = datetime.fromisoformat(check["at"])
    return f"{day(moment)} at {moment:%H:%M} UTC"


def _seen(check: Mapping[str, Any], address: str) -> str:
    title = f"Title: “{check['title']}”" if check["title"] else "No title"
    moved = f", at {check['final']}" if check["final"] != address else ""
    return f"{title}; status {check['status']}{moved}"


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
