"""Slugs that public pages of apps have, or once had."""

from django.conf import settings
from django.db import models

from oidc.names import MAX_SKELETON_LENGTH


class AppSlug(models.Model):
    """A slug that belongs to an app for good: links to a page that moved, or is down, never lead to another app."""

    slug = models.SlugField(max_length=60, primary_key=True)
    # The slug's skeleton (oidc/names/skeletons.py): no two apps have slugs that read alike.
    reading = models.CharField(max_length=MAX_SKELETON_LENGTH, unique=True)
    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="app_slugs")

    def __str__(self) -> str:
        return self.slug
