"""Rules about the identity of an app: its URLs, support email address, name and logo."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from core.names import Readings, contains_word
from devportal.review.evidence.facts import Code, Detail, Finding, detail, failed, passed, warned
from devportal.review.evidence.gathered import Gathered
from devportal.review.evidence.similarity import NOT_COMPARABLE
from devportal.review.submission.requirements import addresses_to_prove
from oidc.clients.domain_names import hosts_of, is_covered, is_loopback, is_lost
from oidc.domains.branding import foreign_hosts
from oidc.domains.proofs import problems_of
from oidc.models import Client, ProjectDomain

Method = ProjectDomain.Method
# A proof is checked every week (docs/domains.md). After two weeks without a check, something prevents it.
STALE_AFTER = timedelta(days=15)
MAX_HOSTS_SHOWN = 20


def check_domains(found: Gathered) -> Finding:
    """Check how and since when each host of pages, redirect and sign-out URLs is proven, and when that was checked."""
    hosts = [host for host in hosts_of(addresses_to_prove(found.asked)) if not is_loopback(host)]
    details = [line for host in hosts[:MAX_HOSTS_SHOWN] for line in _proof_of(host, found)]
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


def check_redirect_hosts(found: Gathered) -> Finding:
    """Check each redirect and sign-out URL against the proven domains, and mark loopback and native-app URLs."""
    addresses = [*found.asked["redirect_urls"], *found.asked["sign_out_urls"]]
    if not found.asked["redirect_urls"]:
        return failed(Code.NO_REDIRECT_URL)
    details = [detail(_place_of(address, found), link=address, url=address) for address in addresses[:MAX_HOSTS_SHOWN]]
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


def check_localhost(found: Gathered) -> Finding:
    """Check whether the app can be used anywhere but on its developer's computer."""
    hosts: Sequence[str] = hosts_of(found.asked["redirect_urls"])
    if found.client.type == Client.Type.NATIVE:
        return passed(Code.INSTALLED_APP)
    if hosts and all(map(is_loopback, hosts)):
        return failed(Code.LOCALHOST_ONLY)
    return passed(Code.REACHABLE)


SAME_PICTURE = 2  # bits of 64 by which a hash may differ after re-encoding the picture


def check_support_address(found: Gathered) -> Finding:
    """Check whether the support email address is on a domain of the project, or at a free mail provider."""
    address = found.asked["support_address"]
    domain = address.rpartition("@")[2].lower()
    if not domain:
        return failed(Code.SUPPORT_NOT_GIVEN)
    if is_covered(domain, found.domains):
        return passed(Code.SUPPORT_PROVEN, address=address)
    if is_free_mail(domain):
        return warned(Code.SUPPORT_FREE_MAIL, address=address)
    return warned(Code.SUPPORT_NOT_PROVEN, address=address)


def check_names(found: Gathered) -> Finding:
    """Check whether the name reads like that of another project's app."""
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


# Names with which people have accounts elsewhere. The list is a help for reviewers and can't be complete.
BRANDS = (
    "Adobe", "Airbnb", "Amazon", "American Express", "Apple", "Binance", "Booking.com", "ChatGPT", "Coinbase", "DHL",
    "Discord", "Dropbox", "eBay", "Facebook", "FedEx", "GitHub", "GitLab", "Gmail", "Google", "iCloud", "Instagram",
    "LinkedIn", "Mastercard", "Microsoft", "Netflix", "Office 365", "OneDrive", "OpenAI", "Outlook", "PayPal",
    "Pinterest", "Reddit", "Salesforce", "Samsung", "SharePoint", "Shopify", "Slack", "Snapchat", "Spotify", "Stripe",
    "Telegram", "TikTok", "Twitter", "Visa", "WeChat", "WhatsApp", "YouTube", "Zoom",
)  # fmt: skip


