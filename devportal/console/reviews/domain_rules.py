"""Which addresses of a submission have to lie on proven domains (docs/review.md#domains)."""

from collections.abc import Collection

from devportal.console.models import AppReview
from devportal.console.reviews.snapshots import Snapshot, client_values
from oidc.clients.reviewed_hosts import set_approved_hosts
from oidc.domains.coverage import hosts_of, unproven_hosts
from oidc.models import Client

PAGE_FIELDS = ("home_page_url", "privacy_policy_url", "terms_url")


def addresses_to_prove(asked: Snapshot) -> list[str]:
    """Return every address of a submission whose host the project has to have proven, unless it is a loopback one."""
    pages = [asked[field] for field in PAGE_FIELDS if asked[field]]
    return [*pages, *asked["redirect_urls"], *asked.get("sign_out_urls", [])]


def cover_submission(client: Client, review: AppReview) -> None:
    """Write down the hosts and domains that an approval covers, also with the review; the caller saves both."""
    sent = client_values(client) | review.snapshot
    set_approved_hosts(client, sent["redirect_urls"], addresses_to_prove(sent))
    review.snapshot = {**review.snapshot, "domains": client.approved_domains.split()}


def hosts_to_prove(client: Client, asked: Snapshot) -> list[str]:
    """Return the hosts of a submission that lie on no proven domain of the project."""
    return unproven_hosts(client.project, addresses_to_prove(asked))


def why_not_approvable(client: Client, asked: Snapshot) -> str:
    """Return what keeps a submission from being approved as it was sent, for the reviewer; "" for nothing."""
    if unproven := hosts_to_prove(client, asked):
        return f"The project has not proven {', '.join(unproven[:5])}, so this can't be approved."
    if asked.get("type", client.type) != client.type:
        return "The client's type changed after this was sent. Request changes, so that it is sent again as it is now."
    return ""


def pages_to_prove(asked: Snapshot, unproven: Collection[str]) -> dict[str, str]:
    """Return the host of each page that lies on one of the `unproven` hosts, by field."""
    hosts = {field: next(iter(hosts_of([asked[field]])), "") for field in PAGE_FIELDS if asked[field]}
    return {field: host for field, host in hosts.items() if host in unproven}
