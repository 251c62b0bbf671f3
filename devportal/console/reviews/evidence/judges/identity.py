"""Judges of who an app seems to be: its support address, its name, its logo."""

from devportal.console.reviews.evidence.facts import Finding, detail, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.logo_hashes import NOTHING_TO_SEE
from devportal.console.reviews.evidence.mail_providers import is_free_mail
from devportal.console.reviews.evidence.texts import Code
from oidc.domains.coverage import is_covered

SAME_PICTURE = 2  # bits of 64 by which a hash differs after the picture was encoded again


def judge_support_address(found: Gathered) -> Finding:
    """Whether the support address is at a domain of the project's, or where anybody may have one."""
    address = found.asked["support_address"]
    domain = address.rpartition("@")[2].lower()
    if not domain:
        return failed(Code.SUPPORT_NOT_GIVEN)
    if is_covered(domain, found.domains):
        return passed(Code.SUPPORT_PROVEN, address=address)
    if is_free_mail(domain):
        return warned(Code.SUPPORT_FREE_MAIL, address=address)
    return warned(Code.SUPPORT_NOT_PROVEN, address=address)


def judge_names(found: Gathered) -> Finding:
    """Whether the name reads like that of another project's app."""
    details = [
        detail(
            Code.NAME_SIMILAR_TO_REVIEWED if other.client.is_verified else Code.NAME_SIMILAR_TO,
            client=other.client.pk,
            app=other.client.name,
            project=other.client.project.name,
            percent=round(100 * other.similarity),
        )
        for other in found.names
    ]
    if any(other.client.is_verified and other.similarity == 1 for other in found.names):
        return failed(Code.NAME_TAKEN, *details)
    if details:
        return warned(Code.NAMES_SIMILAR, *details, count=len(details))
    return passed(Code.NAME_UNIQUE)


def judge_logos(found: Gathered) -> Finding:
    """Whether the logo looks like that of a reviewed app."""
    if not found.asked["logo"]:
        return passed(Code.LOGO_NOT_GIVEN)
    if not found.logo_hash:
        return warned(Code.LOGO_UNREADABLE)
    if found.logo_hash == NOTHING_TO_SEE:
        return warned(Code.LOGO_PLAIN)
    details = [
        detail(
            Code.LOGO_SIMILAR_TO,
            client=other.client.pk,
            app=other.client.name,
            project=other.client.project.name,
            bits=other.distance,
        )
        for other in found.logos
    ]
    if any(other.distance <= SAME_PICTURE for other in found.logos):
        return failed(Code.LOGO_SAME, *details)
    if details:
        return warned(Code.LOGO_SIMILAR, *details)
    return passed(Code.LOGO_UNIQUE)
