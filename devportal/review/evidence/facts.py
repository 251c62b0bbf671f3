"""The codes of the evidence, and the table of their texts (docs/review.md#evidence)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Any

from core.messages import Text, fill_in


class Code(StrEnum):
    """A rule's finding, or one line below it. The placeholders of its text are its parameters."""

    # --- Domains ---
    NOTHING_TO_PROVE = auto()
    HOSTS_PROVEN = auto()
    HOSTS_NOT_PROVEN = auto()
    HOSTS_LOST = auto()
    PROVEN_ELSEWHERE = auto()
    PROOF_MISSING = auto()
    PROOF_NOT_FOUND = auto()
    PROOF_NOT_CHECKED = auto()
    HOST_PROVEN = auto()
    HOST_PROVEN_AND_CHECKED = auto()
    HOST_PROBLEM = auto()
    HOST_MISSING = auto()
    HOST_LOST = auto()
    HOST_CLAIMED = auto()
    HOST_UNKNOWN = auto()
    DOMAIN_ALSO_PROVEN_BY = auto()
    # --- Redirect and sign-out URLs ---
    NO_REDIRECT_URL = auto()
    URLS_NOT_PROVEN = auto()
    URLS_ON_LOOPBACK = auto()
    URLS_ON_OTHER_DOMAIN = auto()
    URLS_FINE = auto()
    URL_OF_PLAYGROUND = auto()
    URL_ON_LOOPBACK = auto()
    URL_ON_LOOPBACK_OF_INSTALLED_APP = auto()
    URL_PROVEN = auto()
    URL_NOT_PROVEN = auto()
    INSTALLED_APP = auto()
    LOCALHOST_ONLY = auto()
    REACHABLE = auto()
    # --- Pages ---
    TERMS_NOT_GIVEN = auto()
    PAGE_NOT_GIVEN = auto()
    PAGE_NOT_CHECKED = auto()
    PAGE_UNAVAILABLE = auto()
    PAGE_REFUSED = auto()
    PAGE_STATUS = auto()
    PAGE_IS_HOME_PAGE = auto()
    PAGE_WITHOUT_TITLE = auto()
    PAGE_OF_ANOTHER_NAME = auto()
    PAGE_FINE = auto()
    PAGE_ADDRESS = auto()
    PAGE_CHECKED_AT = auto()
    PAGE_TITLE = auto()
    PAGE_FINAL_ADDRESS = auto()
    # --- Support address, name and logo ---
    SUPPORT_NOT_GIVEN = auto()
    SUPPORT_PROVEN = auto()
    SUPPORT_FREE_MAIL = auto()
    SUPPORT_NOT_PROVEN = auto()
    NAME_TAKEN = auto()
    NAMES_SIMILAR = auto()
    NAME_UNIQUE = auto()
    NAME_OF_BRAND = auto()
    NAME_OF_NO_BRAND = auto()
    NAME_SIMILAR_TO = auto()
    NAME_SIMILAR_TO_REVIEWED = auto()
    LOGO_NOT_GIVEN = auto()
    LOGO_UNREADABLE = auto()
    LOGO_PLAIN = auto()
    LOGO_SAME = auto()
    LOGO_SIMILAR = auto()
    LOGO_UNIQUE = auto()
    LOGO_SIMILAR_TO = auto()
    # --- People and projects ---
    SUBMITTER_DELETED = auto()
    MANY_OWNERS = auto()
    MANY_FORMER_OWNERS = auto()
    MANY_SUBMITTERS = auto()
    ACCOUNTS_YOUNG = auto()
    ACCOUNTS_OLD = auto()
    ACCOUNT_DELETED = auto()
    SUBMITTER = auto()
    OWNER = auto()
    FORMER_OWNER = auto()
    EARLIER_SUBMITTER = auto()
    PROJECT_YOUNG = auto()
    PROJECT_OLD = auto()
    # --- What happened before ---
    PROJECT_SUSPENDED = auto()
    SETBACK_LATELY = auto()
    SETBACKS = auto()
    NO_SETBACKS = auto()
    SETBACK_OF_APP = auto()
    SETBACK_OF_PROJECT = auto()
    SETBACK_OF_OTHER_APP = auto()
    SETBACK_OF_OTHER_PROJECT = auto()
    OTHER_PROJECT_SUSPENDED = auto()
    OTHER_PROJECT_SETBACK_LATELY = auto()
    OTHER_PROJECT_SETBACK = auto()
    NO_OTHER_APPS = auto()
    OTHER_APPS_FINE = auto()
    OTHER_APPS = auto()
    MANY_OTHER_APPS = auto()
    NO_OTHER_APP = auto()
    SUSPENDED_PROJECT = auto()
    MANY_REPORTS = auto()
    CASES_OPEN = auto()
    DELETED_APPS_REPORTED = auto()
    CASES_CLOSED = auto()
    NO_REPORTS = auto()
    REPORTS_FOR = auto()
    CASE_OPEN = auto()
    CASE_ACTED_ON = auto()
    DELETED_APP_REPORTED = auto()
    # --- Use ---
    NO_PEOPLE = auto()
    PEOPLE = auto()
    MANY_PEOPLE = auto()
    NO_SIGN_INS = auto()
    SIGN_INS = auto()
    SIGN_INS_OF_NEWEST = auto()
    MOST_SIGN_INS_REFUSED = auto()
    REFUSALS = auto()
    NO_CALLS = auto()
    CALLS = auto()
    MOST_CALLS_FAIL = auto()
    NO_SCOPES = auto()
    SCOPES_IDLE = auto()
    SCOPES_UNUSED = auto()
    SCOPES_NEVER_TRIED = auto()
    SCOPES_DROPPED = auto()
    SCOPES_USED = auto()
    SCOPES_ASKED_FOR = auto()
    SCOPE_HELD = auto()
    SCOPE_NOT_HELD = auto()


