"""Old URLs of console pages. Each redirects to the page that replaced it, with the query string."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponsePermanentRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from devportal.console.access import get_client, get_membership
from devportal.console.navigation import APP_NAME, console_page
from oidc.projects.roles import Role

# In characters. A longer query string is dropped: no page has so many filters, and Django refuses long redirects.
MAX_QUERY_LENGTH = 4000


@dataclass(frozen=True)
class Move:
    """An old path below a project or a client, and the URL name of the new page with the same arguments.

    `query` is added to the query string, `section` is the id of the part of the page, and `role` the lowest role that
    may open it.
    """

    old: str
    page: str
    query: str = ""
    section: str = ""
    role: str = Role.VIEWER


PROJECT_MOVES = (
    Move("usage", "usage"),
    Move("usage.csv", "usage", query="format=csv"),
    Move("sign-ins", "project_analytics"),
    Move("sign-ins.csv", "project_analytics", query="format=csv"),
    Move("people", "people"),
    Move("sign-in-log", "project_sign_ins"),
    Move("requests", "requests"),
    Move("requests/<str:entry_id>", "request_detail"),
    Move("members", "members"),
    Move("members/<int:member_id>", "member", role=Role.OWNER),
    Move("activity", "activity"),
)
CLIENT_MOVES = (
    Move("permissions", "client_settings", section="scopes"),
    Move("secrets", "client_settings", section="secrets"),
    Move("tester", "playground", section="tester"),
    Move("sign-ins", "sign_ins"),
    Move("sign-ins/<str:entry_id>", "sign_in_detail"),
    Move("analytics", "client_analytics"),
    Move("analytics.csv", "client_analytics", query="format=csv"),
)


def moved_pages(moves: tuple[Move, ...], kind: str) -> list[URLPattern]:
    """Return the patterns of old URLs. `kind` makes their names unique."""
    return [
        path(move.old, moved, {"move": move}, name=f"moved_{kind}_{number}")
        for number, move in enumerate(moves, start=1)
    ]


@never_cache
@require_safe
@console_page()
def moved(request: HttpRequest, move: Move, project_id: str, client_id: str = "", **rest: str) -> HttpResponseBase:
    """Redirect to the new page. Raises Http404 for outsiders and RoleTooLow, as the new page does."""
    ids = {"project_id": project_id}
    if client_id:
        get_client(request, project_id, client_id, move.role)
        ids["client_id"] = client_id
    else:
        get_membership(request, project_id, move.role)
    url = reverse(f"{APP_NAME}:{move.page}", kwargs=ids | rest)
    query = QueryDict(mutable=True)
    if len(request.GET.urlencode()) <= MAX_QUERY_LENGTH:
        query.update(request.GET)
    query.update(QueryDict(move.query))
    if query:
        url += f"?{query.urlencode()}"
    return HttpResponsePermanentRedirect(f"{url}#{move.section}" if move.section else url)
