"""Proofs of a domain: what a project publishes, how a check looks for it, and why a check found none."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from core import outbound
from core.messages import fill_in
from core.outbound import OutboundRefused
from oidc.models import ProjectDomain


class Code(StrEnum):
    """Why what was published proves nothing; a request that brought no answer has a code of `outbound.Code`."""

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
    """Why there is no proof of one kind: an entry of `ProjectDomain.problems`."""

    proof: str  # of ProjectDomain.Method
    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the problem as it is stored."""
        return asdict(self)

    @property
    def label(self) -> str:
        """The kind of proof, as pages and mails name it."""
        return PROOFS[ProjectDomain.Method(self.proof)]

    @property
    def text(self) -> str:
        """The sentence that says what the problem is."""
        if self.code in TEXTS:
            return fill_in(TEXTS[self.code], self.parameters)
        return outbound.text_of(self.code, self.parameters)


def problems_of(domain: ProjectDomain) -> list[Problem]:
    """Return why the last check of a domain found no proof; empty if it found one, or there was none yet."""
    return [Problem(**stored) for stored in domain.problems]


# Looking asks the network and no database: no transaction may be open meanwhile.

# Fixed for ever: whoever renames the service must not end every proof.
CHALLENGE_LABEL = "_openport-challenge"
CHALLENGE_PATH = "/.well-known/openport-challenge.txt"

# Refusals of core/outbound that are an answer. After any other nothing is known: a later look may go better.
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
