"""A project's clients: the list, and creating one."""

from datetime import timedelta

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from core import clock
from core.limits.middleware import limited_by_person
from devportal.console import idempotency, rotation
from devportal.console.access import Membership, get_membership
from devportal.console.clients.forms import CLIENT_TYPES, MORE, NewClientForm
from devportal.console.filter_bar import Selects, build_bar
from devportal.console.logs.filters import LogFilters, choice_filter, parse_filters
from devportal.console.models import SignInDay
from devportal.console.navigation import console_page, redirect_to_client, render_page
from devportal.console.pagination import paginate
from oidc.clients.registration import create_client
from oidc.clients.secrets import create_secret
from oidc.models import Client, ClientSecret
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change
from oidc.sign_in_log.steps import Step

SELECTS: Selects = (
    ("type", "Type", {"web": "Web app", "spa": "Browser app", "native": "Installed app"}),
    ("status", "Status", {"on": "On", "off": "Off"}),
    ("review", "Review", {"reviewed": "Reviewed", "unreviewed": "Not reviewed"}),
    ("secret", "Secret", {"none": "No secret"}),
    ("signed_in", "Last sign-in", {"week": "Last 7 days", "month": "Last 30 days", "before": "Before that, or never"}),
)


def _filters(request: HttpRequest) -> LogFilters:
    live = ClientSecret.objects.live().filter(client=OuterRef("pk"))
    return parse_filters(
        request,
        {
            "q": lambda text: Q(name__icontains=text) | Q(client_id__startswith=text),
            "type": choice_filter({kind: Q(type=kind) for kind in Client.Type.values}),
            "status": choice_filter({"on": Q(enabled=True), "off": Q(enabled=False)}),
            "review": choice_filter({"reviewed": Q(verified_at__isnull=False), "unreviewed": Q(verified_at=None)}),
            "secret": choice_filter({"none": Q(~Exists(live), type=Client.Type.WEB)}),
            "signed_in": choice_filter(
                {"week": Q(_signed_in(7)), "month": Q(_signed_in(30)), "before": ~Q(_signed_in(30))}
            ),
        },
    )


def _signed_in(days: int) -> Exists:
    """Return the condition that someone signed in to a client in the last `days` days, of UTC."""
    start = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
    return Exists(SignInDay.objects.filter(client=OuterRef("pk"), step=Step.EXCHANGED, day__gte=start))


@console_page()
def clients(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/clients: the clients that match the filters; `q` is part of a name, or the beginning of an id."""
    membership = get_membership(request, project_id)
    filters = _filters(request)
    page = paginate(Client.objects.filter(filters.where, project=membership.project), request)
    bar = build_bar(filters, SELECTS, search="Name or client id")
    return render_page(request, "console/clients.html", membership, page=page, filters=filters, bar=bar)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def client_new(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/clients/new: the form. The response shows a web client's secret once."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    if request.method != "POST":
        return _form(request, membership, NewClientForm())
    if MORE in request.POST:
        return _form(request, membership, NewClientForm.with_more_rows(request.POST))
    form = NewClientForm(request.POST)
    if form.is_valid():
        try:
            return _make(request, membership, form)
        except idempotency.AlreadyProcessed as repeated:
            return _made_before(request, membership, repeated.made)
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was created. Please send the form again.")
        except QuotaExceeded as too_many:
            form.add_error(None, str(too_many))
        except ValidationError as error:
            form.add_error(None, error)
    return _form(request, membership, form)


def _form(request: HttpRequest, membership: Membership, form: NewClientForm) -> HttpResponse:
    return render_page(
        request, "console/client_new.html", membership, form=form, kinds=CLIENT_TYPES, once=idempotency.new_token()
    )


def _make(request: HttpRequest, membership: Membership, form: NewClientForm) -> HttpResponse:
    given = form.cleaned_data
    with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
        sent = idempotency.consume_token(request)
        client = create_client(
            membership.project,
            membership.account,
            given["name"],
            given["type"],
            given["redirect_uris"],
            given["post_logout_redirect_uris"],
        )
        raw = create_secret(client, membership.account)[1] if client.has_secret else None
        idempotency.record_result(sent, client.client_id)
    if raw is not None:
        return rotation.show_client_secret(request, membership, client, raw, f"{client.name} is created")
    messages.success(
        request, f"{client.name} is created. It needs no secret. This quick start shows how it signs people in."
    )
    return redirect_to_client(client, "quick_start")


def _made_before(request: HttpRequest, membership: Membership, client_id: str) -> HttpResponse:
    """Redirect to the client that the first submission created, without showing its secret again."""
    client = Client.objects.filter(project=membership.project, client_id=client_id).first()
    if client is None:
        return HttpResponseRedirect(reverse("console:clients", args=[membership.project.public_id]))
    text = "This form was already sent and has created this app. No second one was created."
    if client.has_secret:
        text += " Its secret was shown once. If you did not keep it, revoke it and create another one."
    messages.info(request, text)
    return redirect_to_client(client)
