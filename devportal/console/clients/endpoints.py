"""The addresses of the sign-in service, as a client's settings list them."""

from typing import NamedTuple

from django.conf import settings
from django.urls import reverse


class Endpoint(NamedTuple):
    """An address, its label, and what the copy button calls it."""

    label: str
    address: str

    @property
    def noun(self) -> str:
        return f"the {self.label[0].lower()}{self.label[1:]}" if self.label != "JWKS" else "the JWKS address"


_ROUTES = (
    ("Discovery", "discovery"),
    ("Authorization endpoint", "authorize"),
    ("Token endpoint", "token"),
    ("Userinfo endpoint", "userinfo"),
    ("JWKS", "jwks"),
    ("Sign-out endpoint", "logout"),
)


def endpoints() -> list[Endpoint]:
    """Return issuer and endpoints, all on AUTH_URL."""
    found = [Endpoint(label, f"{settings.AUTH_URL}{reverse(name)}") for label, name in _ROUTES]
    return [Endpoint("Issuer", settings.ISSUER), *found]
