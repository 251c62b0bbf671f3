"""The changelog for developers of apps, and its Atom feed. CHANGELOG.md is for operators."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

MAX_AGE = 300  # seconds


@dataclass(frozen=True)
class Change:
    """What changed on a day (UTC). The anchor identifies it in the feed, so it never changes."""

    day: date
    title: str
    lines: tuple[str, ...]

    @property
    def anchor(self) -> str:
        return f"changes-{self.day.isoformat()}"


# Newest first, and one for each day.
CHANGES: tuple[Change, ...] = (
    Change(
        date(2026, 11, 29),
        "Guides for mobile apps and ready-made applications",
        (
            "New guides: mobile apps (iOS, Android, Flutter and React Native) with their association files, Vue, "
            "Svelte, Angular, ASP.NET Core, Laravel and Symfony.",
            "A page lists the settings of applications that you run, such as JupyterHub, Grafana and GitLab. The "
            "sign-in log links to it if PKCE is missing.",
        ),
    ),
    Change(
        date(2026, 11, 25),
        "Several APIs, events, and guides with PowerShell",
        (
            "Apps can ask for scopes of further APIs, which are listed under APIs. An access token is for one API, and "
            "the parameter resource chooses it. Tokens of apps that use no other API are as before.",
            "invalid_target is a new error, for requests with the parameter resource. It was ignored before.",
            "Apps can receive logout tokens (back-channel logout) and security events. ID tokens have the claim sid, "
            "and discovery has backchannel_logout_supported and backchannel_logout_session_supported.",
            "API keys and client secrets that are reported as leaked can be revoked. Developers get notices about that "
            "and other events in their projects.",
            "Guides show how to receive events, and how to protect an API with access tokens and API keys of this "
            "service.",
            "The guides read the client secret from the .env file that the console offers. Their commands also work in "
            "PowerShell.",
            "The documentation has pages about testing and about deprecations, and says how to deal with clocks that "
            "differ.",
            "Responses of deprecated endpoints have the headers Deprecation and Sunset. No endpoint is deprecated now.",
            "This changelog has an Atom feed.",
        ),
    ),
    Change(
        date(2026, 11, 24),
        "First version",
        (
            "Sign-in with OpenID Connect: authorization code flow with PKCE, refresh, userinfo, revocation and "
            "sign-out.",
            "Developer API: GET /v1/me, GET /v1/me/plan and API keys.",
            "Errors of the developer API have a code and a message. Every response that counts has headers for the "
            "limits.",
        ),
    ),
)


class ChangelogFeed(Feed[Change, None]):
    """The changes as Atom (RFC 4287), with absolute URLs from the settings."""

    feed_type = Atom1Feed

    def title(self) -> str:
        return f"{settings.SERVICE_NAME}: changes for apps"

    def link(self) -> str:
        return _page()

    def feed_url(self) -> str:
        return f"{settings.AUTH_URL}{reverse('docs_changelog_feed')}"

    def feed_guid(self) -> str:
        return _page()

    def author_name(self) -> str:
        return settings.SERVICE_NAME

    def items(self) -> tuple[Change, ...]:
        return CHANGES

    def item_title(self, item: Change) -> str:
        return item.title

    def item_description(self, item: Change) -> SafeString:
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", ((line,) for line in item.lines)))

    def item_link(self, item: Change) -> str:
        return f"{_page()}#{item.anchor}"

    def item_guid(self, item: Change) -> str:
        return self.item_link(item)

    def item_pubdate(self, item: Change) -> datetime:
        return datetime.combine(item.day, time(), UTC)

    def item_updateddate(self, item: Change) -> datetime:
        return self.item_pubdate(item)


def _page() -> str:
    return f"{settings.AUTH_URL}{reverse('docs_changelog')}"


_feed = ChangelogFeed()


@require_safe
def changelog_feed(request: HttpRequest) -> HttpResponse:
    """GET /docs/changelog.atom: the changes for feed readers."""
    response = _feed(request)
    response["Cache-Control"] = f"public, max-age={MAX_AGE}"
    return response
