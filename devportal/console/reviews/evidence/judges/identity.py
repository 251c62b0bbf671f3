"""Judges of who an app seems to be: its support address, its name, its logo."""

from devportal.console.reviews.evidence.facts import Detail, Finding, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.logo_hashes import NOTHING_TO_SEE
from devportal.console.reviews.evidence.mail_providers import is_free_mail
from devportal.console.reviews.evidence.words import many
from oidc.domains.coverage import is_covered
from oidc.models import Client

SAME_PICTURE = 2  # bits of 64 by which a hash differs after the picture was encoded anew


def judge_support_address(found: Gathered) -> Finding:
    """Whether the support address is at a domain of the project's, or where anybody may have one."""
    address = found.asked["support_address"]
    domain = address.rpartition("@")[2].lower()
    if not domain:
        return failed("None is given.")
    if is_covered(domain, found.domains):
        return passed(f"{address} is on a domain that the project has proven.")
    if is_free_mail(domain):
        return warned(f"{address} is a mailbox that anybody can have.")
    return warned(f"{address} is on a domain that the project has not proven.")


def _named(other: Client) -> str:
    return f"{other.name} ({other.project.name}{', reviewed' if other.is_verified else ''})"


def judge_names(found: Gathered) -> Finding:
    """Whether the name reads like that of another project's app."""
    alike = found.names
    details = tuple(
        Detail(f"{_named(other.client)}: {round(100 * other.likeness)} % alike", client=other.client.pk)
        for other in alike
    )
    if any(other.client.is_verified and other.likeness == 1 for other in alike):
        return failed("A reviewed app of another project has a name that reads the same.", *details)
    if alike:
        return warned(f"{many(len(alike), 'app')} of other projects with a name that reads alike.", *details)
    return passed("No app of another project reads alike.")


def judge_logos(found: Gathered) -> Finding:
    """Whether the logo looks like that of a reviewed app."""
    if not found.asked["logo"]:
        return passed("There is no logo.")
    if not found.logo_hash:
        return warned("The logo could not be read just now, and was compared with none.")
    if found.logo_hash == NOTHING_TO_SEE:
        return warned("The logo is an area of one colour or can’t be read: there is nothing to compare.")
    details = tuple(
        Detail(f"{_named(other.client)}: {other.distance} of 64 bits differ", client=other.client.pk)
        for other in found.logos
    )
    if any(other.distance <= SAME_PICTURE for other in found.logos):
        return failed("A reviewed app of another project has what seems to be the same logo.", *details)
    if details:
        return warned("The logo looks like that of a reviewed app of another project.", *details)
    return passed("It looks like that of no reviewed app.")
