"""Values for a guide's code, from the client that the reader picks, as literals of the guide's language."""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from devportal.console.quick_start import CONTROLS, is_loopback_uri, javascript_string, python_string, shell_string
from devportal.docs.examples import CLIENT_ID
from devportal.docs.guides.registry import Guide
from oidc.apis.registry import ApiSnapshot, Scope, current_registry
from oidc.models import Client

Escape = Callable[[str], str]


def quoted(escape: Escape, unsafe: str, text: str) -> str:
    """Return `text` in double quotes; `escape` gets quotes, backslashes, `unsafe`, and all but printable ASCII."""
    return '"' + "".join(escape(each) if _is_special(each, unsafe) else each for each in text) + '"'


def _is_special(character: str, unsafe: str) -> bool:
    return character in f'"\\{unsafe}' or not (character.isascii() and character.isprintable())


def braced(character: str) -> str:
    """Return a character as Ruby escapes it."""
    return f"\\u{{{ord(character):x}}}"


def eight_digits(character: str) -> str:
    """Return a character as Go and YAML escape it."""
    return f"\\{character}" if character in '"\\' else f"\\U{ord(character):08x}"


def utf16(character: str) -> str:
    """Return a character as Java escapes it, with each half of a surrogate pair escaped separately."""
    if character in '"\\':
        return f"\\{character}"
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def java(character: str) -> str:
    r"""Return a character as Java escapes it. Its \\uXXXX are read before its quotes (JLS 3.3), so not for ASCII."""
    return f"\\{ord(character):03o}" if character.isascii() and character not in '"\\' else utf16(character)


def directive_string(text: str) -> str:
    """Return `text` as an argument of a directive of Apache.

    Control characters are left out, and a dollar sign, which would begin a variable, is percent-encoded.
    """
    return '"' + CONTROLS.sub("", text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "%24") + '"'


def powershell_string(text: str) -> str:
    """Return `text` as a single-quoted word of PowerShell, which also ends such words at typographic quotes."""
    return "'" + re.sub("(['\u2018-\u201b])", r"\1\1", CONTROLS.sub("", text)) + "'"


def no_literals(text: str) -> str:
    """Return "", because files of this language take no values."""
    return ""


# Languages as Pygments names them.
LITERALS: dict[str, Callable[[str], str]] = {
    "bash": shell_string,
    "html": no_literals,
    "javascript": javascript_string,
    "typescript": javascript_string,
    "python": python_string,
    "apacheconf": directive_string,
    "go": partial(quoted, eight_digits, ""),
    "java": partial(quoted, java, ""),
    "powershell": powershell_string,
    "ruby": partial(quoted, braced, "#"),
    "xml": html.escape,  # as the text of an element or an attribute
    "toml": partial(quoted, eight_digits, ""),
    "yaml": partial(quoted, eight_digits, ""),
    "json": partial(quoted, utf16, ""),
    "csharp": partial(quoted, utf16, ""),
    "swift": partial(quoted, braced, ""),
    "kotlin": partial(quoted, utf16, "$"),
    "dart": partial(quoted, braced, "$"),
    "php": partial(quoted, braced, "$"),
    # Configurations of proxies contain only the URL of this service and the slug of an API, which need no quotes.
    "caddyfile": no_literals,
    "nginx": no_literals,
}


MOST_CLIENTS = 100  # in the picker
# The API whose values a guide shows if none is declared.
EXAMPLE_API = ApiSnapshot(
    slug="calendar",
    name="Calendar",
    identifier="https://calendar.example.com",
    scopes=(Scope("calendar.read", "See your calendar"), Scope("calendar.write", "Change your calendar")),
)


@dataclass(frozen=True)
class Reader:
    """The values for a guide's code. `client` is the picked client, None if the reader picked none.

    A guide for authors of APIs shows the values of `api`, one of `apis`.

    `is_registered` and `signs_out` say whether the redirect and sign-out URLs in the code are registered for it.
    """

    guide: Guide
    client: Client | None = None
    choices: list[Client] = field(default_factory=list)
    api: ApiSnapshot = EXAMPLE_API
    apis: tuple[ApiSnapshot, ...] = ()

    @property
    def client_id(self) -> str:
        return self.client.client_id if self.client else CLIENT_ID

    @property
    def redirect_uri(self) -> str:
        """The client's redirect URL at which the guide's code can listen, or the guide's.

        For a guide with a claimed link, this is the client's first URL that is not on the developer's machine.
        """
        registered = self.client.registered_redirect_uris if self.client else []
        if self.guide.has_claimed_link:
            return next((uri for uri in registered if not is_loopback_uri(uri)), self.guide.redirect_uri)
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
        """Return the values for the code, by the names that its templates use."""
        redirect = urlsplit(self.redirect_uri)
        return {
            "service_name": settings.SERVICE_NAME,
            "issuer": settings.ISSUER,
            "api_url": settings.BASE_URL,
            "me_endpoint": f"{settings.BASE_URL}/v1/me",
            "discovery_url": f"{settings.ISSUER}.well-known/openid-configuration",
            "authorization_endpoint": f"{settings.AUTH_URL}/connect/authorize",
            "token_endpoint": f"{settings.AUTH_URL}/connect/token",
            "userinfo_endpoint": f"{settings.AUTH_URL}/connect/userinfo",
            "end_session_endpoint": f"{settings.AUTH_URL}/connect/logout",
            "introspection_endpoint": f"{settings.AUTH_URL}/connect/introspect",
            "jwks_url": f"{settings.AUTH_URL}/.well-known/jwks",
            "auth_url": settings.AUTH_URL,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "redirect_path": redirect.path,
            "origin": f"{redirect.scheme}://{redirect.netloc}",
            "host": redirect.hostname or "",
            "signed_out_uri": self.signed_out_uri,
            "signed_out_path": urlsplit(self.signed_out_uri).path,
        } | self._api_values

    @property
    def _api_values(self) -> dict[str, str]:
        """Return the values of the API. Its first scope stands for reading, its second for writing."""
        names = [scope.name for scope in self.api.scopes] or [scope.name for scope in EXAMPLE_API.scopes]
        return {
            "resource": self.api.identifier,
            "api_slug": self.api.slug,
            "forward_auth_url": f"{settings.AUTH_URL}/connect/forward-auth/{self.api.slug}",
            "read_scope": names[0],
            "write_scope": names[min(1, len(names) - 1)],
        }

    @property
    def delivery_days(self) -> int:
        """How long the service can send an event again."""
        return int(settings.DELIVERY_DAYS)

    @property
    def is_insecure(self) -> bool:
        """Whether the service uses plain http, which libraries reject unless configured otherwise."""
        return settings.ISSUER.startswith("http://")

    @property
    def port(self) -> int:
        return urlsplit(self.redirect_uri).port or 80


def reader_of(request: HttpRequest, guide: Guide) -> Reader:
    """Return the reader: `?client=` names one of the clients of the signed-in person's projects.

    Without it, the client is picked if there is only one of the guide's type. In a guide for authors of APIs, `?api=`
    names a declared API; without it, the first one is picked.
    """
    if guide.protects:
        apis = tuple(api for api in current_registry().apis.values() if api.enabled and not api.is_own)
        first = apis[0] if apis else EXAMPLE_API
        asked = request.GET.get("api", "")
        return Reader(guide, api=next((api for api in apis if api.slug == asked), first), apis=apis)
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
