"""Pages of notices: the list of all projects, the link that marks one as read, and the switches of a member."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account
from accounts.sessions.authentication import account_of
from core import clock
from core.database.batches import parse_key
from core.limits.middleware import limited_by_person
from devportal.console.access import get_membership, notices_of
from devportal.console.filter_bar import FilterBar, Select
from devportal.console.models import Notice
from devportal.console.navigation import console_page, render_page
from devportal.console.notices.choices import save_choices, stored_choices, wish_of
from devportal.console.notices.kinds import Topic, Wish
from devportal.console.notices.texts import body_of, definition_of, target_of, title_of
from devportal.console.pagination import paginate
from oidc.models import Project
from oidc.projects.roles import Role, lock_for_change

MOST_PROJECTS = 200  # in the filter
# Which notices the list shows: query parameter and value.
UNREAD = "unread"


@dataclass(frozen=True)
class NoticeLine:
    """A notice as the list shows it."""

    pk: int
    at: datetime
    project: Project
    title: str
    body: list[str]
    action: str
    is_read: bool


def notice_lines(rows: "list[Notice]") -> list[NoticeLine]:
    """Return the lines of notices."""
    return [
        NoticeLine(
            row.pk,
            row.at,
            row.project,
            title_of(row),
            body_of(row),
            definition_of(row).action,
            row.read_at is not None,
        )
        for row in rows
    ]


def _chosen(request: HttpRequest, account: Account) -> "QuerySet[Notice]":
    """Return the person's notices, narrowed by the filters in the query."""
    rows = notices_of(account)
    if project_id := request.GET.get("project"):
        rows = rows.filter(project__public_id=project_id)
    return rows.filter(read_at=None) if request.GET.get("show") == UNREAD else rows


def _bar(request: HttpRequest, account: Account) -> FilterBar:
    """Return the filter bar of the list."""
    own = Project.objects.filter(members__account=account, deleted_at=None).order_by("name", "pk")[:MOST_PROJECTS]
    names = {"": "All projects"} | {project.public_id: project.name for project in own}
    project, show = request.GET.get("project", ""), request.GET.get("show", "")
    return FilterBar(
        selects=[
            Select("project", "Project", [(value, name, value == project) for value, name in names.items()]),
            Select("show", "Show", [("", "All notices", not show), (UNREAD, "Unread", show == UNREAD)]),
        ],
        is_any=bool(project or show),
    )


@console_page()
def notices(request: HttpRequest) -> HttpResponse:
    """GET /console/notices?project=…&show=unread: the person's notices of all projects, newest first."""
    account = account_of(request)
    rows = _chosen(request, account).select_related("project", "client", "actor", "person")
    page = paginate(rows, request)
    return render_page(
        request,
        "console/notices/list.html",
        page=page,
        lines=notice_lines(page.rows),
        has_unread=any(row.read_at is None for row in page.rows),
        newest=page.rows[0].pk if page.rows else 0,
        bar=_bar(request, account),
        only_unread=request.GET.get("show") == UNREAD,
        query=request.GET.urlencode(),
    )


@console_page("POST", form_at="notices")
def notices_read(request: HttpRequest) -> HttpResponse:
    """POST /console/notices/read?…: mark the notice `notice` as read, or all of the filtered list up to `newest`."""
    rows = _chosen(request, account_of(request)).filter(read_at=None)
    one, newest = request.POST.get("notice"), parse_key(request.POST.get("newest"))
    # Notices that came after the page was loaded stay unread.
    _mark_read(rows.filter(pk__lte=newest or 0) if one is None else rows.filter(pk=parse_key(one) or 0))
    query = request.GET.urlencode()
    return HttpResponseRedirect(f"{reverse('console:notices')}{'?' if query else ''}{query}")


def _mark_read(rows: "QuerySet[Notice]") -> None:
    # By primary key, because an update can't join.
    Notice.objects.filter(pk__in=rows.values("pk")).update(read_at=clock.now())


@console_page()
def notice(request: HttpRequest, notice_id: int) -> HttpResponse:
    """GET /console/notices/<id>: mark the notice as read, and redirect to the page that it is about.

    It also leads from mails, so it opens notices that the console does not show.
    """
    account = account_of(request)
    rows = Notice.objects.filter(account=account, project__deleted_at=None, project__members__account=account)
    row = rows.filter(pk=notice_id).select_related("project", "client").first()
    if row is None:
        raise Http404
    if request.method == "GET" and row.read_at is None:
        Notice.objects.filter(pk=row.pk).update(read_at=clock.now())
    return HttpResponseRedirect(target_of(row))


@dataclass(frozen=True)
class Switches:
    """A topic with its two switches."""

    topic: Topic
    wish: Wish

    @property
    def console_field(self) -> str:
        return f"console-{self.topic.value}"

    @property
    def mail_field(self) -> str:
        return f"mail-{self.topic.value}"


@limited_by_person
@console_page("GET", "HEAD", "POST")
def notice_settings(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/notices: the signed-in member's switches for this project. Nobody can see or change those of others."""
    membership = get_membership(request, project_id)
    account, project = membership.account, membership.project
    stored = stored_choices(project.pk, account.pk)
    switches = [Switches(topic, wish_of(topic, membership.role, stored)) for topic in Topic]
    if request.method == "POST":
        wishes = {
            one.topic: Wish(one.console_field in request.POST, one.mail_field in request.POST) for one in switches
        }
        with lock_for_change(project, account, Role.VIEWER) as me:
            save_choices(project, account.pk, me.role, wishes)
        messages.success(request, "Your choice is saved.")
        return HttpResponseRedirect(request.path)
    return render_page(request, "console/notices/settings.html", membership, switches=switches)
