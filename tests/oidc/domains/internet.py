"""Name servers and web servers that replace the real ones, and whose content tests set."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from core import outbound
from core.outbound import Answer, Code, OutboundRefused
from oidc.domains import checking
from oidc.domains.proofs import file_url, record_name
from oidc.models import ProjectDomain

HOUR, DAY = 3600, 24 * 3600


@dataclass
class Internet:
    """TXT records by name, and files by URL. If an exception is stored instead, it is raised."""

    records: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    # Called with each request before the response.
    meanwhile: Callable[[str], object] = lambda asked: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def txt_records(self, name: str) -> list[str]:
        found = self._answer(name, self.records.get(name, []))
        return list(found)

    def fetch(self, url: str) -> Answer:
        found = self._answer(url, self.files.get(url, OutboundRefused(Code.NO_ADDRESS)))
        return found if isinstance(found, Answer) else page(url, found)

    def _answer(self, asked: str, found: Any) -> Any:
        with self.lock:
            self.asked.append(asked)
        self.meanwhile(asked)
        if isinstance(found, Exception):
            raise found
        return found

    def publish_record(self, domain: ProjectDomain, *records: str) -> None:
        self.records[record_name(domain.name)] = list(records or [domain.token])

    def publish_file(self, domain: ProjectDomain, text: Any = None) -> None:
        self.files[file_url(domain.name)] = domain.token if text is None else text

    def clear(self) -> None:
        """Remove everything that was published."""
        self.records.clear()
        self.files.clear()

    def fail(self, domain: ProjectDomain) -> None:
        """Let the name servers of a domain fail, so that its host is not found either."""
        failed = OutboundRefused(Code.DNS_FAILED)
        self.records[record_name(domain.name)] = self.files[file_url(domain.name)] = failed


def page(url: str, text: str, status: int = 200) -> Answer:
    """Return a response of a web server."""
    return Answer(url, status, "text/plain", text.encode())


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Internet:
    """An internet on which nothing is published."""
    made = Internet()
    monkeypatch.setattr(outbound, "txt_records", made.txt_records)
    monkeypatch.setattr(outbound, "fetch", made.fetch)
    return made


def state(domain: ProjectDomain) -> str:
    """Load a domain again, and return the state of its proof in words."""
    domain.refresh_from_db()
    if domain.lost_at:
        return "lost"
    if not domain.proven_at:
        return "new"
    return f"{'missing' if domain.missing_since else 'proven'} by {domain.method}"


def prove(domain: ProjectDomain, internet: Internet, by: str = ProjectDomain.Method.DNS) -> ProjectDomain:
    """Publish the proof of a domain, and check the domain, which finds the proof."""
    (internet.publish_record if by == ProjectDomain.Method.DNS else internet.publish_file)(domain)
    checking.check(domain.pk)
    assert state(domain) == f"proven by {by}"
    return domain
