"""Branding of an app: its name, URLs and logo, and its public page."""

import hashlib
import io
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.urls import reverse

from accounts.models import Account
from core import clock
from core.credentials import random_text
from core.email_addresses import stored_address
from core.http.hosts import HOST_RULES as AUTHORITY_RULES
from core.http.hosts import is_same_site
from core.names import skeleton, validate_name
from core.storage import images
from core.storage.convert_picture import Shape
from oidc.clients.domain_names import hosts_of
from oidc.clients.lookup import lock_client, report_client_event
from oidc.clients.reviewed_hosts import counts_as_reviewed, home_host, outside_host
from oidc.models import AppPage, AppSlug, Client
from oidc.values.redirect_uris import (
    HAS_FRAGMENT,
    HAS_USERINFO,
    HOST_RULES,
    LOOPBACK_HOSTS,
    NOT_ASCII,
    Rule,
    apply_rules,
    own_address,
    split_web_address,
    too_long,
)

MAX_URL_LENGTH = 500  # characters


# --- Validation ---


def _host(url: str) -> str:
    """Return the host of a web URL, "" for anything else."""
    parts = split_web_address(url)
    return (parts.hostname or "") if parts else ""


def _is_public_name(host: str) -> bool:
    """Return whether `host` may be a public domain name: it has a dot and is not an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.rstrip(".").split(".")
        return len(labels) > 1 and all(labels) and not labels[-1].isdigit() and host not in LOOPBACK_HOSTS
    return False


# The developer sees the message of the first rule that is broken.
PAGE_URL_RULES: tuple[Rule, ...] = (
    too_long(MAX_URL_LENGTH),
    NOT_ASCII,
    HAS_FRAGMENT,
    (lambda url: url.lower().startswith("http://"), "Use https: the consent page links to this URL."),
    (lambda url: not url.startswith("https://"), "Enter a URL that begins with https://."),
    HAS_USERINFO,
    (lambda url: "\\" in url or not _host(url), "This is not a valid URL."),
    (lambda url: not _is_public_name(_host(url)), "Enter a public URL with a domain name."),
    *HOST_RULES,
    own_address(),
)


def validate_page_url(url: str) -> None:
    """Raise ValidationError unless `url` may be a public https page. Nothing is fetched here."""
    apply_rules(PAGE_URL_RULES, url)


def validate_support_address(address: str) -> None:
    """Raise ValidationError unless `address` is an email address in ASCII, which can't imitate another one."""
    stored_address(address)
    if not address.isascii():
        raise ValidationError("Use ASCII characters only. An international domain begins with xn-- then.")
    domain = address.rpartition("@")[2].lower()
    if any(is_wrong(domain) for is_wrong, _ in AUTHORITY_RULES):
        raise ValidationError("The domain of this email address is not valid.")


def _if_given(check: Callable[[str], None]) -> Callable[[str], None]:
    return lambda value: check(value) if value else None


# Every text of an app that people can see, with its validator. Only the name is required.
FIELD_VALIDATORS: Mapping[str, Callable[[str], None]] = {
    "name": validate_name,
    "home_page_url": _if_given(validate_page_url),
    "privacy_policy_url": _if_given(validate_page_url),
    "terms_url": _if_given(validate_page_url),
    "support_address": _if_given(validate_support_address),
}


def clean_branding(values: Mapping[str, str]) -> dict[str, str]:
    """Return the validated, stripped values. Raises ValidationError by field, KeyError for an unknown field."""
    kept = {field: value.strip() for field, value in values.items()}
    errors: dict[str, list[str]] = {}
    for field, value in kept.items():
        try:
            FIELD_VALIDATORS[field](value)
        except ValidationError as error:
            errors[field] = error.messages
    if errors:
        raise ValidationError(errors)
    return kept


# --- Hosts of one owner ---


def foreign_hosts(home_page_url: str, redirect_urls: list[str]) -> list[str]:
    """Return the hosts of redirect URIs that seem to have another owner than the home page, without loopback hosts."""
    home = _host(home_page_url)
    hosts = dict.fromkeys(_host(url) for url in redirect_urls)
    return [host for host in hosts if host and host not in LOOPBACK_HOSTS and not (home and is_same_site(host, home))]


