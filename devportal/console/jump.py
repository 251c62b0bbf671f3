"""The console's jump box, which searches a person's projects, clients, keys and pages, and the docs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Case, ExpressionWrapper, F, IntegerField, Q, Value, When
from django.db.models.expressions import Combinable, OrderBy
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from accounts.authentication import account_of
from accounts.models import Account
from api.models import RequestLog
from devportal.console.models import SignInEvent
from devportal.console.navigation import CLIENT_PAGES, PROJECT_PAGES, Page, console_page, render_page
from devportal.docs.search import clean, docs_index, query_words, words_of
from oidc.models import Client, Project, ProjectMember
from oidc.projects.roles import is_at_least

# The maximum number of rows of each kind: first those whose names match most of the query, then the newest.
MOST_PROJECTS = 50
MOST_CLIENTS = 100
MOST_RESULTS = 12
MOST_ENTRIES = 3  # of each log, for one request id
# With this few projects and clients, all their pages are searched even if the query names none of them.
FEW = 2
# The format of ids, including request ids chosen by a proxy.
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


@dataclass(frozen=True)
class Target:
    """A result of the jump box: a page, and the project or client that it belongs to."""

    title: str
    of: str
    address: str


@dataclass(frozen=True)
class _Thing:
    """A project or client: its pages, the main one first, and the person's role."""

    name: str
    of: str
    identifier: str
    pages: tuple[Page, ...]
    arguments: tuple[str, ...]
    role: str

    def score(self, word: str) -> float:
        """Return how well a word matches the name, the beginning of the id, or (half as much) the project's name."""
        return max(_score(word, self.name), _score(word, self.of) / 2, 2 * self.identifier.casefold().startswith(word))


def find_targets(account: Account, query: str) -> list[Target]:
    """Return pages of the person's projects and clients that match every word of a query, best first.

    Takes two statements, however many projects there are. Without a query: the newest projects and clients.
    """
    words = query_words(query)
    things = [*_projects(account, words), *_clients(account, words)]
    if not words:
        return [_target(thing, thing.pages[0]) for thing in things][:MOST_RESULTS]
    named = sum(all(map(thing.score, words)) for thing in things)
    scored = [
        (score, _target(thing, page))
        for thing in things
        for score, page in _fitting(words, thing, with_all=named <= FEW)
        if is_at_least(thing.role, page.role)
    ]
    scored.sort(key=lambda one: -one[0])  # stable sort: newer ones stay first
    return [target for _, target in scored[:MOST_RESULTS]]


def _projects(account: Account, words: Sequence[str]) -> list[_Thing]:
    live = ProjectMember.objects.filter(account=account, project__deleted_at=None).select_related("project")
    found = live.order_by(_named_first(words, "project__name", identifier="project__public_id"), "-pk")[:MOST_PROJECTS]
    return [
        _Thing(row.project.name, "", row.project.public_id, PROJECT_PAGES, (row.project.public_id,), row.role)
        for row in found
    ]


def _clients(account: Account, words: Sequence[str]) -> list[_Thing]:
    own = (
        Client.objects.filter(project__members__account=account, project__deleted_at=None)
        .annotate(role=F("project__members__role"))
        .select_related("project")
    )
    found = own.order_by(_named_first(words, "name", "project__name", identifier="client_id"), "-pk")[:MOST_CLIENTS]
    return [
        _Thing(
            row.name, row.project.name, row.client_id, CLIENT_PAGES, (row.project.public_id, row.client_id), row.role
        )
        for row in found
    ]


def _named_first(words: Sequence[str], *columns: str, identifier: str) -> OrderBy:
    """Return an ordering by the number of matching words in the names, where whole words count more than parts.

    Ids match only from their beginning, because most ids contain the letters of a short word somewhere.
    """
    held: Combinable = Value(0)
    for word in words:
        whole = _any_of(columns, "iregex", rf"(^|\W){re.escape(word)}(\W|$)")
        within = _any_of(columns, "icontains", word) | Q((f"{identifier}__istartswith", word))
        held = held + Case(When(whole, then=2), When(within, then=1), default=0, output_field=IntegerField())
    return OrderBy(ExpressionWrapper(held, output_field=IntegerField()), descending=True)


