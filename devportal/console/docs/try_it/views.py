"""/docs/api/: the endpoints of the developer API, a form that calls them, and the same call as code."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from devportal.console.docs.try_it.calls import call, own_keys
from devportal.console.docs.try_it.code import code_blocks
from devportal.console.docs.try_it.forms import OWN, TryItForm
from devportal.console.docs.try_it.operations import operations
from devportal.lib.ratelimit.forms import limited_by_address

# Not one of the docs' pages to read: it has no Markdown, and nothing before or after it.
_PAGE = {"title": "Try the API", "summary": "Calls the developer API from a form, and shows its real answer."}


@limited_by_address
@never_cache
@sensitive_post_parameters("credential")
@require_http_methods(["GET", "HEAD", "POST"])
def try_it(request: HttpRequest) -> HttpResponse:
    """GET or POST /docs/api/?endpoint=…: the page; a POST calls the endpoint and shows its answer."""
    known = operations()
    operation = known.get(request.GET.get("endpoint", "")) or next(iter(known.values()))
    account = request.user if isinstance(request.user, Account) else None
    form = TryItForm(request.POST if request.method == "POST" else None, operation, own_keys(account))
    outcome, headers = None, {}
    if form.is_valid():
        headers = form.sent_headers
        key = form.own[form.cleaned_data["key"]] if form.cleaned_data["source"] == OWN else None
        outcome = call(operation.path, headers, form.own, key=key, pasted=form.cleaned_data["credential"])
    context: dict[str, Any] = {
        "page": _PAGE,
        "operations": known.values(),
        "operation": operation,
        "form": form,
        "outcome": outcome,
        "code": code_blocks(operation, headers),
    }
    return render(request, "docs/try_it.html", context)