TEXTS: Mapping[str, Text] = {
    Code.NOTHING_TO_PROVE: "No URL has a host that needs proof.",
    Code.HOSTS_PROVEN: ("{count} host, on a proven domain.", "{count} hosts, all on proven domains."),
    Code.HOSTS_NOT_PROVEN: "The project has not proven {hosts}.",
    Code.HOSTS_LOST: "The project has not proven {hosts}. The proof of {lost} was lost.",
    Code.PROVEN_ELSEWHERE: "Another project has proven {domains} too.",
    Code.PROOF_MISSING: "The proof of {domains} is no longer found.",
    Code.PROOF_NOT_FOUND: "The last check of {domains} found no proof.",
    Code.PROOF_NOT_CHECKED: "The proof of {domains} was not checked for more than two weeks.",
    Code.HOST_PROVEN: "{host}: proven by {domain} ({proof}), since {since:day}",
    Code.HOST_PROVEN_AND_CHECKED: "{host}: proven by {domain} ({proof}), since {since:day}, checked on "
    "{checked_at:minute}",
    Code.HOST_PROBLEM: "{host}: the last check found no proof. {proof}: {problem}",
    Code.HOST_MISSING: "{host}: the proof is missing since {since:day}",
    Code.HOST_LOST: "{host}: the proof was lost on {lost_at:day}",
    Code.HOST_CLAIMED: "{host}: claimed and not proven",
    Code.HOST_UNKNOWN: "{host}: not on a domain of the project",
    Code.DOMAIN_ALSO_PROVEN_BY: "The project {project} has proven {domain} too.",
    Code.NO_REDIRECT_URL: "There is no redirect URL, so nobody can sign in.",
    Code.URLS_NOT_PROVEN: "Not on a proven domain: {hosts}.",
    Code.URLS_ON_LOOPBACK: "Some URLs lead to the computer of the person who opens them. That is for development only.",
    Code.URLS_ON_OTHER_DOMAIN: "Proven, but not on the home page’s domain: {hosts}.",
    Code.URLS_FINE: ("{count} URL, where the app belongs.", "{count} URLs, all where the app belongs."),
    Code.URL_OF_PLAYGROUND: "{url}: the playground of this service",
    Code.URL_ON_LOOPBACK: "{url}: loopback",
    Code.URL_ON_LOOPBACK_OF_INSTALLED_APP: "{url}: loopback, as usual for installed apps",
    Code.URL_PROVEN: "{url}: on a proven domain",
    Code.URL_NOT_PROVEN: "{url}: not on a proven domain",
    Code.INSTALLED_APP: "An installed app returns to the computer that it runs on.",
    Code.LOCALHOST_ONLY: "Every redirect URL is on localhost, so nobody but the developer can use the app.",
    Code.REACHABLE: "The app returns to the web.",
    Code.TERMS_NOT_GIVEN: "No terms are given, and none are required.",
    Code.PAGE_NOT_GIVEN: "No URL is given.",
    Code.PAGE_NOT_CHECKED: "The page was not checked yet.",
    Code.PAGE_UNAVAILABLE: "The service could not check the page.",
    Code.PAGE_REFUSED: "{problem}",
    Code.PAGE_STATUS: "The URL answers with status {status} instead of a page.",
    Code.PAGE_IS_HOME_PAGE: "It is the same page as the home page.",
    Code.PAGE_WITHOUT_TITLE: "The page has no title.",
    Code.PAGE_OF_ANOTHER_NAME: "The page’s title has no word of the app’s name.",
    Code.PAGE_FINE: "The page answers, and its title names the app.",
    Code.PAGE_ADDRESS: "{url}",
    Code.PAGE_CHECKED_AT: "Checked on {at:minute}",
    Code.PAGE_TITLE: "Title: “{title}”",
    Code.PAGE_FINAL_ADDRESS: "Leads to {url}",
    Code.SUPPORT_NOT_GIVEN: "No support email address is given.",
    Code.SUPPORT_PROVEN: "{address} is on a domain that the project has proven.",
    Code.SUPPORT_FREE_MAIL: "{address} is at a free mail provider.",
    Code.SUPPORT_NOT_PROVEN: "{address} is on a domain that the project has not proven.",
    Code.NAME_TAKEN: "A reviewed app of another project has a name that reads the same.",
    Code.NAMES_SIMILAR: ("{count} app of another project has a similar name.",
                         "{count} apps of other projects have similar names."),
    Code.NAME_UNIQUE: "No app of another project has a similar name.",
    Code.NAME_OF_BRAND: "The name contains a well-known brand: {brands}. Check that the app belongs to its owner.",
    Code.NAME_OF_NO_BRAND: "The name contains no well-known brand.",
    Code.NAME_SIMILAR_TO: "{app} ({project}): {percent} % similar",
    Code.NAME_SIMILAR_TO_REVIEWED: "{app} ({project}, reviewed): {percent} % similar",
    Code.LOGO_NOT_GIVEN: "There is no logo.",
    Code.LOGO_UNREADABLE: "The logo could not be read just now, so it was not compared.",
    Code.LOGO_PLAIN: "The logo has a single color or can’t be read, so there is nothing to compare.",
    Code.LOGO_SAME: "A reviewed app of another project has what seems to be the same logo.",
    Code.LOGO_SIMILAR: "The logo looks like that of a reviewed app of another project.",
    Code.LOGO_UNIQUE: "No reviewed app has a similar logo.",
    Code.LOGO_SIMILAR_TO: "{app} ({project}): {bits} of 64 bits differ",
    Code.SUBMITTER_DELETED: "The account that submitted the app is deleted.",
    Code.MANY_OWNERS: "The project has {count} or more owners. The list may lack the ones who joined last.",
    Code.MANY_FORMER_OWNERS: "The project has had {count} or more former owners. The list may lack the earliest.",
    Code.MANY_SUBMITTERS: "{count} or more other people submitted apps of the project. The list may lack the "
    "oldest accounts.",
    Code.ACCOUNTS_YOUNG: "Younger than 30 days: {people}.",
    Code.ACCOUNTS_OLD: "All accounts are older than 30 days.",
    Code.ACCOUNT_DELETED: "Account deleted",
    Code.SUBMITTER: "{email}, submitted the app: account since {since:day}",
    Code.OWNER: "{email}, owner: account since {since:day}",
    Code.FORMER_OWNER: "{email}, owner until {until:day}: account since {since:day}",
    Code.EARLIER_SUBMITTER: "{email}, submitted an app of the project before: account since {since:day}",
    Code.PROJECT_YOUNG: "The project was created on {since:day}, less than 30 days ago.",
    Code.PROJECT_OLD: "The project was created on {since:day}.",
    Code.PROJECT_SUSPENDED: "The project is suspended.",
    Code.SETBACK_LATELY: "{kind} on {at:day}, less than a year ago.",
    Code.SETBACKS: ("There is {count} entry.", "There are {count} entries."),
    Code.NO_SETBACKS: "Nothing in this project was rejected, withdrawn or suspended.",
    Code.SETBACK_OF_APP: "{kind}, {at:day}: {app}",
    Code.SETBACK_OF_PROJECT: "{kind}, {at:day}: the whole project",
    Code.SETBACK_OF_OTHER_APP: "{kind}, {at:day}: {app} ({project})",
    Code.SETBACK_OF_OTHER_PROJECT: "{kind}, {at:day}: the whole project {project}",
    Code.OTHER_PROJECT_SUSPENDED: "Another project of these people is suspended.",
    Code.OTHER_PROJECT_SETBACK_LATELY: "Another project of these people lost an approval or was suspended in the last "
    "year.",
    Code.OTHER_PROJECT_SETBACK: "Another project of these people had a rejection, a withdrawal or a suspension.",
    Code.NO_OTHER_APPS: "These people have no other app.",
    Code.OTHER_APPS_FINE: "Nothing is known against the other apps of these people.",
    Code.OTHER_APPS: ("{count} other app. Reviewed: {reviewed}", "{count} other apps. Reviewed: {reviewed}"),
    Code.MANY_OTHER_APPS: "{count} or more other apps. Reviewed: {reviewed}",
    Code.NO_OTHER_APP: "No other app",
    Code.SUSPENDED_PROJECT: "Suspended now: the project {project}",
    Code.MANY_REPORTS: "{count} people reported the app in the last year, and a case is open.",
    Code.CASES_OPEN: ("{count} case is open.", "{count} cases are open."),
    Code.DELETED_APPS_REPORTED: "In the last year, people reported an app of the project that is deleted now.",
    Code.CASES_CLOSED: "People reported the app in the last year. The cases are closed.",
    Code.NO_REPORTS: "Nobody reported the app in the last year, and no case is open.",
    Code.REPORTS_FOR: "{reason}: {number}",
    Code.CASE_OPEN: "Open: {kind}, since {since:day}",
    Code.CASE_ACTED_ON: "Acted on: {kind}, {since:day}",
    Code.DELETED_APP_REPORTED: "A deleted app was reported: {at:day}",
    Code.NO_PEOPLE: "Nobody has authorized the app yet, not even its developers.",
    Code.PEOPLE: ("{count} person has ever authorized the app.", "{count} people have ever authorized the app."),
    Code.MANY_PEOPLE: "{count} or more people have ever authorized the app.",
    Code.NO_SIGN_INS: "The sign-in log has no entry of the app.",
    Code.SIGN_INS: ("{count} entry in the log: {signed_in} signed in, {cancelled} cancelled, {refused} refused.",
                    "{count} entries in the log: {signed_in} signed in, {cancelled} cancelled, {refused} refused."),
    Code.SIGN_INS_OF_NEWEST: "Of the newest {count} entries in the log: {signed_in} signed in, {cancelled} cancelled, "
    "{refused} refused.",
    Code.MOST_SIGN_INS_REFUSED: "Most sign-ins are refused. Of {count} entries in the log: {signed_in} signed in, "
    "{cancelled} cancelled, {refused} refused.",
    Code.REFUSALS: "{error}: {number}",
    Code.NO_CALLS: "No calls in {days} days.",
    Code.CALLS: ("{count} call in {days} days. Errors: {errors} ({percent:.1f} %).",
                 "{count} calls in {days} days. Errors: {errors} ({percent:.1f} %)."),
    Code.MOST_CALLS_FAIL: "Most calls fail. {count} calls in {days} days, {errors} errors ({percent:.1f} %).",
    Code.NO_SCOPES: "The app requests no scope that needs approval.",
    Code.SCOPES_IDLE: "Approved, but neither requested nor used in {days} days: {scopes}.",
    Code.SCOPES_UNUSED: "Approved, but not used for {days} days: {scopes}.",
    Code.SCOPES_NEVER_TRIED: "Requested, although nobody has ever signed in: {scopes}.",
    Code.SCOPES_DROPPED: "Approved, but no longer requested, so an approval removes it: {scopes}.",
    Code.SCOPES_USED: "The approved scopes are used.",
    Code.SCOPES_ASKED_FOR: "People sign in to the app that requests the scopes.",
    Code.SCOPE_HELD: "{scope}: approved. People who granted it: {granted}. In {days} days: people asked for it: "
    "{asked}, refused requests: {refused}, calls: {calls} (to {endpoints})",
    Code.SCOPE_NOT_HELD: "{scope}: not approved. People who granted it: {granted}. In {days} days: people asked for "
    "it: {asked}, refused requests: {refused}, calls: {calls} (to {endpoints})",
}  # fmt: skip