def _any_of(columns: Sequence[str], lookup: str, value: str) -> Q:
    return Q(*((f"{column}__{lookup}", value) for column in columns), _connector=Q.OR)


def _fitting(words: Sequence[str], thing: _Thing, *, with_all: bool) -> Iterator[tuple[float, Page]]:
    """Yield the matching pages with their scores. Each word must match the page, its client or its project."""
    of_thing = [2 * thing.score(word) for word in words]
    for place, page in enumerate(thing.pages):
        of_page = [max(2 * _score(word, page.label), _score(word, page.search_words)) for word in words]
        best = [max(pair) for pair in zip(of_thing, of_page, strict=True)]
        is_meant = any(of_page) or place == 0 or (with_all and all(of_thing))
        if all(best) and is_meant:
            yield sum(best) + sum(of_thing) / 10 + (0.5 if place == 0 else 0) - place / 100, page


def _score(word: str, text: str) -> float:
    """Return how well a word matches a text: as a whole word, as a prefix, anywhere, or not at all (0)."""
    forms = words_of(text)
    if word in forms:
        return 3
    if any(form.startswith(word) for form in forms):
        return 2
    return 1 if len(word) > 2 and word in text.casefold() else 0


def _target(thing: _Thing, page: Page) -> Target:
    title = thing.name if page == thing.pages[0] else f"{thing.name}: {page.label}"
    return Target(
        title,
        f"Client in {thing.of}" if thing.of else "Project",
        reverse(f"console:{page.url_name}", args=thing.arguments),
    )


# --- Pasted ids ---


def entries(account: Account, query: str) -> list[Target]:
    """Return the results for an id within the person's projects: a client, a project, or log entries.

    Takes at most four statements. Request ids are found in the logs by an index.
    """
    if not _ID.fullmatch(query):
        return []
    mine = Q(project__members__account=account, project__deleted_at=None)
    client = Client.objects.filter(mine, client_id=query).select_related("project").first()
    if client:
        return [_entry(client.name, client.project.name, "client_settings", client.project.public_id, query)]
    project = Project.objects.filter(members__account=account, deleted_at=None, public_id=query).first()
    if project:
        return [_entry(project.name, "Project", "project", project.public_id)]
    return [*_sign_ins(account, query), *_requests(account, query)]


def _sign_ins(account: Account, request_id: str) -> list[Target]:
    rows = SignInEvent.objects.filter(
        request_id=request_id, client__project__members__account=account, client__project__deleted_at=None
    )
    columns = ("client__name", "client__project__name", "client__project__public_id", "client__client_id")
    return [
        _entry(f"{name}: sign-in {request_id}", of, "sign_ins", *ids, request_id=request_id)
        for name, of, *ids in rows.order_by().values_list(*columns).distinct()[:MOST_ENTRIES]
    ]


def _requests(account: Account, request_id: str) -> list[Target]:
    rows = RequestLog.objects.filter(request_id=request_id, project__members__account=account, project__deleted_at=None)
    return [
        _entry(f"Call {request_id}", name, "requests", public_id, request_id=request_id)
        for name, public_id in rows.order_by()
        .values_list("project__name", "project__public_id")
        .distinct()[:MOST_ENTRIES]
    ]


def _entry(title: str, of: str, url_name: str, *arguments: str, **query: str) -> Target:
    return Target(title, of, reverse(f"console:{url_name}", args=arguments, query=query or None))


MOST_DOCS = 6


@console_page()
def jump_page(request: HttpRequest) -> HttpResponse:
    """GET /console/jump?q=…: pages of the person's projects and of the docs. A known id redirects to its page.

    With `list`, the response contains only the results, as options of a listbox.
    """
    query = clean(request.GET.get("q", ""))
    account = account_of(request)
    found = entries(account, query)
    as_list = "list" in request.GET
    if len(found) == 1 and not as_list:
        return HttpResponseRedirect(found[0].address)
    docs = docs_index().search(query, MOST_DOCS) if query else []
    groups = {
        "By its id": found,
        "Console": [] if found else find_targets(account, query),
        "Docs": [Target(one.title, one.page, one.address) for one in docs if not found],
    }
    shown = {title: targets for title, targets in groups.items() if targets}
    if as_list:
        return render(request, "console/partials/jump_options.html", {"groups": shown})
    return render_page(request, "console/jump.html", query=query, groups=shown)
