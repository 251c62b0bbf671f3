"""The public docs (/docs/), which need no sign-in."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from api.errors import ERRORS_BEFORE_ENDPOINTS, KNOWN_ERRORS
from api.resource_metadata import MAX_AGE, metadata_of
from devportal.console import quick_start
from devportal.docs import context as doc_context
from devportal.docs import errors, examples, openapi
from devportal.docs.guides import registry
from devportal.docs.guides.applications import APPLICATIONS
from devportal.docs.guides.readers import reader_of
from devportal.docs.guides.registry import groups
from devportal.docs.pages import DocsPage, api_page
from oidc.apis.registry import current_registry
from oidc.values.reasons import AUTHORIZATION, SIGN_OUT, TOKEN, reasons_at


@require_safe
def docs_page(request: HttpRequest, page: DocsPage) -> HttpResponse:
    """GET /docs/…: one page."""
    context = (
        doc_context.service_context()
        | doc_context.page_context(page.name)
        | examples.examples(page.name)
        | extra_context(request, page)
    )
    return render(request, f"docs/{_template_of(page)}.html", context | {"page": page})


def _template_of(page: DocsPage) -> str:
    if page.app_type:
        return "quick_start"
    if page.guide:
        return f"guides/{page.guide.name}"
    return "api" if page.api else page.name


@require_safe
def api_docs(request: HttpRequest, slug: str) -> HttpResponse:
    """GET /docs/apis/<slug>: the page of an API. An API that is turned off has none; that at `/v1` has other pages."""
    api = current_registry().apis.get(slug)
    if api is None or not api.enabled:
        raise Http404
    if api.is_own:
        return redirect("docs_me")
    return docs_page(request, api_page(api))


@require_safe
def api_metadata(request: HttpRequest, slug: str) -> HttpResponse:
    """GET /docs/apis/<slug>/oauth-protected-resource.json: the document of RFC 9728 that the API's operator hosts."""
    api = current_registry().apis.get(slug)
    if api is None or not api.enabled or api.is_own:
        raise Http404
    response = JsonResponse(metadata_of(api))
    response["Cache-Control"] = f"public, max-age={MAX_AGE}"
    return response


def extra_context(request: HttpRequest, page: DocsPage) -> dict[str, Any]:
    """Return further context for a page: code in the requested language, or the errors."""
    if page.app_type:
        language = quick_start.chosen_language(request.GET.get("language", ""), page.app_type)
        app = quick_start.QuickStartApp(page.app_type, examples.CLIENT_ID, quick_start.SUGGESTED_REDIRECT_URI)
        return {
            "languages": quick_start.LANGUAGES,
            "language": language,
            "blocks": quick_start.quick_start_blocks(app, language),
            "redirect_uri": app.redirect_uri,
            "placeholder": app.client_id,
        }
    if page.guide:
        shown = {"applications": APPLICATIONS} if page.guide.name == "applications" else {}
        return {"guide": page.guide, "reader": reader_of(request, page.guide)} | shown
    if page.name == "protect":
        return {"guides": groups()[registry.PROTECT]}
    if page.name == "guides":
        return {"groups": groups(), "runs": registry.read_runs()}
    if page.api:
        api = current_registry().apis[page.api]
        return {"api": api, "operations": openapi.operations_at(api.openapi_url) if api.openapi_url else ()}
    if page.name == "api_key":
        return {"blocks": quick_start.api_key_blocks()}
    if page.name == "errors":
        return {
            "api_errors": KNOWN_ERRORS | ERRORS_BEFORE_ENDPOINTS,
            "authorization_errors": errors.AUTHORIZATION_HELP,
            "token_errors": errors.TOKEN_HELP,
            "authorization_reasons": reasons_at(AUTHORIZATION),
            "token_reasons": reasons_at(TOKEN),
            "sign_out_reasons": reasons_at(SIGN_OUT),
        }
    return {}