# A logo that is not square gets a transparent margin and is never cropped. Smaller ones look blurred.
LOGO = Shape(side=512, crop=False, quality=90, min_side=64, max_ratio=3)


def clean_logo(upload: io.BufferedIOBase) -> ContentFile[bytes]:
    """Return an uploaded logo, converted: square, at most 512 pixels a side, without metadata.

    Raises what `images.convert_upload` raises; the messages are for the developer.
    """
    content = images.convert_upload(upload, LOGO, what="logo", max_bytes=settings.LOGO_MAX_BYTES)
    return ContentFile(content, name=f"{random_text(32)}.webp")


def logo_version(file_name: str) -> str:
    """Return a short hash that changes with the logo."""
    return hashlib.sha256(file_name.encode()).hexdigest()[:20]


def public_logo_path(client: Client) -> str | None:
    """Return the public path of an app's logo, None if the app is unverified or has no logo."""
    if not client.shows_logo:
        return None
    return reverse("logo", args=[client.client_id, logo_version(client.logo.name or "")])


def client_context(client: Client, redirect_uri: str = "") -> dict[str, Any]:
    """Return the template context of an app's card. It includes the logo only if the app is verified.

    `redirect_uri` is the redirect URI of the request that the page is about, "" on pages without a request. If the
    app's review does not cover its host, the card shows an app without a review and names the host as `outside_host`
    (docs/review.md#hosts, docs/review.md#logos). An app whose home page's domain is no longer proven is shown as
    not reviewed everywhere.
    """
    outside = outside_host(client, redirect_uri) if redirect_uri else ""
    carries_badge = client.carries_badge or client.first_party
    return {
        "client_id": client.client_id,
        # The slug of the public page about the review, "" if there is none now (docs/review.md#public-pages).
        "page_slug": client.page_slug if has_public_page(client) else "",
        "name": client.name,
        "letter": client.letter,
        "logo_url": None if outside else public_logo_path(client),
        "verified": carries_badge and not outside,
        "outside_host": outside,
        # The home page's host if the project no longer proves its domain; "" otherwise.
        "lapsed_domain": "" if carries_badge or not client.is_verified else home_host(client),
        "domain": _named_domain(client, redirect_uri),
        "state": client.state.value,
        "suspended_since": client.project.suspended_at,
        "home_page_url": client.home_page_url,
        "home_page_domain": urlsplit(client.home_page_url).hostname or "",
        "privacy_policy_url": client.privacy_policy_url,
        "terms_url": client.terms_url,
        "support_address": client.support_address,
    }


def _named_domain(client: Client, redirect_uri: str) -> str:
    """Return the host that pages show with the app: its home page's, or else one that its review covers."""
    if client.home_page_url or not client.is_verified or client.first_party:
        return client.domain
    addresses = [redirect_uri, *client.registered_redirect_uris]
    hosts = hosts_of(uri for uri in addresses if counts_as_reviewed(client, uri))
    return next(iter(hosts), client.domain)


MIN_LENGTH, MAX_LENGTH = 3, 60
# How many slugs one app may ever have, so that slugs are left for other apps.
MAX_SLUGS = 5
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Slugs that people would take for a page of the service, or for the service itself.
_RESERVED = {
    skeleton(word)
    for word in (
        "about", "abuse", "account", "accounts", "admin", "administrator", "api", "app", "apps", "auth", "billing",
        "connect", "console", "contact", "docs", "edit", "help", "home", "index", "legal", "login", "logout", "mail",
        "new", "null", "official", "operator", "privacy", "report", "reported", "review", "reviewed", "reviewer",
        "reviews", "root", "search", "security", "settings", "sign-in", "sign-up", "signin", "signup", "static",
        "status", "support", "system", "team", "terms", "test", "undefined", "verified", "verify",
    )
}  # fmt: skip
_TAKEN = "This URL is taken, or looks like one that is. Choose another one."


class NotReviewed(Exception):
    """The app is not reviewed, or no longer reviewed, so its page can't be published."""


def suggest_slug(name: str) -> str:
    """Return a slug made from an app's name, "" if the name has too few ASCII letters and digits."""
    slug = "-".join(re.findall(r"[a-z0-9]+", name.lower()))[:MAX_LENGTH].strip("-")
    return slug if len(slug) >= MIN_LENGTH else ""


