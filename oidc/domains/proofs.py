"""What a project publishes to prove a domain, and looking for it (docs/domains.md#proofs).

Looking asks the network and no database: no transaction may be open meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from devportal.lib import outbound
from devportal.lib.outbound import OutboundRefused
from oidc.models import ProjectDomain

# Fixed for ever: whoever renames the service must not end every proof.
CHALLENGE_LABEL = "_openport-challenge"
CHALLENGE_PATH = "/.well-known/openport-challenge.txt"

LONGEST_REASON = 300  # characters of what is kept of one failure
# Refusals of devportal/lib/outbound that are an answer. After any other nothing is known: a later look may go better.
FINAL_CODES = frozenset(
    {"no_address", "private_address", "redirect", "redirects", "encoded", "too_large", "headers_too_large",
     "too_many_records"}
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What came of looking for one kind of proof; `reason` says why there is none."""

    found: bool
    reason: str = ""
    is_temporary: bool = False


@dataclass(frozen=True)
class Look:
    """What a look at a domain saw: the record, and the file unless the record was there."""

    dns: Seen
    file: Seen | None = None


def record_name(domain: str) -> str:
    """Return the name of the TXT record that proves a domain."""
    return f"{CHALLENGE_LABEL}.{domain}"


def file_url(domain: str) -> str:
    """Return the address of the file that proves a domain."""
    return f"https://{domain}{CHALLENGE_PATH}"


def look(domain: ProjectDomain) -> Look:
    """Look for the proof of a domain: the TXT record, and without it the file. Never raises OutboundRefused."""
    dns = _asked(lambda: _look_at_record(domain))
    return Look(dns) if dns.found else Look(dns, _asked(lambda: _look_at_file(domain)))


def _asked(ask: Callable[[], Seen]) -> Seen:
    try:
        return ask()
    except OutboundRefused as refused:
        return Seen(False, str(refused)[:LONGEST_REASON], is_temporary=refused.code not in FINAL_CODES)


def _look_at_record(domain: ProjectDomain) -> Seen:
    records = outbound.txt_records(record_name(domain.name))
    # Some panels keep the quotes that people type around a value.
    if any(domain.token in record.replace('"', " ").split() for record in records):
        return Seen(True)
    if not records:
        return Seen(False, "There is no such TXT record.")
    return Seen(False, "There is a TXT record of this name, but none with this value.")


def _look_at_file(domain: ProjectDomain) -> Seen:
    answer = outbound.fetch(file_url(domain.name))
    if urlsplit(answer.url).hostname != domain.name:
        return Seen(False, "The address leads to another host.")
    if answer.status >= 500 or answer.status == 429:
        return Seen(False, f"The web server answers with an error ({answer.status}).", is_temporary=True)
    if answer.status != 200:
        return Seen(False, f"There is no such file: the web server answers {answer.status}.")
    # Compared whole: a page that repeats whatever is asked for, or holds what others wrote, is no proof.
    if answer.text.strip() != domain.token:
        return Seen(False, "There is a file, but it holds something else than the value alone.")
    return Seen(True)
