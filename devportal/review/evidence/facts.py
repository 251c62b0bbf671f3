"""The codes of the evidence with their texts (docs/review.md#evidence)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, unique
from typing import Any

from core.messages import fill_in


@unique
class Code(Enum):
    """A rule's finding, or one line below it. The value is its text, and the placeholders are its parameters."""

    # --- Domains ---
    NOTHING_TO_PROVE = "No URL has a host that needs proof."
    HOSTS_PROVEN = ("{count} host, on a proven domain.", "{count} hosts, all on proven domains.")
    HOSTS_NOT_PROVEN = "The project has not proven {hosts}."
    HOSTS_LOST = "The project has not proven {hosts}. The proof of {lost} was lost."
    PROVEN_ELSEWHERE = "Another project has proven {domains} too."
    PROOF_MISSING = "The proof of {domains} is no longer found."
    PROOF_NOT_FOUND = "The last check of {domains} found no proof."
    PROOF_NOT_CHECKED = "The proof of {domains} was not checked for more than two weeks."
    HOST_PROVEN = "{host}: proven by {domain} ({proof}), since {since:day}"
    HOST_PROVEN_AND_CHECKED = "{host}: proven by {domain} ({proof}), since {since:day}, checked on {checked_at:minute}"
    HOST_PROBLEM = "{host}: the last check found no proof. {proof}: {problem}"
    HOST_MISSING = "{host}: the proof is missing since {since:day}"
    HOST_LOST = "{host}: the proof was lost on {lost_at:day}"
    HOST_CLAIMED = "{host}: claimed and not proven"
    HOST_UNKNOWN = "{host}: not on a domain of the project"
    DOMAIN_ALSO_PROVEN_BY = "The project {project} has proven {domain} too."
    # --- Redirect and sign-out URLs ---
    NO_REDIRECT_URL = "There is no redirect URL, so nobody can sign in."
    URLS_NOT_PROVEN = "Not on a proven domain: {hosts}."
    URLS_ON_LOOPBACK = "Some URLs lead to the computer of the person who opens them. That is for development only."
    URLS_ON_OTHER_DOMAIN = "Proven, but not on the home page’s domain: {hosts}."
    URLS_FINE = ("{count} URL, where the app belongs.", "{count} URLs, all where the app belongs.")
    URL_OF_PLAYGROUND = "{url}: the playground of this service"
    URL_ON_LOOPBACK = "{url}: loopback"
    URL_ON_LOOPBACK_OF_INSTALLED_APP = "{url}: loopback, as usual for installed apps"
    URL_PROVEN = "{url}: on a proven domain"
    URL_NOT_PROVEN = "{url}: not on a proven domain"
    INSTALLED_APP = "An installed app returns to the computer that it runs on."
    LOCALHOST_ONLY = "Every redirect URL is on localhost, so nobody but the developer can use the app."
    REACHABLE = "The app returns to the web."
    # --- Pages ---
    TERMS_NOT_GIVEN = "No terms are given, and none are required."
    PAGE_NOT_GIVEN = "No URL is given."
    PAGE_NOT_CHECKED = "The page was not checked yet."
    PAGE_UNAVAILABLE = "The service could not check the page."
    PAGE_REFUSED = "{problem}"
    PAGE_STATUS = "The URL answers with status {status} instead of a page."
    PAGE_IS_HOME_PAGE = "It is the same page as the home page."
    PAGE_WITHOUT_TITLE = "The page has no title."
    PAGE_OF_ANOTHER_NAME = "The page’s title has no word of the app’s name."
    PAGE_FINE = "The page answers, and its title names the app."
    PAGE_ADDRESS = "{url}"
    PAGE_CHECKED_AT = "Checked on {at:minute}"
    PAGE_TITLE = "Title: “{title}”"
    PAGE_FINAL_ADDRESS = "Leads to {url}"
    # --- Support address, name and logo ---
    SUPPORT_NOT_GIVEN = "No support email address is given."
    SUPPORT_PROVEN = "{address} is on a domain that the project has proven."
    SUPPORT_FREE_MAIL = "{address} is at a free mail provider."
    SUPPORT_NOT_PROVEN = "{address} is on a domain that the project has not proven."
    NAME_TAKEN = "A reviewed app of another project has a name that reads the same."
    NAMES_SIMILAR = (
        "{count} app of another project has a similar name.",
        "{count} apps of other projects have similar names.",
    )
    NAME_UNIQUE = "No app of another project has a similar name."
    NAME_OF_BRAND = "The name contains a well-known brand: {brands}. Check that the app belongs to its owner."
    NAME_OF_NO_BRAND = "The name contains no well-known brand."
    NAME_SIMILAR_TO = "{app} ({project}): {percent} % similar"
    NAME_SIMILAR_TO_REVIEWED = "{app} ({project}, reviewed): {percent} % similar"
    LOGO_NOT_GIVEN = "There is no logo."
    LOGO_UNREADABLE = "The logo could not be read just now, so it was not compared."
    LOGO_PLAIN = "The logo has a single color or can’t be read, so there is nothing to compare."
    LOGO_SAME = "A reviewed app of another project has what seems to be the same logo."
    LOGO_SIMILAR = "The logo looks like that of a reviewed app of another project."
    LOGO_UNIQUE = "No reviewed app has a similar logo."
    LOGO_SIMILAR_TO = "{app} ({project}): {bits} of 64 bits differ"
    # --- People and projects ---
    SUBMITTER_DELETED = "The account that submitted the app is deleted."
    MANY_OWNERS = "The project has {count} or more owners. The list may lack the ones who joined last."
    MANY_FORMER_OWNERS = "The project has had {count} or more former owners. The list may lack the earliest."
    MANY_SUBMITTERS = (
        "{count} or more other people submitted apps of the project. The list may lack the oldest accounts."
    )
    ACCOUNTS_YOUNG = "Younger than 30 days: {people}."
    ACCOUNTS_OLD = "All accounts are older than 30 days."
    ACCOUNT_DELETED = "Account deleted"
    SUBMITTER = "{email}, submitted the app: account since {since:day}"
    OWNER = "{email}, owner: account since {since:day}"
    FORMER_OWNER = "{email}, owner until {until:day}: account since {since:day}"
    EARLIER_SUBMITTER = "{email}, submitted an app of the project before: account since {since:day}"
    PROJECT_YOUNG = "The project was created on {since:day}, less than 30 days ago."
    PROJECT_OLD = "The project was created on {since:day}."
    # --- What happened before ---
    PROJECT_SUSPENDED = "The project is suspended."
    SETBACK_LATELY = "{kind} on {at:day}, less than a year ago."
    SETBACKS = ("There is {count} entry.", "There are {count} entries.")
    NO_SETBACKS = "Nothing in this project was rejected, withdrawn or suspended."
    SETBACK_OF_APP = "{kind}, {at:day}: {app}"
    SETBACK_OF_PROJECT = "{kind}, {at:day}: the whole project"
    SETBACK_OF_OTHER_APP = "{kind}, {at:day}: {app} ({project})"
    SETBACK_OF_OTHER_PROJECT = "{kind}, {at:day}: the whole project {project}"
    OTHER_PROJECT_SUSPENDED = "Another project of these people is suspended."
    OTHER_PROJECT_SETBACK_LATELY = "Another project of these people lost an approval or was suspended in the last year."
    OTHER_PROJECT_SETBACK = "Another project of these people had a rejection, a withdrawal or a suspension."
    NO_OTHER_APPS = "These people have no other app."
    OTHER_APPS_FINE = "Nothing is known against the other apps of these people."
    OTHER_APPS = ("{count} other app. Reviewed: {reviewed}", "{count} other apps. Reviewed: {reviewed}")
    MANY_OTHER_APPS = "{count} or more other apps. Reviewed: {reviewed}"
    NO_OTHER_APP = "No other app"
    SUSPENDED_PROJECT = "Suspended now: the project {project}"
    MANY_REPORTS = "{count} people reported the app in the last year, and a case is open."
    CASES_OPEN = ("{count} case is open.", "{count} cases are open.")
    DELETED_APPS_REPORTED = "In the last year, people reported an app of the project that is deleted now."
    CASES_CLOSED = "People reported the app in the last year. The cases are closed."
    NO_REPORTS = "Nobody reported the app in the last year, and no case is open."
    REPORTS_FOR = "{reason}: {number}"
    CASE_OPEN = "Open: {kind}, since {since:day}"
    CASE_ACTED_ON = "Acted on: {kind}, {since:day}"
    DELETED_APP_REPORTED = "A deleted app was reported: {at:day}"
    # --- Use ---
    NO_PEOPLE = "Nobody has authorized the app yet, not even its developers."
    PEOPLE = ("{count} person has ever authorized the app.", "{count} people have ever authorized the app.")
    MANY_PEOPLE = "{count} or more people have ever authorized the app."
    NO_SIGN_INS = "The sign-in log has no entry of the app."
    SIGN_INS = (
        "{count} entry in the log: {signed_in} signed in, {cancelled} cancelled, {refused} refused.",
        "{count} entries in the log: {signed_in} signed in, {cancelled} cancelled, {refused} refused.",
    )
    SIGN_INS_OF_NEWEST = (
        "Of the newest {count} entries in the log: {signed_in} signed in, {cancelled} cancelled, {refused} refused."
    )
    MOST_SIGN_INS_REFUSED = (
        "Most sign-ins are refused. Of {count} entries in the log: {signed_in} signed in, {cancelled} "
        "cancelled, {refused} refused."
    )
    REFUSALS = "{error}: {number}"
    NO_CALLS = "No requests in {days} days."
    CALLS = (
        "{count} request in {days} days. Errors: {errors} ({percent:.1f} %).",
        "{count} requests in {days} days. Errors: {errors} ({percent:.1f} %).",
    )
    MOST_CALLS_FAIL = "Most requests fail. {count} requests in {days} days, {errors} errors ({percent:.1f} %)."
    NO_SCOPES = "The app requests no scope that needs approval."
    SCOPES_IDLE = "Approved, but neither requested nor used in {days} days: {scopes}."
    SCOPES_UNUSED = "Approved, but not used for {days} days: {scopes}."
    SCOPES_NEVER_TRIED = "Requested, although nobody has ever signed in: {scopes}."
    SCOPES_DROPPED = "Approved, but no longer requested, so an approval removes it: {scopes}."
    SCOPES_USED = "The approved scopes are used."
    SCOPES_ASKED_FOR = "People sign in to the app that requests the scopes."
    SCOPE_HELD = (
        "{scope}: approved. People who granted it: {granted}. In {days} days: people asked for it: {asked}, "
        "refused requests: {refused}, API requests: {calls} (to {endpoints})"
    )
    SCOPE_NOT_HELD = (
        "{scope}: not approved. People who granted it: {granted}. In {days} days: people asked for it: "
        "{asked}, refused requests: {refused}, API requests: {calls} (to {endpoints})"
    )


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
        return fill_in(self.code.value, self.parameters)


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
        return fill_in(self.code.value, self.parameters)


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
