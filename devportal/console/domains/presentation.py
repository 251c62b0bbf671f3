"""What the console shows of a domain: its state in words, and what has to be published for it."""

from dataclasses import dataclass
from datetime import datetime

from devportal.lib import clock
from oidc.domains.coverage import domains_of
from oidc.domains.problems import Problem, problems_of
from oidc.domains.proofs import CHALLENGE_PATH, file_url, record_name
from oidc.domains.results import lost_from
from oidc.models import Project, ProjectDomain

Method = ProjectDomain.Method
_PROVEN_BY = {Method.DNS: "DNS record", Method.FILE: "file on its web server", Method.OPERATOR: "the operator"}


@dataclass(frozen=True)
class DomainRow:
    """A domain as the page shows it."""

    domain: ProjectDomain
    state: str  # new, proven, missing or lost
    proven_by: str
    is_checking: bool
    counts_until: datetime | None  # for one that is missing
    problems: list[Problem]
    record_name: str
    file_url: str
    file_path: str

    @property
    def is_operators(self) -> bool:
        return self.domain.method == Method.OPERATOR

    @property
    def covers_subdomains(self) -> bool:
        return self.domain.method != Method.FILE

    @property
    def shows_what_to_publish(self) -> bool:
        """Whether what to publish stands open: for whoever has to do something about it."""
        return self.state != "proven"


def state_of(domain: ProjectDomain) -> str:
    """Return the state of a domain's proof: new, proven, missing (it still counts) or lost."""
    if domain.lost_at is not None:
        return "lost"
    if domain.proven_at is None:
        return "new"
    return "missing" if domain.missing_since is not None else "proven"


def is_checking(domain: ProjectDomain) -> bool:
    """Return whether a look at the domain was asked for, or is due, and is not over."""
    return domain.check_at is not None and domain.check_at <= clock.now()


def domain_row(domain: ProjectDomain) -> DomainRow:
    """Return what the page shows of one domain."""
    state = state_of(domain)
    return DomainRow(
        domain=domain,
        state=state,
        proven_by=_PROVEN_BY.get(Method(domain.method), "") if domain.method else "",
        is_checking=is_checking(domain),
        counts_until=lost_from(domain.missing_since) if state == "missing" and domain.missing_since else None,
        problems=problems_of(domain),
        record_name=record_name(domain.name),
        file_url=file_url(domain.name),
        file_path=CHALLENGE_PATH,
    )


def domain_rows(project: Project) -> list[DomainRow]:
    """Return what the page shows of a project's domains, by name; one statement."""
    return [domain_row(domain) for domain in domains_of(project)]
