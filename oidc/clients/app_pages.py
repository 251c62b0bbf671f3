"""The public pages of reviewed apps, and their slugs (docs/review.md#public-pages)."""

import re

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts.models import Account
from core import clock
from oidc.clients.lookup import lock_client, report_client_event
from oidc.models import AppPage, AppSlug, Client
from oidc.names import skeleton, validate_name

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
_TAKEN = "This address is taken, or looks like one that is. Choose another one."


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
        raise ValidationError("This address is reserved for the service. Choose another one.")
    try:
        validate_name(slug)
    except ValidationError as misleading:
        raise ValidationError(
            f"An address can't contain the name of {settings.SERVICE_NAME}, claim a review, or read as if"
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
        raise ValidationError(f"This app already has {MAX_SLUGS} addresses, the maximum: {used}. Choose one of them.")
    if any(each.reading == reading for each in own):
        raise ValidationError("This looks like an address that the app already has. Choose that one, or another.")
    others = Client.objects.filter(name_reading=reading, verified_at__isnull=False).exclude(pk=client.pk)
    if client.name_reading != reading and others.exists():
        raise ValidationError(_TAKEN)
    try:
        with transaction.atomic():
            AppSlug.objects.create(slug=slug, reading=reading, client=client)
    except IntegrityError as taken:  # also the second of two simultaneous requests
        raise ValidationError(_TAKEN) from taken
