"""Whose ids a guide shows: those of a client that the reader picks among their own, or placeholders."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from devportal.console.docs.examples import CLIENT_ID
from devportal.console.docs.guides.registry import Guide
from devportal.console.quick_start.snippets import is_loopback_uri
from oidc.models import Client

MOST_CLIENTS = 100  # in the picker


@dataclass(frozen=True)
class Reader:
    """What a guide's code is filled in with. `client` is the picked one, None for a reader who picked none.

    `is_registered` and `signs_out` tell that the addresses of the code are registered for it.
    """

    guide: Guide
    client: Client | None = None
    choices: list[Client] = field(default_factory=list)

    @property
    def client_id(self) -> str:
        return self.client.client_id if self.client else CLIENT_ID

    @property
    def redirect_uri(self) -> str:
        """The client's own address at which the guide's code can answer, on the developer's machine, or the guide's."""
        registered = self.client.registered_redirect_uris if self.client else []
        path = urlsplit(self.guide.redirect_uri).path
        fitting = (uri for uri in registered if is_loopback_uri(uri) and urlsplit(uri).path == path)
        return next(fitting, self.guide.redirect_uri)

    @property
    def signed_out_uri(self) -> str:
        parts = urlsplit(self.redirect_uri)
        return f"{parts.scheme}://{parts.netloc}{self.guide.signed_out_path}"

    @property
    def is_registered(self) -> bool:
        return self.client is None or self.redirect_uri in self.client.registered_redirect_uris

    @property
    def signs_out(self) -> bool:
        return self.client is None or self.signed_out_uri in self.client.registered_post_logout_redirect_uris

    @property
    def values(self) -> dict[str, Any]:
        """Return the texts that the code is filled in with, by the names that its templates use."""
        redirect = urlsplit(self.redirect_uri)
        return {
            "issuer": settings.ISSUER,
            "api_url": settings.BASE_URL,
            "me_endpoint": f"{settings.BASE_URL}/v1/me",
            "discovery_url": f"{settings.ISSUER}.well-known/openid-configuration",
            "authorization_endpoint": f"{settings.AUTH_URL}/connect/authorize",
            "token_endpoint": f"{settings.AUTH_URL}/connect/token",
            "userinfo_endpoint": f"{settings.AUTH_URL}/connect/userinfo",
            "end_session_endpoint": f"{settings.AUTH_URL}/connect/logout",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "redirect_path": redirect.path,
            "origin": f"{redirect.scheme}://{redirect.netloc}",
            "host": redirect.hostname or "",
            "signed_out_uri": self.signed_out_uri,
        }

    @property
    def is_insecure(self) -> bool:
        """Whether the service is on plain http, which libraries refuse unless they are told."""
        return settings.ISSUER.startswith("http://")

    @property
    def port(self) -> int:
        return urlsplit(self.redirect_uri).port or 80


def reader_of(request: HttpRequest, guide: Guide) -> Reader:
    """Return the reader: `?client=` names one of the clients of the signed-in person's projects.

    Without it, the only client of the guide's type is picked, and none of several.
    """
    if not request.user.is_authenticated:
        return Reader(guide)
    own = (
        Client.objects.filter(project__members__account=request.user.pk, project__deleted_at=None, type=guide.app_type)
        .select_related("project")
        .order_by("project__name", "name", "pk")[:MOST_CLIENTS]
    )
    choices = list(own)
    asked = request.GET.get("client", choices[0].client_id if len(choices) == 1 else "")
    picked = next((client for client in choices if client.client_id == asked), None)
    return Reader(guide, picked, choices)
