"""Clients (apps) and their secrets."""

from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.utils.functional import cached_property
from oauth2_provider.models import AbstractApplication, ApplicationManager

from core.credentials import random_text
from core.database.words import WordIndex
from core.names import MAX_SKELETON_LENGTH, skeleton, tile_letter
from oidc.models.credentials import Credential
from oidc.models.projects import Project
from oidc.values.reasons import Reason, developer_text
from oidc.values.redirect_uris import playground_redirect_uri

# The `acr` values of this service (docs/sign-in.md#authentication-levels).
MULTI_FACTOR = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"
PHISHING_RESISTANT = "phr"


def new_client_id() -> str:
    """Return a new client id: the service's prefix, then 130 random bits."""
    return f"{settings.CLIENT_ID_PREFIX}{random_text(22)}"


class Client(AbstractApplication):  # type: ignore[misc]  # the library is untyped
    """An app. Consent, connected apps, the user limit, review and rate limits all refer to it.

    It replaces django-oauth-toolkit's model. Its `client_secret` stays empty and never matches: secrets are
    ClientSecret rows. Its `redirect_uris` are matched as whole strings (RFC 9700 §2.1).
    """

    class Type(models.TextChoices):
        WEB = "web", "Web app (runs on a server)"
        SPA = "spa", "Browser app (runs in the browser)"
        NATIVE = "native", "Desktop or mobile app (installed)"

    class LeastAcr(models.TextChoices):
        NONE = "", "Password only"
        TWO_FACTORS = MULTI_FACTOR, "Two factors"
        PASSKEY = PHISHING_RESISTANT, "Passkey"

    class State(models.TextChoices):
        """The values of `state`."""

        ON = "on", "on"
        OFF = "off", "turned off"
        SUSPENDED = "suspended", "project suspended"
        DELETED = "deleted", "project deleted"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="clients")
    type = models.CharField(max_length=6, choices=Type.choices)
    enabled = models.BooleanField(default=True)
    first_party = models.BooleanField(default=False)
    verified_at = models.DateTimeField(null=True, blank=True)
    # Space-separated, in addition to the scopes that every client may ask for.
    approved_scopes = models.TextField(blank=True, default="")
    # Space-separated: those of `approved_scopes` that no review has approved. The app has them because people had
    # granted them before they needed a review, and only these people keep them (docs/apis.md#changing-a-scope).
    kept_scopes = models.TextField(blank=True, default="", editable=False)
    # Space-separated: scopes that people may leave out on the consent page (docs/sign-in.md#optional-scopes).
    optional_scopes = models.TextField(blank=True, default="")
    logo = models.ImageField(upload_to="logos/", blank=True)
    home_page_url = models.URLField(max_length=500, blank=True)
    privacy_policy_url = models.URLField(max_length=500, blank=True)
    terms_url = models.URLField(max_length=500, blank=True)
    support_address = models.EmailField(blank=True, default="")
    # The name's skeleton (core/names.py), to find names that look alike.
    name_reading = models.CharField(
        max_length=MAX_SKELETON_LENGTH, blank=True, default="", db_index=True, editable=False
    )

    # Space-separated: the hosts and the proven domains that the last approval covers, and the hosts at which people see
    # the app as reviewed (oidc/clients/reviewed_hosts.py). Empty for an app that is not reviewed.
    approved_hosts = models.TextField(blank=True, default="", editable=False)
    approved_domains = models.TextField(blank=True, default="", editable=False)
    reviewed_hosts = models.TextField(blank=True, default="", editable=False)
    # Since when the project no longer proves the domain of the home page, which the badge names; None if it proves it.
    home_unproven_since = models.DateTimeField(null=True, blank=True, editable=False)
    # When a review last approved the app; `verified_at` is when the first one did.
    last_reviewed_at = models.DateTimeField(null=True, blank=True)
    # A perceptual hash of the logo, 16 hexadecimal digits, to find logos that look alike; "" without a logo.
    logo_hash = models.CharField(max_length=16, blank=True, default="", editable=False)
    # The slug of the public page (AppPage), "" for none. It is copied here so that links to it need no further query.
    page_slug = models.CharField(max_length=60, blank=True, default="", editable=False)

    # The `acr` value that every sign-in to this client has to meet, even if the request does not ask for it.
    least_acr = models.CharField(max_length=100, choices=LeastAcr.choices, blank=True, default="")

    # Whether a refresh whose response was lost may be repeated for a while (docs/sign-in.md#lost-responses).
    forgive_lost_responses = models.BooleanField(default=False)

    # Whether it receives logout tokens or security events, as far as `find_client` has read it. Not a column.
    has_receivers: bool = True

    objects: ClassVar["models.Manager[Client]"] = ApplicationManager()

    class Meta(AbstractApplication.Meta):  # type: ignore[misc]
        verbose_name = "app"
        indexes = [
            WordIndex(fields=["name"], name="clients_by_name"),  # the search of the staff
            # To list the newest reviewed apps, which are few among many.
            models.Index(
                fields=["-verified_at"], condition=models.Q(verified_at__isnull=False), name="verified_clients"
            ),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        # The library's columns are derived from ours, so that they can't contradict each other.
        self.client_type = self.CLIENT_CONFIDENTIAL if self.has_secret else self.CLIENT_PUBLIC
        self.authorization_grant_type = self.GRANT_AUTHORIZATION_CODE
        self.algorithm = self.RS256_ALGORITHM
        self.client_secret, self.hash_client_secret = "", False
        fields = kwargs.get("update_fields")
        if fields is None or "name" in fields:
            self.name_reading = skeleton(self.name)
            kwargs["update_fields"] = None if fields is None else {*fields, "name_reading"}
        super().save(*args, **kwargs)

    @property
    def has_secret(self) -> bool:
        """Whether clients of this type authenticate with a client secret (docs/sign-in.md#clients)."""
        return self.type == self.Type.WEB

    @property
    def is_on(self) -> bool:
        """Whether the client is turned on and its project is neither suspended nor deleted."""
        return self.enabled and not self.project.is_suspended and not self.project.is_deleted

    @property
    def state(self) -> "Client.State":
        """Whether people can sign in to the client. If several states apply, the most severe one."""
        if self.project.is_deleted:
            return self.State.DELETED
        if self.project.is_suspended:
            return self.State.SUSPENDED
        return self.State.ON if self.enabled else self.State.OFF

    @property
    def unavailable_reason(self) -> Reason:
        """Why nobody can sign in to a client that is not on."""
        reasons = {self.State.DELETED: Reason.PROJECT_DELETED, self.State.SUSPENDED: Reason.PROJECT_SUSPENDED}
        return reasons.get(self.state, Reason.CLIENT_OFF)

    @property
    def unavailable_text(self) -> str:
        """`unavailable_reason` as a sentence for the client's developers."""
        return developer_text(self.unavailable_reason, {})

    @property
    def is_verified(self) -> bool:
        return self.verified_at is not None

    @property
    def carries_badge(self) -> bool:
        """Whether people see the app as reviewed: it is verified, and its home page's domain is still proven."""
        return self.verified_at is not None and self.home_unproven_since is None

    @property
    def shows_logo(self) -> bool:
        """Whether people see the logo: only while the app carries the badge (docs/review.md#logos)."""
        return self.carries_badge and bool(self.logo)

    @property
    def letter(self) -> str:
        """The first letter or digit of the name, shown in place of a logo while the app is unverified."""
        return tile_letter(self.name)

    @property
    def domain(self) -> str:
        """The host of the home page, or of the first redirect URL; never the service's own."""
        own = playground_redirect_uri()
        first = next((uri for uri in self.registered_redirect_uris if uri != own), "")
        return urlsplit(self.home_page_url or first).hostname or ""

    @cached_property
    def registered_redirect_uris(self) -> tuple[str, ...]:
        return tuple(self.redirect_uris.split())

    @property
    def registered_post_logout_redirect_uris(self) -> tuple[str, ...]:
        return tuple(self.post_logout_redirect_uris.split())

    # --- Overrides of the library's Application ---

    def redirect_uri_allowed(self, uri: str) -> bool:
        # Compares character by character (docs/security.md#redirects). The library's own comparison normalizes URLs.
        return uri in self.registered_redirect_uris

    def post_logout_redirect_uri_allowed(self, uri: str) -> bool:
        return uri in self.registered_post_logout_redirect_uris

    def get_allowed_schemes(self) -> list[str]:
        # `http` is only for loopback hosts, which registration checks.
        return ["https", "http"]


class ClientSecret(Credential):
    """A secret of a web client. Two may be live at a time, for rotation without downtime.

    An expired one also gets a `revoked_at` when another is created, so that requests no longer read it.
    """

    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="secrets")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta(Credential.Meta):
        indexes = [
            *Credential.Meta.indexes,
            models.Index(fields=["client"], condition=models.Q(revoked_at=None), name="live_secrets_of_a_client"),
        ]

    def __str__(self) -> str:
        return f"…{self.last_four} of {self.client}"
