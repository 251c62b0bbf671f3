"""Proofs of a domain: what a project publishes, how a check finds it, and why a check failed.

A check asks the network and not the database. No transaction may be open meanwhile.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from core import outbound
from core.messages import fill_in
from core.outbound import OutboundRefused
from oidc.clients.domain_names import CHALLENGE_LABEL
from oidc.models import ProjectDomain


class Code(StrEnum):
    """Why a check found no proof. If the request itself failed, the code is one of `outbound.Code` instead."""

    NO_RECORD = "no_record"
    OTHER_RECORDS = "other_records"
    SERVER_ERROR = "server_error"
    NO_FILE = "no_file"
    OTHER_CONTENT = "other_content"


TEXTS: Mapping[str, str] = {
    Code.NO_RECORD: "There is no such TXT record.",
    Code.OTHER_RECORDS: "There is a TXT record with this name, but none with this value.",
    Code.SERVER_ERROR: "The web server answered with an error ({status}).",
    Code.NO_FILE: "There is no such file: the web server answered {status}.",
    Code.OTHER_CONTENT: "There is a file, but its content is not exactly the value.",
}
PROOFS = {ProjectDomain.Method.DNS: "DNS record", ProjectDomain.Method.FILE: "File"}


@dataclass(frozen=True)
class Problem:
    """Why one kind of proof was not found: an entry of `ProjectDomain.problems`."""

    proof: str  # a value of ProjectDomain.Method
    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the problem as stored in the database."""
        return asdict(self)

    @property
    def label(self) -> str:
        """The kind of proof, as shown on pages and in emails."""
        return PROOFS[ProjectDomain.Method(self.proof)]

    @property
    def text(self) -> str:
        """The problem as a sentence."""
        if self.code in TEXTS:
            return fill_in(TEXTS[self.code], self.parameters)
        return outbound.text_of(self.code, self.parameters)


def problems_of(domain: ProjectDomain) -> list[Problem]:
    """Return why the last check of a domain found no proof. Empty if it found one, or if there was no check yet."""
    return [Problem(**stored) for stored in domain.problems]


# Fixed forever, like CHALLENGE_LABEL.
CHALLENGE_PATH = "/.well-known/openport-challenge.txt"

# Errors of core/outbound that count as a final result. After any other error, a later check may succeed.
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
class ProofResult:
    """The result for one kind of proof. `code` and `parameters` say why it was not found (see `Problem`)."""

    found: bool
    code: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_temporary: bool = False


@dataclass(frozen=True)
class ProofCheck:
    """The result of a check: the DNS record and, if that was not found, the file."""

    dns: ProofResult
    file: ProofResult | None = None

    @property
    def is_found(self) -> bool:
        """Whether one of them was found."""
        return self.dns.found or (self.file is not None and self.file.found)


def record_name(domain: str) -> str:
    """Return the name of the TXT record that proves a domain."""
    return f"{CHALLENGE_LABEL}.{domain}"


def file_url(domain: str) -> str:
    """Return the URL of the file that proves a domain."""
    return f"https://{domain}{CHALLENGE_PATH}"


def check_proofs(domain: ProjectDomain) -> ProofCheck:
    """Check for the TXT record of a domain and, without it, for the file. Never raises OutboundRefused."""
    dns = _attempt(lambda: _check_record(domain))
    return ProofCheck(dns) if dns.found else ProofCheck(dns, _attempt(lambda: _check_file(domain)))


def _attempt(check: Callable[[], ProofResult]) -> ProofResult:
    try:
        return check()
    except OutboundRefused as refused:
        return ProofResult(False, refused.code, refused.parameters, is_temporary=refused.code not in FINAL_CODES)


def _check_record(domain: ProjectDomain) -> ProofResult:
    records = outbound.txt_records(record_name(domain.name))
    # Some DNS providers keep the quotes that people type around a value.
    if any(domain.token in record.replace('"', " ").split() for record in records):
        return ProofResult(True)
    return ProofResult(False, Code.OTHER_RECORDS if records else Code.NO_RECORD)


def _check_file(domain: ProjectDomain) -> ProofResult:
    answer = outbound.fetch(file_url(domain.name))
    if urlsplit(answer.url).hostname != domain.name:
        return ProofResult(False, outbound.Code.ANOTHER_HOST)
    if answer.status >= 500 or answer.status == 429:
        return ProofResult(False, Code.SERVER_ERROR, {"status": answer.status}, is_temporary=True)
    if answer.status != 200:
        return ProofResult(False, Code.NO_FILE, {"status": answer.status})
    # The whole content has to match: a page that echoes its URL or shows what visitors wrote proves nothing.
    if answer.text.strip() != domain.token:
        return ProofResult(False, Code.OTHER_CONTENT)
    return ProofResult(True)
