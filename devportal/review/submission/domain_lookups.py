"""Looking up an app's domains again when a review starts and when it is approved (docs/review.md#domains).

All domains are looked up at the same time, outside of a transaction, for at most WAIT_SECONDS. A failed lookup is shown
as such.
"""

import logging
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core import clock
from core.messages import listed
from devportal.review.models import AppReview
from devportal.review.submission.requirements import addresses_to_prove
from oidc.clients.domain_names import domains_of, hosts_of
from oidc.domains.checking import store_check
from oidc.domains.proofs import ProofCheck, check_proofs
from oidc.domains.results import Change
from oidc.models import ProjectDomain

log = logging.getLogger(__name__)

WAIT_SECONDS = 6.0
AT_ONCE = 8
FOUND, NOT_FOUND, FAILED = "found", "not_found", "failed"
_GONE = (Change.MISSING, Change.LOST)


@dataclass(frozen=True)
class Lookup:
    """The result of looking up one domain: FOUND, NOT_FOUND, or FAILED if nobody answered in time.

    `is_news` tells that the proof was found before.
    """

    name: str
    at: datetime
    result: str
    is_news: bool = False

    def as_details(self) -> dict[str, Any]:
        """Return the details that the timeline stores."""
        return {"name": self.name, "at": self.at.isoformat(), "result": self.result}


def look_up(review: AppReview) -> list[Lookup]:
    """Look up the domains of a submission's URLs and store the results. Call it outside of a transaction.

    Domains that the operator declared are left out, because they need no proof.
    """
    hosts = hosts_of(addresses_to_prove(review.snapshot))
    known = [row for row in domains_of(review.client.project) if row.method != ProjectDomain.Method.OPERATOR]
    used = [row for row in known if any(map(row.covers, hosts))]
    if not used:
        return []
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="domain lookups")
    try:
        looks = {pool.submit(check_proofs, row): row for row in used}
        wait(looks, timeout=WAIT_SECONDS)
        return [_result(future, row) for future, row in looks.items()]
    finally:
        # Lookups that are still running end by their own timeouts. Nothing waits for them.
        pool.shutdown(wait=False, cancel_futures=True)


def _result(future: "Future[ProofCheck]", domain: ProjectDomain) -> Lookup:
    now = clock.now()
    if not future.done() or future.cancelled():
        return Lookup(domain.name, now, FAILED)
    if (error := future.exception()) is not None:
        log.error("The domain %s could not be looked up.", domain.name, exc_info=error)
        return Lookup(domain.name, now, FAILED)
    seen = future.result()
    change = store_check(domain, seen)
    if seen.dns.found or (seen.file is not None and seen.file.found):
        return Lookup(domain.name, now, FOUND)
    failed = seen.dns.is_temporary or (seen.file is not None and seen.file.is_temporary)
    return Lookup(domain.name, now, FAILED if failed and change not in _GONE else NOT_FOUND, change in _GONE)


def proofs_gone(lookups: Iterable[Lookup]) -> str:
    """Return the names of domains whose proof is newly missing, joined for a sentence; "" if there are none."""
    return listed(found.name for found in lookups if found.is_news)


def failures(lookups: Iterable[Lookup]) -> str:
    """Return the names of domains whose lookup failed, joined for a sentence; "" if there are none."""
    return listed(found.name for found in lookups if found.result == FAILED)
