"""Judges of where an app's addresses lie."""

from collections.abc import Sequence
from datetime import timedelta

from devportal.console.reviews.domain_rules import addresses_to_prove
from devportal.console.reviews.evidence.facts import Detail, Finding, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.words import day, listed, many, minute
from oidc.clients.branding import foreign_hosts
from oidc.domains.coverage import hosts_of, is_covered, is_loopback, is_lost
from oidc.models import Client, ProjectDomain

# A proof is looked for every week (docs/domains.md); two weeks later something keeps it from being looked for.
STALE_AFTER = timedelta(days=15)
MAX_SHOWN = 20


def judge_domains(found: Gathered) -> Finding:
    """Each host of pages, redirects and sign-outs: by what it is proven, since when, and when that was looked up."""
    hosts = [host for host in hosts_of(addresses_to_prove(found.asked)) if not is_loopback(host)]
    details = tuple(Detail(_proof_of(host, found)) for host in hosts[:MAX_SHOWN])
    unproven = [host for host in hosts if not is_covered(host, found.domains)]
    if unproven:
        lost = [host for host in unproven if is_lost(host, found.domains)]
        more = f"; the proof of {listed(lost)} was lost" if lost else ""
        return failed(f"The project has not proven {listed(unproven)}{more}.", *details)
    used = [domain for domain in found.domains if domain.is_proven and any(map(domain.covers, hosts))]
    others = [row for row in found.elsewhere if row.name in {domain.name for domain in used}]
    if others:
        details += tuple(Detail(f"{row.name} is proven by the project {row.project.name} as well") for row in others)
        return warned(f"Another project has proven {listed({row.name: None for row in others})} too.", *details)
    missing = [domain.name for domain in used if domain.missing_since]
    if missing:
        return warned(f"The proof of {listed(missing)} was there and is not found any more.", *details)
    failed_lookups = [domain.name for domain in used if domain.problem]
    if failed_lookups:
        return warned(f"The last lookup of {listed(failed_lookups)} found no proof.", *details)
    stale = [domain.name for domain in used if _is_stale(domain, found)]
    if stale:
        return warned(f"The proof of {listed(stale)} was not looked up for more than two weeks.", *details)
    if not hosts:
        return passed("No address has a host that could be proven.")
    return passed(f"{many(len(hosts), 'host')}, all on proven domains.", *details)


def _is_stale(domain: ProjectDomain, found: Gathered) -> bool:
    if domain.method == ProjectDomain.Method.OPERATOR:
        return False  # there is nothing to look at
    return domain.checked_at is None or found.now - domain.checked_at > STALE_AFTER


def _proof_of(host: str, found: Gathered) -> str:
    covering = [domain for domain in found.domains if domain.covers(host)]
    proven = next((domain for domain in covering if domain.is_proven), None)
    if proven is None:
        lost = next((domain.lost_at for domain in covering if domain.lost_at), None)
        if lost is not None:
            return f"{host}: the proof was lost on {day(lost)}"
        return f"{host}: claimed and not proven" if covering else f"{host}: no domain of the project"
    how = proven.get_method_display()
    text = f"{host}: {how} of {proven.name}, since {day(proven.proven_at)}"
    if proven.checked_at and proven.method != ProjectDomain.Method.OPERATOR:
        text += f", looked up on {minute(proven.checked_at)}"
        if proven.problem:
            text += f" without success ({' '.join(proven.problem.split())})"
    return text + (f", missing since {day(proven.missing_since)}" if proven.missing_since else "")


def judge_redirect_hosts(found: Gathered) -> Finding:
    """Each redirect and sign-out URL against the proven domains; loopback is marked, and a native app's own."""
    addresses = [*found.asked["redirect_urls"], *found.asked["sign_out_urls"]]
    if not found.asked["redirect_urls"]:
        return failed("There is no redirect URL: nobody can sign in.")
    details = tuple(Detail(f"{address}: {_place_of(address, found)}", address) for address in addresses[:MAX_SHOWN])
    hosts = hosts_of(addresses)
    unproven = [host for host in hosts if not is_loopback(host) and not is_covered(host, found.domains)]
    if unproven:
        return failed(f"{listed(unproven)}: on no proven domain.", *details)
    if found.client.type != Client.Type.NATIVE and any(map(is_loopback, hosts)):
        return warned("Some lead to the machine of whoever opens them, which is for trying only.", *details)
    foreign = foreign_hosts(found.asked["home_page_url"], addresses)
    if foreign:
        return warned(f"{listed(foreign)}: proven, but not of the home page’s domain.", *details)
    return passed(f"{many(len(addresses), 'URL')}, all where the app belongs.", *details)


def _place_of(address: str, found: Gathered) -> str:
    hosts = hosts_of([address])
    if not hosts:
        return "this service’s own playground"
    if is_loopback(hosts[0]):
        native = found.client.type == Client.Type.NATIVE
        return "loopback, as installed apps have it" if native else "loopback"
    return "on a proven domain" if is_covered(hosts[0], found.domains) else "on no proven domain"


def judge_localhost(found: Gathered) -> Finding:
    """Whether the app can be used from anywhere but its developer's machine."""
    hosts: Sequence[str] = hosts_of(found.asked["redirect_urls"])
    if found.client.type == Client.Type.NATIVE:
        return passed("An installed app returns to the machine that it runs on.")
    if hosts and all(map(is_loopback, hosts)):
        return failed("Every redirect URL is on localhost: nobody but its developer can use the app.")
    return passed("The app returns to the web.")
