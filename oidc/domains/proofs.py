"""What a project publishes to prove a domain, and looking for it (docs/domains.md#proofs).

Looking asks the network and no database: no transaction may be open meanwhile.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from devportal.lib import outbound
from devportal.lib.outbound import OutboundRefused
from oidc.domains.problems import Code
from oidc.models import ProjectDomain

# Fixed for ever: whoever renames the service must not end every proof.
CHALLENGE_LABEL = "_openport-challenge"
CHALLENGE_PATH = "/.well-known/openport-challenge.txt"

# Refusals of devportal/lib/outbound that are an answer. After any other nothing is known: a later look may go better.
FINAL_CODES = frozenset(
    {
        outbound.Code.NO_ADDRESS,
        outbound.Code.PRIVATE_ADDRESS,
        outbound.Code.REDIRECT,
        outbound.Code.REDIRECTS,
        outbound.Code.ENCODED,
        outbound.Code.TOO_LARGE,
        outbound.Code.HEADERS_TOO_LARGE,
        outbound.Code.TOO_MANY_RECORDS,
    }
)


@dataclass(frozen=True)
class Seen:
    """What came of looking for one kind of proof; `code` and `parameters` say why there is none (problems.py)."""

    found: bool
    code: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
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
        return Seen(False, refused.code, refused.parameters, is_temporary=refused.code not in FINAL_CODES)


def _look_at_record(domain: ProjectDomain) -> Seen:
    records = outbound.txt_records(record_name(domain.name))
    # Some panels keep the quotes that people type around a value.
    if any(domain.token in record.replace('"', " ").split() for record in records):
        return Seen(True)
    return Seen(False, Code.OTHER_RECORDS if records else Code.NO_RECORD)


def _look_at_file(domain: ProjectDomain) -> Seen:
    answer = outbound.fetch(file_url(domain.name))
    if urlsplit(answer.url).hostname != domain.name:
        return Seen(False, outbound.Code.ANOTHER_HOST)
    if answer.status >= 500 or answer.status == 429:
        return Seen(False, Code.SERVER_ERROR, {"status": answer.status}, is_temporary=True)
    if answer.status != 200:
        return Seen(False, Code.NO_FILE, {"status": answer.status})
    # Compared whole: a page that repeats whatever is asked for, or holds what others wrote, is no proof.
    if answer.text.strip() != domain.token:
        return Seen(False, Code.OTHER_CONTENT)
    return Seen(True)