class Result(StrEnum):
    """The meaning of a fact for the decision, most serious first."""

    FAIL = "fail"
    WARN = "warn"
    PASS = "pass"


@dataclass(frozen=True)
class Detail:
    """One line below a fact. `link` is a URL of the submission, `client` the primary key of another app."""

    code: Code
    parameters: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    client: int | None = None

    @property
    def text(self) -> str:
        """The line."""
        return fill_in(TEXTS[self.code], self.parameters)


@dataclass(frozen=True)
class Finding:
    """The finding of a rule: the result, the code of the reason, and the lines below it."""

    result: Result
    code: Code
    parameters: Mapping[str, Any]
    details: tuple[Detail, ...] = ()

    @property
    def text(self) -> str:
        """The sentence that explains the result."""
        return fill_in(TEXTS[self.code], self.parameters)


@dataclass(frozen=True)
class Fact:
    """One fact about a submission: the rule's code and title, and its finding."""

    code: str
    title: str
    finding: Finding

    @property
    def result(self) -> Result:
        return self.finding.result


def detail(code: Code, *, link: str = "", client: int | None = None, **parameters: Any) -> Detail:
    """Return a line below a fact."""
    return Detail(code, parameters, link, client)


def passed(code: Code, *details: Detail, **parameters: Any) -> Finding:
    """Return a finding that needs no attention."""
    return Finding(Result.PASS, code, parameters, details)


def warned(code: Code, *details: Detail, **parameters: Any) -> Finding:
    """Return a finding that a reviewer has to check."""
    return Finding(Result.WARN, code, parameters, details)


def failed(code: Code, *details: Detail, **parameters: Any) -> Finding:
    """Return a finding that speaks against an approval."""
    return Finding(Result.FAIL, code, parameters, details)