def check_brands(found: Gathered) -> Finding:
    """Check whether the name contains a well-known brand, in any disguise."""
    readings = Readings(found.asked["name"])
    brands = [brand for brand in BRANDS if contains_word(readings, "".join(filter(str.isalnum, brand)))]
    return warned(Code.NAME_OF_BRAND, brands=brands) if brands else passed(Code.NAME_OF_NO_BRAND)


def check_logos(found: Gathered) -> Finding:
    """Check whether the logo is similar to that of a reviewed app."""
    if not found.asked["logo"]:
        return passed(Code.LOGO_NOT_GIVEN)
    if not found.logo_hash:
        return warned(Code.LOGO_UNREADABLE)
    if found.logo_hash == NOT_COMPARABLE:
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


# Widely used free mail providers. Those with a domain for each country are in _NAMES.
_DOMAINS = frozenset(
    {
        "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "passport.com",
        "icloud.com", "me.com", "mac.com", "aol.com", "aim.com", "ymail.com", "rocketmail.com",
        "proton.me", "protonmail.com", "pm.me", "tutanota.com", "tutanota.de", "tuta.io", "tuta.com", "tutamail.com",
        "keemail.me", "mail.com", "email.com", "usa.com", "post.com", "europe.com", "gmx.com", "gmx.net", "web.de",
        "freenet.de", "t-online.de", "arcor.de", "posteo.de", "posteo.net", "mailbox.org", "bluewin.ch", "laposte.net",
        "orange.fr", "wanadoo.fr", "free.fr", "sfr.fr", "libero.it", "virgilio.it", "tiscali.it", "alice.it", "tin.it",
        "wp.pl", "onet.pl", "o2.pl", "interia.pl", "op.pl", "seznam.cz", "centrum.cz", "email.cz", "azet.sk",
        "freemail.hu", "citromail.hu", "abv.bg", "mail.bg", "ukr.net", "i.ua", "mail.ru", "inbox.ru", "list.ru",
        "bk.ru", "internet.ru", "rambler.ru", "ya.ru", "qq.com", "foxmail.com", "163.com", "126.com", "yeah.net",
        "sina.com", "sina.cn", "sohu.com", "aliyun.com", "naver.com", "daum.net", "hanmail.net", "nate.com",
        "rediffmail.com", "indiatimes.com", "uol.com.br", "bol.com.br", "terra.com.br", "ig.com.br", "walla.co.il",
        "zoho.com", "zohomail.com", "zohomail.eu", "fastmail.com", "fastmail.fm", "hushmail.com", "hush.com",
        "inbox.com", "inbox.lv", "lycos.com", "excite.com", "runbox.com", "disroot.org", "riseup.net", "duck.com",
        "hey.com", "comcast.net", "verizon.net", "att.net", "sbcglobal.net", "bellsouth.net", "cox.net",
        "btinternet.com", "sky.com", "talktalk.net", "virginmedia.com", "bigpond.com", "optusnet.com.au",
        "ziggo.nl", "kpnmail.nl", "xs4all.nl", "telenet.be", "skynet.be", "telia.com", "online.no",
        "mailinator.com", "guerrillamail.com", "yopmail.com", "10minutemail.com", "temp-mail.org", "trashmail.com",
    }
)  # fmt: skip
# The first label of providers that have a domain in many countries: yahoo.co.jp, hotmail.fr, gmx.at, yandex.kz.
_NAMES = frozenset({"yahoo", "hotmail", "live", "outlook", "gmx", "yandex"})
_BELOW_COUNTRIES = frozenset({"co", "com"})


def is_free_mail(domain: str) -> bool:
    """Return whether anyone can get an email address at this domain, in any letter case."""
    name = domain.lower().rstrip(".")
    labels = name.split(".")
    return name in _DOMAINS or (labels[0] in _NAMES and _is_of_a_country(labels[1:]))


def _is_of_a_country(labels: list[str]) -> bool:
    """Return whether these labels are a public suffix such as "fr", "com" or "co.jp"."""
    return len(labels) == 1 or (len(labels) == 2 and labels[0] in _BELOW_COUNTRIES and len(labels[1]) == 2)
