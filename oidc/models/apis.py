"""The company's own APIs: their scopes, the rules of forward authentication, and their credentials."""

from django.conf import settings
from django.db import models

from oidc.models.credentials import Credential


class Api(models.Model):
    """An API that accepts this service's tokens and keys. `identifier` is the `aud` of its tokens (RFC 8707).

    The developer API at `/v1` has no row: its scopes are part of the code (oidc/apis/registry.py).
    """

    slug = models.SlugField(max_length=32, unique=True)
    name = models.CharField(max_length=100)
    identifier = models.CharField(max_length=500, unique=True)
    description = models.TextField(blank=True, default="")
    documentation_url = models.URLField(max_length=500, blank=True, default="")
    # The URL of its OpenAPI document, which the documentation shows.
    openapi_url = models.URLField(max_length=500, blank=True, default="")
    enabled = models.BooleanField(default=True)
    calls_per_minute = models.PositiveIntegerField(default=600)  # of one app or API key
    calls_per_person_per_minute = models.PositiveIntegerField(default=120)  # of one person in one app
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "API"
        verbose_name_plural = "APIs"

    def __str__(self) -> str:
        return self.name


class ApiScope(models.Model):
    """A scope of an API. `title` is its sentence on the consent page, `description` is for developers."""

    api = models.ForeignKey(Api, models.CASCADE, related_name="scopes")
    name = models.CharField(max_length=100, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    sensitive = models.BooleanField(default=False)
    needs_approval = models.BooleanField(default=False)
    api_keys = models.BooleanField("API keys", default=True)

    class Meta:
        verbose_name = "scope"

    def __str__(self) -> str:
        return self.name


class ApiRule(models.Model):
    """The scope that forward authentication requires for a method and a path. The first rule that matches counts."""

    api = models.ForeignKey(Api, models.CASCADE, related_name="rules")
    position = models.PositiveSmallIntegerField()
    method = models.CharField(max_length=10)  # "*" for every method
    path = models.CharField(max_length=300)  # exact, or a prefix that ends in "*"
    scope = models.ForeignKey(ApiScope, models.CASCADE, related_name="rules")

    class Meta:
        verbose_name = "rule"
        constraints = [models.UniqueConstraint(fields=["api", "position"], name="one_rule_per_api_and_position")]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class ApiCredential(Credential):
    """The credential of an API at the introspection endpoint."""

    api = models.ForeignKey(Api, models.CASCADE, related_name="credentials")
    public_id = models.CharField(max_length=40, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta(Credential.Meta):
        verbose_name = "API credential"

    def __str__(self) -> str:
        return f"{self.public_id} (…{self.last_four})"
