"""The addresses of a submission, and which of them a reviewer may be led to."""

from dataclasses import dataclass

from devportal.console.models import AppReview
from devportal.console.reviews.domain_rules import PAGE_FIELDS
from devportal.console.reviews.snapshots import latest_revision, sent_snapshot
from oidc.clients.uris import split_web_address
from oidc.domains.coverage import domains_of, is_covered, is_loopback

_LISTS = ("redirect_urls", "sign_out_urls")


class UnknownAddress(LookupError):
    """The address is none of the submission's."""


@dataclass(frozen=True)
class Destination:
    """An address with its host apart: `before`, `host` and `after` put together are the whole of it."""

    before: str
    host: str
    after: str
    is_proven: bool
    is_loopback: bool  # it leads to the machine of whoever opens it

    @property
    def address(self) -> str:
        """The whole address."""
        return f"{self.before}{self.host}{self.after}"


def addresses_of(review: AppReview) -> list[str]:
    """Return every web address of what was sent last that can be opened."""
    asked = sent_snapshot(review, latest_revision(review))
    pages = [asked.get(field) or "" for field in (*PAGE_FIELDS, "demo_url")]
    lists = [address for name in _LISTS for address in asked.get(name, ())]
    return [address for address in (*pages, *lists) if is_web(address)]


def is_web(address: str) -> bool:
    """Return whether an address leads to the web; others are shown and not linked."""
    return address.startswith(("https://", "http://")) and split_web_address(address) is not None


def find_destination(review: AppReview, address: str) -> Destination:
    """Return an address of a submission, character for character. Raises UnknownAddress for any other."""
    parts = split_web_address(address) if address in addresses_of(review) else None
    if parts is None:
        raise UnknownAddress
    host = parts.hostname or ""
    # The host begins where the scheme ends: an address with a user name is none of the web here. In any letter case.
    start = address.lower().index(host, address.index("://") + 3)
    end = start + len(host)
    proven = is_covered(host, domains_of(review.client.project))
    return Destination(address[:start], address[start:end], address[end:], proven, is_loopback(host))
