"""The data that the rules check, as plain values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from devportal.review.models import AppReview
from devportal.review.rules.snapshots import Snapshot, latest_revision, sent_snapshot
from devportal.review.submission.requirements import PAGE_FIELDS
from oidc.clients.domain_names import domains_of, is_covered, is_loopback
from oidc.models import Client, ProjectDomain
from oidc.values.redirect_uris import split_web_address

_LISTS = ("redirect_urls", "sign_out_urls")


class UnknownAddress(LookupError):
    """The URL is not part of the submission."""


@dataclass(frozen=True)
class Destination:
    """A URL split around its host: `before`, `host` and `after` together are the whole URL."""

    before: str
    host: str
    after: str
    is_proven: bool
    is_loopback: bool  # it leads to the computer of the person who opens it

    @property
    def address(self) -> str:
        """The whole URL."""
        return f"{self.before}{self.host}{self.after}"


def addresses_of(review: AppReview) -> list[str]:
    """Return every web URL of the last submission that can be opened."""
    asked = sent_snapshot(review, latest_revision(review))
    pages = [asked.get(field) or "" for field in (*PAGE_FIELDS, "demo_url")]
    lists = [address for name in _LISTS for address in asked.get(name, ())]
    return [address for address in (*pages, *lists) if is_web(address)]


def is_web(address: str) -> bool:
    """Return whether a URL leads to the web. Others are shown without a link."""
    return address.startswith(("https://", "http://")) and split_web_address(address) is not None


def find_destination(review: AppReview, address: str) -> Destination:
    """Return a URL of a submission. Raises UnknownAddress unless it matches one character for character."""
    parts = split_web_address(address) if address in addresses_of(review) else None
    if parts is None:
        raise UnknownAddress
    host = parts.hostname or ""
    # The host begins after the scheme, because URLs with a user name are not accepted. The letter case does not matter.
    start = address.lower().index(host, address.index("://") + 3)
    end = start + len(host)
    proven = is_covered(host, domains_of(review.client.project))
    return Destination(address[:start], address[start:end], address[end:], proven, is_loopback(host))


@dataclass(frozen=True)
class SimilarApp:
    """Another app, and the similarity of its name: 1 means that it reads the same."""

    client: Client
    similarity: float


@dataclass(frozen=True)
class SimilarLogo:
    """A reviewed app, and the number of bits, of 64, by which its logo's hash differs."""

    client: Client
    distance: int


class Part(StrEnum):
    """A person's part in a project."""

    SUBMITTER = "submitter"  # of this submission
    OWNER = "owner"
    FORMER_OWNER = "former_owner"
    EARLIER_SUBMITTER = "earlier_submitter"  # of any app of the project


@dataclass(frozen=True)
class Person:
    """A person who submitted the app, or owns or owned the project. `created_at` is None if the account is deleted."""

    email: str
    created_at: datetime | None
    part: Part
    until: datetime | None = None  # of a former owner


@dataclass(frozen=True)
class Setback:
    """A rejection, a withdrawn approval or a suspension. `app` is "" if it concerned the whole project."""

    kind: str  # of ReviewEntry.Kind
    at: datetime
    app: str
    project: str
    client: int | None


@dataclass(frozen=True)
class OtherApps:
    """Other apps of the project and of the people's other projects, up to a limit."""

    apps: Sequence[Client] = ()
    is_more: bool = False
    suspended: Sequence[str] = ()  # names of projects that are suspended now
    setbacks: Sequence[Setback] = ()  # in those other projects


@dataclass(frozen=True)
class KnownCase:
    """A case about the app or its project."""

    kind: str  # of ReviewCase.Kind
    opened_at: datetime
    is_open: bool
    had_effect: bool  # closed after something was done


@dataclass(frozen=True)
class ScopeUsage:
    """How the app uses a scope that needs approval. `…_lately` and the requests are those of the last 30 days."""

    granted: int = 0  # people who grant it
    asked: int = 0  # people who signed in lately and whose consent has it, or who left it out
    refused: int = 0  # requests for it that were refused
    calls: int = 0  # successful calls, over the longer period
    calls_lately: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether the app has neither asked for it nor used it lately."""
        return not (self.asked or self.refused or self.calls_lately)


@dataclass(frozen=True)
class Usage:
    """How the app is used. Counts stop at a limit; `…_is_more` tells that there are more."""

    people: int = 0
    people_is_more: bool = False
    scopes: Mapping[str, ScopeUsage] = field(default_factory=dict)  # of all scopes that need approval
    sign_ins: int = 0
    cancelled: int = 0
    refusals: Mapping[str, int] = field(default_factory=Counter)  # error -> count
    sign_ins_is_more: bool = False
    calls: int = 0
    errors: int = 0

    @property
    def error_rate(self) -> float | None:
        """The share of calls that were refused or failed, or None without calls."""
        return self.errors / self.calls if self.calls else None

    @property
    def refused(self) -> int:
        """The number of refused steps in the sign-in log."""
        return sum(self.refusals.values())


@dataclass(frozen=True)
class Gathered:
    """Everything that the rules check. `page_checks` is None until the pages have been checked."""

    client: Client
    asked: Snapshot
    now: datetime
    domains: Sequence[ProjectDomain] = ()
    elsewhere: Sequence[ProjectDomain] = ()  # the same domains, proven by other projects
    page_checks: Sequence[Mapping[str, Any]] | None = None
    names: Sequence[SimilarApp] = ()
    logo_hash: str = ""
    logos: Sequence[SimilarLogo] = ()
    people: Sequence[Person] = ()
    setbacks: Sequence[Setback] = ()
    others: OtherApps = OtherApps()
    usage: Usage = Usage()
    cases: Sequence[KnownCase] = ()
    reports: Mapping[str, int] = field(default_factory=dict)  # AppReport.Reason -> number of people in the last year
    reported_and_deleted: Sequence[datetime] = ()  # when deleted apps of the project were reported in the last year