def validate_slug(slug: str) -> None:
    """Check the form and meaning of a slug. Raises ValidationError with a message for the developer."""
    if not _SLUG.fullmatch(slug) or not MIN_LENGTH <= len(slug) <= MAX_LENGTH:
        raise ValidationError(
            f"Use {MIN_LENGTH} to {MAX_LENGTH} lowercase letters (a to z), digits, and single hyphens between them."
        )
    reading = skeleton(slug)
    if not reading or reading in _RESERVED:
        raise ValidationError("This URL is reserved for the service. Choose another one.")
    try:
        validate_name(slug)
    except ValidationError as misleading:
        raise ValidationError(
            f"The URL can't contain the name of {settings.SERVICE_NAME}, claim a review, or read as if"
            f" {settings.SERVICE_NAME} itself were speaking. Choose another one."
        ) from misleading


@transaction.atomic
def publish_page(client: Client, actor: Account, slug: str) -> AppPage:
    """Publish the page of a reviewed app at a slug, or move it there. The app's former slugs redirect to it.

    The caller has locked the project (oidc/projects/roles.py). Raises ValidationError for a slug that is invalid or
    taken, or looks like another app's; NotReviewed.
    """
    validate_slug(slug)
    row = lock_client(client.pk)
    if not row.is_verified:
        raise NotReviewed
    before = row.page_slug
    if slug != before:
        _take_slug(row, slug)
    page, _ = AppPage.objects.update_or_create(
        client=row, defaults={"slug": slug}, create_defaults=_new_page(slug, actor)
    )
    if slug != before:
        _set_slug(row, slug)
        action = "client.page_moved" if before else "client.page_published"
        report_client_event(action, row, actor, before={"page": before}, after={"page": slug})
    return page


@transaction.atomic
def take_down_page(client: Client, actor: Account) -> None:
    """Take down the page of an app. The app keeps its slugs. The caller has locked the project."""
    row = lock_client(client.pk)
    AppPage.objects.filter(client=row).delete()
    if before := row.page_slug:
        _set_slug(row, "")
        report_client_event("client.page_taken_down", row, actor, before={"page": before}, after={"page": ""})


def find_page(slug: str) -> tuple[Client | None, bool]:
    """Return the app whose page is published at a slug, and whether the slug is the page's current one.

    The app is None if there is no public page: the slug is unknown, the page was taken down, or the app is not
    reviewed, turned off, suspended or deleted.
    """
    page = AppPage.objects.filter(slug=slug).select_related("client__project").first()
    if page is not None:
        return (page.client if has_public_page(page.client) else None), True
    former = AppSlug.objects.filter(slug=slug).select_related("client__project").first()
    return (former.client if former is not None and has_public_page(former.client) else None), False


def has_public_page(client: Client) -> bool:
    """Return whether people can see a page of this app now."""
    return bool(client.page_slug) and client.carries_badge and client.is_on


def _new_page(slug: str, actor: Account) -> dict[str, object]:
    return {"slug": slug, "published_at": clock.now(), "published_by": actor}


def _set_slug(client: Client, slug: str) -> None:
    client.page_slug = slug
    client.save(update_fields=["page_slug"])


def _take_slug(client: Client, slug: str) -> None:
    """Reserve a slug for the app. Raises ValidationError if it looks like another app's slug or name."""
    reading = skeleton(slug)
    own = list(AppSlug.objects.filter(client=client))
    if any(each.slug == slug for each in own):
        return
    if len(own) >= MAX_SLUGS:
        used = ", ".join(sorted(each.slug for each in own))
        raise ValidationError(f"This app already has {MAX_SLUGS} slugs, the maximum: {used}. Choose one of them.")
    if any(each.reading == reading for each in own):
        raise ValidationError("This looks like a slug that the app already has. Choose that one, or another.")
    others = Client.objects.filter(name_reading=reading, verified_at__isnull=False).exclude(pk=client.pk)
    if client.name_reading != reading and others.exists():
        raise ValidationError(_TAKEN)
    try:
        with transaction.atomic():
            AppSlug.objects.create(slug=slug, reading=reading, client=client)
    except IntegrityError as taken:  # also the second of two simultaneous requests
        raise ValidationError(_TAKEN) from taken
