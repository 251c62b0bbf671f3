"""Domains of projects, and the public pages of apps with their slugs."""

from typing import Any

from django.conf import settings
from django.db import models

from core.credentials import random_text
from core.http.hosts import public_suffix
from core.names import MAX_SKELETON_LENGTH
from oidc.models.projects import Project


class AppSlug(models.Model):
    """A slug that permanently belongs to an app, so that links to a moved or removed page never lead to another app."""

    slug = models.SlugField(max_length=60, primary_key=True)
    # The slug's skeleton (core/names.py): no two apps have slugs that look alike.
    reading = models.CharField(max_length=MAX_SKELETON_LENGTH, unique=True)
    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="app_slugs")

    def __str__(self) -> str:
        return self.slug


TOKEN_LENGTH = 32  # characters, at least 160 bits


def new_proof_token() -> str:
    """Return a random token for a project to publish on its domain."""
    return random_text(TOKEN_LENGTH)


class ProjectDomain(models.Model):
    """A domain that a project claims, and the state of its proof (docs/domains.md)."""

    class Method(models.TextChoices):
        DNS = "dns", "DNS record"
        FILE = "file", "File on the web server"
        # Declared in a file for `manage.py provision`. Its proof is never checked.
        OPERATOR = "operator", "Declared by an operator"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="domains")
    name = models.CharField(max_length=253)  # lowercase ASCII (RFC 5890 A-labels), without a dot at its end
    token = models.CharField(max_length=64, default=new_proof_token, editable=False)
    added_at = models.DateTimeField()
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # How it was last proven, "" if never.
    method = models.CharField(max_length=10, choices=Method.choices, blank=True)
    proven_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    # When the proof was last found, and when it is checked next (None: only when someone requests it).
    found_at = models.DateTimeField(null=True, blank=True)
    check_at = models.DateTimeField(null=True, blank=True)
    # Since when a former proof has been missing, and when it therefore stopped counting.
    missing_since = models.DateTimeField(null=True, blank=True)
    lost_at = models.DateTimeField(null=True, blank=True)
    # Why the last check found no proof (oidc/domains/proofs.py); empty if it found one.
    problems: "models.JSONField[Any, Any]" = models.JSONField(blank=True, default=list)

    class Meta:
        verbose_name = "domain"
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_row_per_project_and_domain")]
        indexes = [
            models.Index(fields=["check_at"], name="domains_by_next_check"),
            models.Index(fields=["name"], name="domains_by_name"),  # the operators' search
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_proven(self) -> bool:
        return self.proven_at is not None and self.lost_at is None

    def covers(self, host: str) -> bool:
        """Return whether the kind of proof covers `host`, whether or not it is valid now.

        A file proves only its own host. A DNS record also covers subdomains, except those below another public suffix,
        where anyone can register: `amazonaws.com` does not cover `bucket.s3.amazonaws.com`.
        """
        if host == self.name:
            return True
        if self.method == self.Method.FILE or not host.endswith(f".{self.name}"):
            return False
        suffix = public_suffix(host)
        return suffix != self.name and not suffix.endswith(f".{self.name}")


class AppPage(models.Model):
    """The public page of a reviewed app at `/apps/<slug>/`, if its developers published one (docs/review.md)."""

    client = models.OneToOneField(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, primary_key=True, related_name="app_page"
    )
    slug = models.SlugField(max_length=60, unique=True)
    published_at = models.DateTimeField()
    published_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return self.slug
