"""Judges of where an app's addresses lie."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from devportal.console.reviews.domain_rules import addresses_to_prove
from devportal.console.reviews.evidence.facts import Detail, Finding, detail, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.texts import Code
from oidc.clients.branding import foreign_hosts
from oidc.domains.coverage import hosts_of, is_covered, is_loopback, is_lost
from oidc.domains.problems import problems_of
from oidc.models import Client, ProjectDomain

Method = ProjectDomain.Method
# A proof is checked every week (docs/domains.md); two weeks later something prevents the checks.
STALE_AFTER = timedelta(days=15)
MAX_SHOWN = 20


def judge_domains(found: Gathered) -> Finding:
    """Each host of pages, redirects and sign-outs: by what it is proven, since when, and when that was checked."""
    hosts = [host for host in hosts_of(addresses_to_prove(found.asked)) if not is_loopback(host)]
    details = [line for host in hosts[:MAX_SHOWN] for line in _proof_of(host, found)]
    unproven = [host for host in hosts if not is_covered(host, found.domains)]
    if unproven:
        lost = [host for host in unproven if is_lost(host, found.domains)]
        if lost:
            return failed(Code.HOSTS_LOST, *details, hosts=unproven, lost=lost)
        return failed(Code.HOSTS_NOT_PROVEN, *details, hosts=unproven)
    used = [domain for domain in found.domains if domain.is_proven and any(map(domain.covers, hosts))]
    others = [row for row in found.elsewhere if row.name in {domain.name for domain in used}]
    if others:
        details += [detail(Code.DOMAIN_ALSO_PROVEN_BY, domain=row.name, project=row.project.name) for row in others]
        return warned(Code.PROVEN_ELSEWHERE, *details, domains=list({row.name: None for row in others}))
    missing = [domain.name for domain in used if domain.missing_since]
    if missing:
        return warned(Code.PROOF_MISSING, *details, domains=missing)
    not_found = [domain.name for domain in used if domain.problems]
    if not_found:
        return warned(Code.PROOF_NOT_FOUND, *details, domains=not_found)
    stale = [domain.name for domain in used if _is_stale(domain, found)]
    if stale:
        return warned(Code.PROOF_NOT_CHECKED, *details, domains=stale)
    if not hosts:
        return passed(Code.NOTHING_TO_PROVE)
    return passed(Code.HOSTS_PROVEN, *details, count=len(hosts))


def _is_stale(domain: ProjectDomain, found: Gathered) -> bool:
    if domain.method == Method.OPERATOR:
        return False  # there is nothing to check
    return domain.checked_at is None or found.now - domain.checked_at > STALE_AFTER


def _proof_of(host: str, found: Gathered) -> Iterator[Detail]:
    covering = [domain for domain in found.domains if domain.covers(host)]
    proven = next((domain for domain in covering if domain.is_proven), None)
    if proven is None:
        lost_at = next((domain.lost_at for domain in covering if domain.lost_at), None)
        if lost_at is not None:
            yield detail(Code.HOST_LOST, host=host, lost_at=lost_at)
        else:
            yield detail(Code.HOST_CLAIMED if covering else Code.HOST_UNKNOWN, host=host)
        return
    proof, name, since, checked_at = Method(proven.method), proven.name, proven.proven_at, proven.checked_at
    if checked_at is None or proof == Method.OPERATOR:
        yield detail(Code.HOST_PROVEN, host=host, proof=proof, domain=name, since=since)
        return
    yield detail(
        Code.HOST_PROVEN_AND_CHECKED, host=host, proof=proof, domain=name, since=since, checked_at=checked_at
    )  # fmt: skip
    for problem in problems_of(proven):
        yield detail(Code.HOST_PROBLEM, host=host, proof=Method(problem.proof), problem=problem)
    if proven.missing_since:
        yield detail(Code.HOST_MISSING, host=host, since=proven.missing_since)


def judge_redirect_hosts(found: Gathered) -> Finding:
    """Each redirect and sign-out URL against the proven domains; loopback is marked, and a native app's own."""
    addresses = [*found.asked["redirect_urls"], *found.asked["sign_out_urls"]]
    if not found.asked["redirect_urls"]:
        return failed(Code.NO_REDIRECT_URL)
    details = [detail(_place_of(address, found), link=address, url=address) for address in addresses[:MAX_SHOWN]]
    hosts = hosts_of(addresses)
    unproven = [host for host in hosts if not is_loopback(host) and not is_covered(host, found.domains)]
    if unproven:
        return failed(Code.URLS_NOT_PROVEN, *details, hosts=unproven)
    if found.client.type != Client.Type.NATIVE and any(map(is_loopback, hosts)):
        return warned(Code.URLS_ON_LOOPBACK, *details)
    foreign = foreign_hosts(found.asked["home_page_url"], addresses)
    if foreign:
        return warned(Code.URLS_ON_OTHER_DOMAIN, *details, hosts=foreign)
    return passed(Code.URLS_FINE, *details, count=len(addresses))


def _place_of(address: str, found: Gathered) -> Code:
    hosts = hosts_of([address])
    if not hosts:
        return Code.URL_OF_PLAYGROUND
    if is_loopback(hosts[0]):
        is_installed = found.client.type == Client.Type.NATIVE
        return Code.URL_ON_LOOPBACK_OF_INSTALLED_APP if is_installed else Code.URL_ON_LOOPBACK
    return Code.URL_PROVEN if is_covered(hosts[0], found.domains) else Code.URL_NOT_PROVEN


def judge_localhost(found: Gathered) -> Finding:
    """Whether the app can be used from anywhere but its developer's computer."""
    hosts: Sequence[str] = hosts_of(found.asked["redirect_urls"])
    if found.client.type == Client.Type.NATIVE:
        return passed(Code.INSTALLED_APP)
    if hosts and all(map(is_loopback, hosts)):
        return failed(Code.LOCALHOST_ONLY)
    return passed(Code.REACHABLE)
